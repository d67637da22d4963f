import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { prepare } from '../../src/client/input.ts'
import { type Environment, inputParts, type OperationDefinition } from '../../src/core/operation.ts'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { catalogue } from '../../tools/index.ts'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { connectHost } from './connected.ts'
import { errorOf, hosts } from './hosts.ts'

type Schema = {
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  additionalProperties?: boolean | Schema
} & Record<string, unknown>

const environments: Environment[] = ['sandbox', 'production']
const operations = Object.values<OperationDefinition>(catalogue)
/** The sandbox tools. test/surface/derived.test.ts checks that production tools have the same inputs. */
const tools = toolList(everyTool('sandbox')).map((tool) => ({
  title: tool.name,
  tool,
  operation: operations.find(({ name }) => name === tool.name) as OperationDefinition,
}))

/** Yields the schema and all schemas nested in it, each with its path. */
function* eachSchema(schema: Schema, path = ''): Generator<[string, Schema]> {
  yield [path, schema]
  for (const [name, property] of Object.entries(schema.properties ?? {})) yield* eachSchema(property, `${path}/${name}`)
  if (schema.items !== undefined) yield* eachSchema(schema.items, `${path}/*`)
  for (const either of schema.anyOf ?? []) yield* eachSchema(either, path)
  if (typeof schema.additionalProperties === 'object') yield* eachSchema(schema.additionalProperties, `${path}/*`)
}

describe('bounds, formats and defaults in the descriptions of arguments', () => {
  const formatPatterns: Readonly<Record<string, RegExp>> = {
    'date-time': /RFC 3339, like 2026-01-31T12:00:00Z/,
    email: /\blike ada@example\.com\b/,
    uri: /\blike https:\/\/example\.com\b/,
  }
  /** For each schema keyword, a pattern that the descriptions of arguments with that keyword must match. */
  const patternFor: Readonly<Record<string, (value: unknown) => RegExp>> = {
    minimum: (value) => new RegExp(`\\b(at least ${value}|${value} to \\d+)\\b`),
    maximum: (value) => new RegExp(`\\b(at most|\\d+ to) ${value}\\b`),
    maxLength: (value) => new RegExp(`\\b(at most|\\d+ to) ${value} characters\\b`),
    format: (value) => formatPatterns[String(value)] ?? /never/,
    default: (value) => new RegExp(`\\bdefault ${value}\\b`),
  }
  const keywords = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'format', 'pattern']
  keywords.push('default', 'minLength', 'maxLength', 'minItems', 'maxItems')

  test.each(tools)('the argument descriptions of $title contain all bounds, formats and defaults', ({ tool }) => {
    for (const [path, schema] of eachSchema(tool.inputSchema as Schema)) {
      for (const keyword of keywords.filter((candidate) => schema[candidate] !== undefined)) {
        expect(schema.description, `${path} ${keyword}`).toMatch(patternFor[keyword]?.(schema[keyword]) ?? /never/)
      }
    }
  })

  test.each(tools)('the argument descriptions of $title state the bounds of the API', ({ tool, operation }) => {
    const offered = new Map<string, string>()
    for (const [path, { description = '' }] of eachSchema(tool.inputSchema as Schema)) {
      offered.set(path, `${offered.get(path) ?? ''} ${description}`)
    }
    for (const [path, schema] of eachSchema(argumentsSchema(operation))) {
      // Descriptions omit maximum lengths above 200 characters, because arguments rarely exceed them by accident.
      const bounds = { maxLength: Number(schema.maxLength) <= 200 && schema.maxLength, default: schema.default }
      const { minimum, maximum, format } = schema
      const safe = {
        minimum: minimum !== Number.MIN_SAFE_INTEGER && minimum,
        maximum: Number(maximum) < 2 ** 53 - 1 && maximum,
      }
      for (const [keyword, value] of Object.entries({ ...bounds, ...safe, format: format === 'date-time' && format })) {
        if (value === undefined || value === false || path.endsWith('tags/*')) continue
        // Only one currency is permitted, so the description need not state the default.
        if (path === '/currency') continue
        if (!offered.has(path)) expect(operation.unlisted).toContain(path.slice(1))
        else expect(offered.get(path), `${path} ${keyword}`).toMatch(patternFor[keyword]?.(value) ?? /never/)
      }
    }
  })

  test('the descriptions of timestamps, numbers and codes state the format', () => {
    const described = (name: string, ...path: string[]) => {
      const schema = tools.find(({ tool }) => tool.name === name)?.tool.inputSchema as Schema
      return path.reduce((inner: Schema | undefined, step) => inner?.properties?.[step], schema)?.description
    }
    expect(described('advance_sandbox_clock', 'to')).toBe(
      'Later than the sandbox clock; RFC 3339, like 2026-01-31T12:00:00Z',
    )
    expect(described('issue_agent_card', 'expiresInMinutes')).toBe('Lifetime; 5 to 1440; default 60')
    expect(described('create_wire', 'beneficiary', 'routingNumber')).toBe('9 digits')
    expect(described('create_wire', 'beneficiary', 'address', 'country')).toBe('two letters (ISO 3166)')
  })
})

describe("conversion to OpenAI's strict functions", () => {
  const keywords = ['type', 'enum', 'const', 'anyOf', 'description', 'properties', 'required', 'items', 'format']
  keywords.push('additionalProperties', 'minimum', 'maximum', 'multipleOf', 'pattern', 'minItems', 'maxItems')
  /** Keywords that the conversion drops. The descriptions of arguments contain the values of these keywords. */
  const droppedKeywords = ['default', 'minLength', 'maxLength']

  /**
   * Converts a schema by OpenAI's published rules: optional properties become required, but accept null. Throws if the
   * schema breaks a rule, for example if an object allows additional properties.
   */
  function toStrict(schema: Schema, path: string): Schema {
    const plainSchema = Object.fromEntries(
      Object.entries(schema).filter(([keyword]) => !droppedKeywords.includes(keyword)),
    ) as Schema
    for (const keyword of Object.keys(plainSchema))
      if (!keywords.includes(keyword)) throw new Error(`${path} has the unknown keyword ${keyword}`)
    if (plainSchema.type === undefined && plainSchema.anyOf === undefined) throw new Error(`${path} has no type`)
    if ([plainSchema.type].flat().includes('object')) {
      if (plainSchema.additionalProperties !== false) throw new Error(`${path} allows additional properties`)
      const required = plainSchema.required ?? []
      const entries = Object.entries(plainSchema.properties ?? {}).map(([name, property]) => {
        const inner = toStrict(property, `${path}/${name}`)
        return [name, required.includes(name) ? inner : nullable(inner)]
      })
      Object.assign(plainSchema, { properties: Object.fromEntries(entries), required: entries.map(([name]) => name) })
    }
    if ([plainSchema.type].flat().includes('array')) {
      if (plainSchema.items === undefined) throw new Error(`${path} has no schema for its items`)
      plainSchema.items = toStrict(plainSchema.items, `${path}/*`)
    }
    if (plainSchema.anyOf !== undefined) plainSchema.anyOf = plainSchema.anyOf.map((either) => toStrict(either, path))
    return plainSchema
  }

  function nullable(schema: Schema): Schema {
    if (schema.anyOf !== undefined) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] }
    const either = { ...schema, type: [...new Set([schema.type, 'null'].flat() as string[])] }
    return schema.enum === undefined ? either : { ...either, enum: [...(schema.enum as unknown[]), null] }
  }

  test.each(tools)('the input schema of $title can be converted to a strict schema', ({ tool }) => {
    const converted = toStrict(tool.inputSchema as Schema, '')
    expect(converted.type).toBe('object')
    expect(converted.required).toEqual(Object.keys(tool.inputSchema.properties ?? {}))
    expect(Math.max(...[...eachSchema(converted)].map(([path]) => path.split('/').length))).toBeLessThanOrEqual(10)
  })

  test.each([
    ['an object with arbitrary keys', { type: 'object', additionalProperties: { type: 'string' } }],
    ['an object without declared properties', { type: 'object' }],
    ['a keyword that strict functions do not support', { type: 'string', contentEncoding: 'base64' }],
  ])('the converter rejects %s', (_, property) => {
    const schema = { type: 'object', properties: { property }, additionalProperties: false }
    expect(() => toStrict(schema as Schema, '')).toThrow()
  })
})

test.each(tools)('the schema and the client refuse unknown arguments of $title at any level', ({ tool, operation }) => {
  const objects = [...eachSchema(tool.inputSchema as Schema)].filter(([, { properties }]) => properties !== undefined)
  for (const [path, schema] of objects) {
    expect(schema.additionalProperties, path).toBe(false)
    if (path.endsWith('tags/*')) continue
    const input = fullInput(operation)
    const target = path
      .split('/')
      .slice(1)
      .reduce((inner: unknown, name) => {
        return (inner as Record<string, unknown>)[name === '*' ? '0' : name]
      }, input as unknown)
    Object.assign(target as object, { unheardOf: 1 })
    expect(() => prepare(operation, input), path).toThrow(/unheardOf/)
  }
})

/** Returns the schema of an operation's arguments in the API. */
function argumentsSchema(operation: OperationDefinition): Schema {
  const shape = Object.assign({}, ...inputParts.map((part) => operation[part]?.shape))
  return z.toJSONSchema(z.object(shape), { io: 'input' }) as Schema
}

/** Returns a valid input with every argument, including nested ones. */
function fullInput(operation: OperationDefinition): Record<string, unknown> {
  return fill(argumentsSchema(operation)) as Record<string, unknown>
}

function fill(schema: Schema): unknown {
  const { properties, items } = schema
  const [either] = schema.anyOf ?? (schema.oneOf as Schema[] | undefined) ?? []
  if (either !== undefined) return fill(either)
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return (schema.enum as unknown[])[0]
  if (properties !== undefined) {
    return Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, fill(property)]))
  }
  if (items !== undefined) return [fill(items)]
  if (schema.type === 'object') return {}
  if (schema.type === 'integer') return Math.max(1, Number(schema.minimum ?? 1))
  if (schema.type === 'boolean') return true
  if (schema.format === 'date-time') return '2026-01-31T12:00:00Z'
  const prefix = /^\^([a-z]{3}_)/.exec(String(schema.pattern))?.[1]
  return prefix === undefined ? (validStrings[String(schema.pattern)] ?? 'Books') : `${prefix}${'0a'.repeat(16)}`
}

/** A valid string for each pattern. */
const validStrings: Readonly<Record<string, string>> = {
  '^[A-Z]{2}$': 'US',
  '^[0-9]{9}$': '000000000',
  '^[a-z0-9]+(?:-[a-z0-9]+)*$': 'shopper',
  '^[a-z]{3}_[0-9A-Za-z_-]{1,100}$': 'pcd_1',
}

describe('argument validation in the host', () => {
  const ajv = new AjvJsonSchemaValidator()

  const moneyTools = tools.filter(({ operation }) => argumentsSchema(operation).properties?.currency !== undefined)

  test.each(moneyTools)('the schema of $title accepts a currency, but does not require one', ({ tool, operation }) => {
    const { properties = {}, required = [] } = argumentsSchema(operation)
    const requiredFields = Object.entries(properties).filter(([name]) => required.includes(name) || name === 'currency')
    const input = Object.fromEntries(requiredFields.map(([name, property]) => [name, fill(property)]))
    expect(input.currency).toBe('USD')
    expect(ajv.getValidator(tool.inputSchema as never)(input).errorMessage).toBeUndefined()
    expect(tool.inputSchema.required ?? []).not.toContain('currency')
  })

  test('the schema of issue_agent_card rejects a currency other than USD', () => {
    const issue = tools.find(({ tool }) => tool.name === 'issue_agent_card')?.tool.inputSchema
    const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'EUR' }
    expect(ajv.getValidator(issue as never)(card).valid).toBe(false)
  })
})

describe('the tool definitions that a model gets with every request', () => {
  test.each(environments)('the default tools of an agent take at most 2,950 tokens (%s)', (environment) => {
    const costs = toolList({ ...everyTool(environment), actor: 'agent', toolsets: ['default'] }).map(
      ({ name, description, inputSchema }) => ({
        name,
        tokens: Buffer.byteLength(JSON.stringify({ name, description, inputSchema })) / 4,
      }),
    )
    const total = costs.reduce((sum, { tokens }) => sum + tokens, 0)
    expect(total, costs.map(({ name, tokens }) => `${name} ${tokens}`).join('\n')).toBeLessThanOrEqual(2_950)
  })

  test('the description of each tool that moves money says whether the money is real', () => {
    const described = (environment: Environment, name: string) =>
      toolList(everyTool(environment)).find((tool) => tool.name === name)?.description
    for (const name of ['issue_agent_card', 'create_payment', 'create_wire', 'create_subscription']) {
      expect(described('sandbox', name)).toMatch(/ No real money\.$/)
      expect(described('production', name)).toMatch(/ Real money\.$/)
    }
    expect(described('sandbox', 'get_agent_card')).not.toContain('money')
  })
})

test('the description of a probability states only the maximum, because any fraction above 0 is valid', () => {
  const fault = toolList(everyTool('sandbox')).find(({ name }) => name === 'set_sandbox_fault')
  const { when } = (fault?.inputSchema.properties ?? {}) as Record<string, { properties: Record<string, unknown> }>
  expect(when?.properties.probability).toMatchObject({ description: expect.stringMatching(/; at most 1$/) })
})

test('in the sandbox, a card works at any merchant, as the description of issue_agent_card says', async () => {
  const [offered] = tools.filter(({ tool }) => tool.name === 'issue_agent_card')
  expect(offered?.tool.description).toContain('sandbox: any name')
  const world = await createWorld(sqlite)
  const cardId = await world.issueCard({ merchant: { name: 'Books' } })
  const purchase = { amount: 100, currency: 'USD', merchant: { name: 'Flowers' } }
  const { json } = await world.post(`/simulations/agent-cards/${cardId}/authorize`, purchase)
  expect(json.data.attributes.status).toBe('authorized')
  await world.drop()
})

describe.each(hosts)('tags in calls from $host', ({ open }) => {
  let world: World
  let connection: Awaited<ReturnType<typeof connectHost>>
  beforeAll(async () => {
    world = await createWorld(sqlite)
    connection = await connectHost(world, open, { key: world.apiKey })
  })
  afterAll(async () => {
    await connection.close()
    await world.drop()
  })
  const tagsOf = async (input: object) => {
    const { structuredContent } = await connection.host.callTool('create_wallet', { displayName: 'Travel', ...input })
    return structuredContent?.data.attributes.tags
  }

  test('tags may be a list of keys and values, as in the schema, or an object, as in the API', async () => {
    expect(
      await tagsOf({
        tags: [
          { key: 'team', value: 'blue' },
          { key: 'floor', value: '3' },
        ],
      }),
    ).toEqual({
      team: 'blue',
      floor: '3',
    })
    expect(await tagsOf({ tags: { team: 'blue' } })).toEqual({ team: 'blue' })
    expect(await tagsOf({ tags: [] })).toEqual({})
  })

  test('a null value deletes a tag', async () => {
    const { structuredContent } = await connection.host.callTool('create_wallet', {
      displayName: 'Travel',
      tags: [{ key: 'team', value: 'blue' }],
    })
    const changed = await connection.host.callTool('update_wallet', {
      walletId: structuredContent?.data.id,
      tags: [
        { key: 'team', value: null },
        { key: 'floor', value: '3' },
      ],
    })
    expect(changed.structuredContent?.data.attributes.tags).toEqual({ floor: '3' })
  })

  test.each([
    ['an entry without a value', [{ key: 'team' }], /tags\.0 must be \{key, value\}; got/],
    ['an unknown field', [{ key: 'team', value: 'blue', more: 1 }], /tags\.0 must be \{key, value\}; got/],
    ['a null entry', [null], /tags\.0 must be \{key, value\}; got null/],
    [
      'a duplicate key',
      [
        { key: 'a', value: '1' },
        { key: 'a', value: '2' },
      ],
      /tags\.1 repeats the key "a"/,
    ],
    ['a value that is not a string', [{ key: 'a', value: 1 }], /tags/],
  ])('tags with %s are refused', async (_, tags, detail) => {
    const refused = await connection.host.callTool('create_wallet', { displayName: 'Travel', tags })
    expect(errorOf(refused)).toMatchObject({ code: 'invalid_value', detail: expect.stringMatching(detail) })
  })
})
