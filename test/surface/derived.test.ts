import { describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { catalogue } from '../../tools/index.ts'
import { contentOf, documentOf, follow, operationIn, successOf } from './document.ts'
import { fieldLine, fieldsOf, type Schema } from './fields.ts'

const operations = Object.values<OperationDefinition>(catalogue)
const document = documentOf('sandbox')
const sandbox = new Map(toolList(everyTool('sandbox')).map((tool) => [tool.name, tool]))

test('a production tool equals the sandbox tool, except that it moves real money and may reach other systems', () => {
  const production = toolList(everyTool('production'))
  for (const { name, effect } of operations.filter(({ environments }) => environments.includes('production'))) {
    const { description = '', annotations, ...same } = sandbox.get(name) ?? {}
    expect(production.find((tool) => tool.name === name)).toEqual({
      ...same,
      description: description.replace(/ No real money\.$/, ' Real money.'),
      annotations: { ...annotations, openWorldHint: effect !== 'read' },
    })
  }
})

describe('the output schemas of tools', () => {
  test.each(operations.map((operation) => [operation.name, operation] as const))(
    'the output schema of %s has the fields of its REST answer, except client secrets',
    (name, operation) => {
      const { data = {}, ...others } = (sandbox.get(name)?.outputSchema?.properties ?? {}) as Record<string, Schema>
      const [, success] = successOf(operationIn(document, operation))
      const { data: declared = {} } = contentOf(success).schema.properties ?? {}
      const [answered = declared, none] = declared.anyOf ?? []
      expect([data.type].flat().includes('null')).toBe(none !== undefined)
      expect(Object.keys(data).includes('items')).toBe(Object.keys(answered).includes('items'))
      const withheld = /^attributes\.clientSecret\? /
      const served = outline(follow(answered.items ?? answered, document)).filter((line) => !withheld.test(line))
      expect(outline(data.items ?? data)).toEqual(served)
      const replayed = operation.idempotency === 'required' ? ['replayed'] : []
      const repeated = 'adds' in operation ? ['repeated'] : []
      expect(Object.keys(others)).toEqual(['meta', ...replayed, ...repeated])
    },
  )
})

/**
 * Returns the fields of a schema with their types. Leaves out all other keywords, because output schemas omit most of
 * them.
 */
function outline(schema: Schema): string[] {
  return fieldsOf(keepComparedParts(schema)).map(fieldLine)
}

function keepComparedParts({ type, const: value, properties, items, anyOf }: Schema): Schema {
  const comparedParts = {
    type,
    const: value,
    items: items && keepComparedParts(items),
    anyOf: anyOf?.map(keepComparedParts),
  }
  const named = Object.entries(properties ?? {}).map(([name, property]) => [name, keepComparedParts(property)])
  // Converting to JSON drops undefined values.
  return JSON.parse(JSON.stringify({ ...comparedParts, properties: properties && Object.fromEntries(named) }))
}
