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

/** Yields the path and the description of every argument in a schema. A list's description covers its entries. */
function* argumentsIn(schema: Schema, path: string, described = schema.description): Generator<[string, string]> {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const inner = `${path}.${name}`
    const { description = property.anyOf?.find((either) => either.description !== undefined)?.description } = property
    yield [inner, description ?? '']
    yield* argumentsIn(property, inner, description)
  }
  if (schema.items !== undefined) yield* argumentsIn(schema.items, `${path}[]`, described)
  for (const either of schema.anyOf ?? []) yield* argumentsIn(either, path, described)
}

/** Returns the words of a text, without fillers and endings. */
function words(text: string): Set<string> {
  const all =
    text
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? []
  return new Set(all.filter((word) => !empty.has(word)).map((word) => word.replace(/(?:ies|s|ing|ed)$/, '')))
}

const empty = new Set('a an the of its it this that is are to for with in on at or and by one your'.split(' '))

/** Returns whether a text adds nothing to the names in its path. */
function repeats(text: string, path: string): boolean {
  const nameWords = words(path.replaceAll(/[.[\]_]/g, ' '))
  return [...words(text)].every((word) => nameWords.has(word))
}

/** Returns the share of common words of two texts, from 0 to 1. */
function likeness(one: string, other: string): number {
  const [left, right] = [words(one), words(other)]
  const both = [...left].filter((word) => right.has(word)).length
  return both / (left.size + right.size - both)
}

describe('a parameter', () => {
  test.each(tools)('of $name has a description that adds to its name', ({ name, inputSchema }) => {
    for (const [path, description] of argumentsIn(inputSchema as Schema, name)) {
      expect(description, path).not.toBe('')
      expect(repeats(description, path), `${path}: ${description}`).toBe(false)
    }
  })

  const document = documentOf('sandbox')
  test.each(operations)('of $name is described over REST too', (operation) => {
    const described = operationIn(document, operation)
    const inPath = (described.parameters as Partial<Parameter>[]).filter(({ schema }) => schema !== undefined)
    for (const { name, description = '' } of inPath) expect(description, name).not.toBe('')
    const { properties = {} } = bodyOf(described) ?? {}
    for (const [path, description] of argumentsIn(properties.attributes ?? {}, operation.name)) {
      expect(description, path).not.toBe('')
    }
  })

  test('of an amount explains cents', () => {
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
  ])('%s of %s repeats it: %s', (text, path, expected) => expect(repeats(text, path)).toBe(expected))
})

describe('a tool', () => {
  test.each(operations)('$name is described by more than its title', ({ name, title, description }) => {
    expect(repeats(description, `${name} ${title}`), description).toBe(false)
  })

  /** If two descriptions were more alike than this, a model could not choose between their tools. */
  const maxSimilarity = 0.6

  test('is not described like another', () => {
    const pairs = operations.flatMap((one, index) =>
      operations.slice(index + 1).map((other) => ({
        pair: `${one.name}, ${other.name}`,
        alike: likeness(one.description, other.description),
      })),
    )
    expect(pairs.filter(({ alike }) => alike > maxSimilarity)).toEqual([])
    const same = 'Takes back a pending invitation, so that it can no longer be accepted.'
    expect(likeness(same, `${same} Now.`)).toBeGreaterThan(maxSimilarity)
  })

  const named = (text: string) => (text.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []).filter((word) => !isValue(word))
  /** A status, a reason or a permission is written like a tool's name. */
  const values = new Set(JSON.stringify(documentOf('sandbox').components.schemas).match(/"[a-z]+(?:_[a-z]+)+"/g))
  const isValue = (word: string) => values.has(`"${word}"`) && !names.has(word)

  test.each(environments)('names only existing tools in %s', (environment) => {
    const toolNames = toolList(everyTool(environment)).map(({ name }) => name)
    for (const tool of toolList(everyTool(environment))) {
      const texts = [
        tool.description ?? '',
        ...[...argumentsIn(tool.inputSchema as Schema, '')].map(([, text]) => text),
      ]
      for (const word of texts.flatMap(named)) expect(toolNames, `${tool.name} names ${word}`).toContain(word)
    }
  })

  test.each(environments)('of the default set names only tools of that set, %s', (environment) => {
    const set = toolList({ ...everyTool(environment), actor: 'agent', toolsets: ['default'] })
    const offered = set.map(({ name }) => name)
    for (const { name, description = '' } of set) {
      for (const word of named(description)) expect(offered, `${name} names ${word}`).toContain(word)
    }
  })
})

test('the default set costs a model at most 25 tools and 12,515 characters', () => {
  const set = toolList({ ...everyTool('sandbox'), actor: 'agent', toolsets: ['default'] })
  const sent = set.map(({ name, title, description, inputSchema }) => ({ name, title, description, inputSchema }))
  expect(set.length).toBeLessThanOrEqual(25)
  expect(JSON.stringify(sent).length).toBeLessThanOrEqual(12_515)
})

test('the default set covers buying, paying, reading the activity, waiting for an approval, and money to rehearse with', () => {
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
