import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { errorTable } from '../../src/core/errors.ts'
import { type OperationDefinition, toolsets } from '../../src/core/operation.ts'
import type { ToolChoice } from '../../src/mcp/dependencies.ts'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { catalogue } from '../../tools/index.ts'
import { documentOf, errorsOf, operationIn, type Parameter } from './document.ts'
import { fieldLine, fieldsOf, type Schema } from './fields.ts'
import { digest, operationText, textOf } from './text.ts'

const operations = Object.values<OperationDefinition>(catalogue)
const document = documentOf('sandbox')
const tools = new Map(toolList(everyTool('sandbox')).map((tool) => [tool.name, tool]))
const [first = [], ...others] = operations.map((operation) => errorsOf(operationIn(document, operation), document))
const commonErrors = first.filter((error) => others.every((errors) => errors.includes(error)))

/** The snapshot texts of operations and resources, by the name of the file in tools/ that declares the operations. */
const texts = await textsByFile()

describe('the interface for agents and API clients', () => {
  test.each([...texts.keys()])('the operations in tools/%s.ts match their snapshot', async (file) => {
    await expect(`${texts.get(file)?.join('\n\n')}\n`).toMatchFileSnapshot(`${file}.txt`)
  })

  test('the parts that operations share match their snapshot', async () => {
    await expect(`${commonText().join('\n\n')}\n`).toMatchFileSnapshot('everywhere.txt')
  })

  test('each operation takes at most 20 lines, and all snapshots together have fewer than 20 lines per operation', () => {
    const all = [...texts.values(), commonText()].flat().map((text) => text.split('\n'))
    const long = all.filter(([title = '', ...lines]) => title.includes('  ') && lines.length > 19)
    expect(long.map(([title]) => title)).toEqual([])
    expect(all.flat().length).toBeLessThan(20 * operations.length)
  })

  test('every snapshot belongs to a file in tools/ or contains the shared parts', () => {
    const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.txt'))
    expect(files).toEqual([...texts.keys(), 'everywhere'].map((name) => `${name}.txt`).toSorted())
  })
})

async function textsByFile(): Promise<Map<string, string[]>> {
  const resources = new Map(Object.entries(document.components.schemas))
  const byFile = new Map<string, string[]>()
  for (const file of readdirSync(new URL('../../tools', import.meta.url)).toSorted()) {
    const name = file.replace('.ts', '')
    const exported = Object.values<object>(file === 'index.ts' ? {} : await import(`../../tools/${name}.ts`))
    const declared = new Set<unknown>(exported.flatMap((record) => Object.values(record)))
    const declaredOperations = operations.filter((operation) => declared.has(operation))
    const texts = declaredOperations.flatMap((operation) => {
      const tool = tools.get(operation.name)
      if (tool === undefined) throw new Error(`Bug: ${operation.name} has no tool`)
      const text = operationText(operation, { tool, document, commonErrors })
      const resourceName = /→ (?:201 )?(?:\w+ of )?(\w+)/.exec(text)?.[1] ?? ''
      const resource = resources.get(resourceName)
      // Each resource appears only once, in the first file with an operation that returns it.
      resources.delete(resourceName)
      return resource === undefined ? [text] : [resourceText(resourceName, resource), text]
    })
    if (texts.length > 0) byFile.set(name, texts)
  }
  return byFile
}

function resourceText(name: string, schema: Schema): string {
  const fields = fieldsOf(schema).map((field) => fieldLine({ ...field, path: field.path.replace(/^attributes\./, '') }))
  return textOf(`${name} · ${digest(schema)}`, fields)
}

/** Returns the texts that belong to no single operation, and the lists of tools by toolset and kind of caller. */
function commonText(): string[] {
  const { paths: _, components, ...about } = document
  const { parameters, headers, securitySchemes, schemas } = components
  const header = ({ name, required, schema, description = '' }: Omit<Parameter, 'in'>) =>
    fieldsOf({ ...schema, description }, name, !required).map(fieldLine)
  const responseHeaders = Object.entries(headers).map(([name, rest]) => header({ name, required: true, ...rest }))
  const all = toolNames({ environment: 'sandbox' })
  const toolsMissingFrom = (choice: Choice) => {
    const offered = toolNames(choice)
    return all.filter((name) => !offered.includes(name)).join(', ')
  }
  return [
    textOf(
      'The OpenAPI document',
      Object.entries({ ...about, ...securitySchemes }).map(([name, value]) => `${name} ${JSON.stringify(value)}`),
    ),
    textOf('Request headers', Object.values(parameters).flatMap(header)),
    textOf('Response headers', responseHeaders.flat()),
    resourceText('Error', schemas.Error ?? {}),
    resourceText('Pagination', schemas.Pagination ?? {}),
    textOf('Errors of every operation', commonErrors),
    textOf(
      `Errors · ${digest(components.responses)}`,
      Object.entries(errorTable).map(([code, { status, detail, next }]) => `${status} ${code}: ${detail} ${next}`),
    ),
    textOf('Tools', [
      `all: ${all.join(', ')}`,
      ...toolsets.map((set) => `${set}: ${toolNames({ environment: 'sandbox', toolsets: [set] }).join(', ')}`),
      `read-only: ${toolNames({ environment: 'sandbox', readOnly: true }).join(', ')}`,
      `not in production: ${toolsMissingFrom({ environment: 'production' })}`,
      ...(['agent', 'party', 'user'] as const).map(
        (actor) => `not offered to the actor ${actor}: ${toolsMissingFrom({ environment: 'sandbox', actor })}`,
      ),
      `not offered if cards are masked: ${toolsMissingFrom({ environment: 'sandbox', cardDetails: 'masked' })}`,
    ]),
    ...maskedTools(),
  ]
}

type Choice = Partial<ToolChoice> & Pick<ToolChoice, 'environment'>

const toolNames = (choice: Choice) => toolList({ ...everyTool(choice.environment), ...choice }).map(({ name }) => name)

/** Returns the text of each tool whose definition changes if card details are masked. */
function maskedTools(): string[] {
  return toolList({ ...everyTool('sandbox'), cardDetails: 'masked' })
    .filter((tool) => digest(tool) !== digest(tools.get(tool.name)))
    .map((tool) =>
      textOf(`${tool.name} if cards are masked · ${digest(tool)}`, [
        `${tool.title}. ${tool.description}`,
        ...fieldsOf(tool.outputSchema as Schema).map(fieldLine),
      ]),
    )
}
