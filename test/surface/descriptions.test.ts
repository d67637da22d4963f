import { describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { catalogue } from '../../tools/index.ts'
import { bodyOf, documentOf, operationIn, type Parameter } from './document.ts'
import type { Schema } from './fields.ts'

const operations = Object.values<OperationDefinition>(catalogue)
const environments = ['sandbox', 'production'] as const
const tools = toolList(everyTool('sandbox'))
const names = new Set(operations.map(({ name }) => name))

/**
 * Yields the path and the description of every argument in a schema. The description of a list also covers its entries.
 */
function* argumentsIn(schema: Schema, path: string): Generator<[string, string]> {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const inner = `${path}.${name}`
    const { description = property.anyOf?.find((either) => either.description !== undefined)?.description } = property
    yield [inner, description ?? '']
    yield* argumentsIn(property, inner)
  }
  if (schema.items !== undefined) yield* argumentsIn(schema.items, `${path}[]`)
  for (const either of schema.anyOf ?? []) yield* argumentsIn(either, path)
}

/** Returns the distinct words of a text, without filler words and without endings such as -ing. */
function words(text: string): Set<string> {
  const all =
    text
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? []
  return new Set(all.filter((word) => !fillerWords.has(word)).map((word) => word.replace(/(?:ies|s|ing|ed)$/, '')))
}

const fillerWords = new Set('a an the of its it this that is are to for with in on at or and by one your'.split(' '))

/** Returns whether the path already contains every word of the description. */
function repeatsPath(description: string, path: string): boolean {
  const nameWords = words(path.replaceAll(/[.[\]_]/g, ' '))
  return [...words(description)].every((word) => nameWords.has(word))
}

/**
 * Returns the similarity of two descriptions, from 0 to 1: of all the words in them, the fraction that occurs in both.
 */
function similarity(one: string, other: string): number {
  const [left, right] = [words(one), words(other)]
  const both = [...left].filter((word) => right.has(word)).length
  return both / (left.size + right.size - both)
}

describe('the descriptions of parameters', () => {
  test.each(tools)(
    'every parameter of $name has a description that adds something to its name',
    ({ name, inputSchema }) => {
      for (const [path, description] of argumentsIn(inputSchema as Schema, name)) {
        expect(description, path).not.toBe('')
        expect(repeatsPath(description, path), `${path}: ${description}`).toBe(false)
      }
    },
  )

  const document = documentOf('sandbox')
  test.each(operations)('every parameter of $name is described in the OpenAPI document too', (operation) => {
    const described = operationIn(document, operation)
    const inPath = (described.parameters as Partial<Parameter>[]).filter(({ schema }) => schema !== undefined)
    for (const { name, description = '' } of inPath) expect(description, name).not.toBe('')
    const { properties = {} } = bodyOf(described) ?? {}
    for (const [path, description] of argumentsIn(properties.attributes ?? {}, operation.name)) {
      expect(description, path).not.toBe('')
    }
  })

  test('the description of an amount explains cents', () => {
    for (const { name, inputSchema } of tools) {
      for (const [path, description] of argumentsIn(inputSchema as Schema, name)) {
        if (/\.(?:a|maximumA|totalA)mount$/.test(path)) expect(description, path).toMatch(/\b\d+00 is \$\d+\.00/)
        if (/\.taxAmount$|\.per[A-Z]\w+$/.test(path)) expect(description, path).toMatch(/\bcents\b/i)
      }
    }
  })

  test.each([
    ['Status', 'list_approvals.status', true],
    ['The status of the approval', 'list_approvals.status', true],
    ['', 'list_approvals.status', true],
    ['Only this status', 'list_approvals.status', false],
    ['Cents: 5000 is $50.00', 'create_payment.amount', false],
  ])('the description “%s” only repeats the path %s: %s', (text, path, expected) =>
    expect(repeatsPath(text, path)).toBe(expected),
  )
})

describe('the descriptions of tools', () => {
  test.each(operations)(
    'the description of $name says more than its name and title',
    ({ name, title, description }) => {
      expect(repeatsPath(description, `${name} ${title}`), description).toBe(false)
    },
  )

  /** If two descriptions are more similar than this, a model may confuse their tools. */
  const maxSimilarity = 0.6

  test('no two tools have descriptions that are too similar', () => {
    const pairs = operations.flatMap((one, index) =>
      operations.slice(index + 1).map((other) => ({
        pair: `${one.name}, ${other.name}`,
        score: similarity(one.description, other.description),
      })),
    )
    expect(pairs.filter(({ score }) => score > maxSimilarity)).toEqual([])
    const same = 'Takes back a pending invitation, so that it can no longer be accepted.'
    expect(similarity(same, `${same} Now.`)).toBeGreaterThan(maxSimilarity)
  })

  const toolNamesIn = (text: string) => (text.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []).filter((word) => !isValue(word))
  /** The names in the schemas that look like tool names, such as statuses, reasons and permissions. */
  const values = new Set(JSON.stringify(documentOf('sandbox').components.schemas).match(/"[a-z]+(?:_[a-z]+)+"/g))
  const isValue = (word: string) => values.has(`"${word}"`) && !names.has(word)

  test.each(environments)('in %s, descriptions mention only existing tools', (environment) => {
    const toolNames = toolList(everyTool(environment)).map(({ name }) => name)
    for (const tool of toolList(everyTool(environment))) {
      const texts = [
        tool.description ?? '',
        ...[...argumentsIn(tool.inputSchema as Schema, '')].map(([, text]) => text),
      ]
      for (const word of texts.flatMap(toolNamesIn)) expect(toolNames, `${tool.name} mentions ${word}`).toContain(word)
    }
  })

  test.each(environments)(
    'in %s, descriptions of tools in the default toolset mention only tools in that toolset',
    (environment) => {
      const set = toolList({ ...everyTool(environment), actor: 'agent', toolsets: ['default'] })
      const offered = set.map(({ name }) => name)
      for (const { name, description = '' } of set) {
        for (const word of toolNamesIn(description)) expect(offered, `${name} mentions ${word}`).toContain(word)
      }
    },
  )
})

test('the default toolset gives a model at most 25 tools, whose definitions have at most 12,515 characters', () => {
  const set = toolList({ ...everyTool('sandbox'), actor: 'agent', toolsets: ['default'] })
  const sent = set.map(({ name, title, description, inputSchema }) => ({ name, title, description, inputSchema }))
  expect(set.length).toBeLessThanOrEqual(25)
  expect(JSON.stringify(sent).length).toBeLessThanOrEqual(12_515)
})

test('the default toolset covers buying, paying, activity, waiting for approvals and funding a wallet', () => {
  const set = toolList({ ...everyTool('sandbox'), actor: 'agent', toolsets: ['default'] })
  const task = ['list_wallets', 'issue_agent_card', 'get_agent_card_details', 'create_payment', 'get_payment']
  task.push('list_payments', 'list_card_transactions', 'list_approvals', 'get_approval', 'fund_sandbox_wallet')
  const always = [
    'approve_approval',
    'revoke_customer_invitation',
    'cancel_subscription',
    'simulate_card_authorization',
  ]
  always.push('simulate_card_capture', 'simulate_card_reversal', 'simulate_card_expiration', 'simulate_card_refund')
  expect(set.map(({ name }) => name)).toEqual(expect.arrayContaining([...task, ...always]))
  expect(set.map(({ name }) => name)).not.toContain('advance_sandbox_clock')
})
