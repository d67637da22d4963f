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
/** The tools of the sandbox; production tools have the same inputs (test/surface/derived.test.ts). */
const tools = toolList(everyTool('sandbox')).map((tool) => ({
  title: tool.name,
  tool,
  operation: operations.find(({ name }) => name === tool.name) as OperationDefinition,
}))

/** Yields a schema and every schema inside it, with its path. */
function* eachSchema(schema: Schema, path = ''): Generator<[string, Schema]> {
  yield [path, schema]
  for (const [name, property] of Object.entries(schema.properties ?? {})) yield* eachSchema(property, `${path}/${name}`)
  if (schema.items !== undefined) yield* eachSchema(schema.items, `${path}/*`)
  for (const either of schema.anyOf ?? []) yield* eachSchema(either, path)
  if (typeof schema.additionalProperties === 'object') yield* eachSchema(schema.additionalProperties, `${path}/*`)
}

describe('a host that drops bounds, formats and defaults', () => {
  const forms: Readonly<Record<string, RegExp>> = {
    'date-time': /RFC 3339, as 2026-01-31T12:00:00Z/,
    email: /\bas ada@example\.com\b/,
    uri: /\bas https:\/\/example\.com\b/,
  }
  /** How a description words the value of each keyword. */
  const patternFor: Readonly<Record<string, (value: unknown) => RegExp>> = {
    minimum: (value) => new RegExp(`\\b(at least ${value}|${value} to \\d+)\\b`),
    maximum: (value) => new RegExp(`\\b(at most|\\d+ to) ${value}\\b`),
    maxLength: (value) => new RegExp(`\\b(at most|\\d+ to) ${value} characters\\b`),
    format: (value) => forms[String(value)] ?? /never/,
    default: (value) => new RegExp(`\\bdefault ${value}\\b`),
  }
  const dropped = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'format', 'pattern']
  dropped.push('default', 'minLength', 'maxLength', 'minItems', 'maxItems')

  test.each(tools)('still finds their values in the description of $title', ({ tool }) => {
    for (const [path, schema] of eachSchema(tool.inputSchema as Schema)) {
      for (const keyword of dropped.filter((candidate) => schema[candidate] !== undefined)) {
        expect(schema.description, `${path} ${keyword}`).toMatch(patternFor[keyword]?.(schema[keyword]) ?? /never/)
      }
    }
  })

  test.each(tools)('shows the bounds of the service for $title', ({ tool, operation }) => {
    const offered = new Map<string, string>()
    for (const [path, { description = '' }] of eachSchema(tool.inputSchema as Schema)) {
      offered.set(path, `${offered.get(path) ?? ''} ${description}`)
    }
    for (const [path, schema] of eachSchema(argumentsSchema(operation))) {
      // Descriptions omit lengths that nobody exceeds by chance.
      const bounds = { maxLength: Number(schema.maxLength) <= 200 && schema.maxLength, default: schema.default }
      const { minimum, maximum, format } = schema
      const safe = {
        minimum: minimum !== Number.MIN_SAFE_INTEGER && minimum,
        maximum: Number(maximum) < 2 ** 53 - 1 && maximum,
      }
      for (const [keyword, value] of Object.entries({ ...bounds, ...safe, format: format === 'date-time' && format })) {
        if (value === undefined || value === false || path.endsWith('tags/*')) continue
        // The description does not repeat the only value of the currency.
        if (path === '/currency') continue
        if (!offered.has(path)) expect(operation.unlisted).toContain(path.slice(1))
        else expect(offered.get(path), `${path} ${keyword}`).toMatch(patternFor[keyword]?.(value) ?? /never/)
      }
    }
  })

  test('shows the format of values that are not free text', () => {
    const described = (name: string, ...path: string[]) => {
      const schema = tools.find(({ tool }) => tool.name === name)?.tool.inputSchema as Schema
      return path.reduce((inner: Schema | undefined, step) => inner?.properties?.[step], schema)?.description
    }
    expect(described('advance_sandbox_clock', 'to')).toBe('Later than now; RFC 3339, as 2026-01-31T12:00:00Z')
    expect(described('issue_agent_card', 'expiresInMinutes')).toBe('Lifetime; 5 to 1440; default 60')
    expect(described('create_wire', 'beneficiary', 'routingNumber')).toBe('9 digits')
    expect(described('create_wire', 'beneficiary', 'address', 'country')).toBe('two letters (ISO 3166)')
  })
})

describe("OpenAI's strict functions", () => {
  const keywords = ['type', 'enum', 'const', 'anyOf', 'description', 'properties', 'required', 'items', 'format']
  keywords.push('additionalProperties', 'minimum', 'maximum', 'multipleOf', 'pattern', 'minItems', 'maxItems')
  /** Keywords that a converter drops; the description has their values. */
  const leftOut = ['default', 'minLength', 'maxLength']

  /**
   * Converts a schema by the published rules: every property is required, optional ones may be null, and no object
   * has additional properties.
   */
  function toStrict(schema: Schema, path: string): Schema {
    const plainSchema = Object.fromEntries(
      Object.entries(schema).filter(([keyword]) => !leftOut.includes(keyword)),
    ) as Schema
    for (const keyword of Object.keys(plainSchema))
      if (!keywords.includes(keyword)) throw new Error(`${path}: ${keyword}`)
    if (plainSchema.type === undefined && plainSchema.anyOf === undefined) throw new Error(`${path}: no type`)
    if ([plainSchema.type].flat().includes('object')) {
      if (plainSchema.additionalProperties !== false) throw new Error(`${path}: an open object`)
      const required = plainSchema.required ?? []
      const entries = Object.entries(plainSchema.properties ?? {}).map(([name, property]) => {
        const inner = toStrict(property, `${path}/${name}`)
        return [name, required.includes(name) ? inner : nullable(inner)]
      })
      Object.assign(plainSchema, { properties: Object.fromEntries(entries), required: entries.map(([name]) => name) })
    }
    if ([plainSchema.type].flat().includes('array')) {
      if (plainSchema.items === undefined) throw new Error(`${path}: a list of anything`)
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

  test.each(tools)('can express $title', ({ tool }) => {
    const converted = toStrict(tool.inputSchema as Schema, '')
    expect(converted.type).toBe('object')
    expect(converted.required).toEqual(Object.keys(tool.inputSchema.properties ?? {}))
    expect(Math.max(...[...eachSchema(converted)].map(([path]) => path.split('/').length))).toBeLessThanOrEqual(10)
  })

  test.each([
    ['free keys', { type: 'object', additionalProperties: { type: 'string' } }],
    ['an object of anything', { type: 'object' }],
    ['another keyword', { type: 'string', contentEncoding: 'base64' }],
  ])('a converter would reject %s', (_, property) => {
    const schema = { type: 'object', properties: { property }, additionalProperties: false }
    expect(() => toStrict(schema as Schema, '')).toThrow()
  })
})

test.each(tools)('$title: what the schema refuses, the service refuses too', ({ tool, operation }) => {
  const objects = [...eachSchema(tool.inputSchema as Schema)].filter(([, { properties }]) => properties !== undefined)
  for (const [path, schema] of objects) {
    expect(schema.additionalProperties, path).toBe(false)
    if (path.endsWith('tags/*')) continue
    const input = fullInput(operation)
    const place = path
      .split('/')
      .slice(1)
      .reduce((inner: unknown, name) => {
        return (inner as Record<string, unknown>)[name === '*' ? '0' : name]
      }, input as unknown)
    Object.assign(place as object, { unheardOf: 1 })
    expect(() => prepare(operation, input), path).toThrow(/unheardOf/)
  }
})

/** Returns the schema of the API's arguments. */
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
  return prefix === undefined ? (texts[String(schema.pattern)] ?? 'Books') : `${prefix}${'0a'.repeat(16)}`
}

/** A valid text for each pattern. */
const texts: Readonly<Record<string, string>> = {
  '^[A-Z]{2}$': 'US',
  '^[0-9]{9}$': '000000000',
  '^[a-z0-9]+(?:-[a-z0-9]+)*$': 'shopper',
  '^[a-z]{3}_[0-9A-Za-z_-]{1,100}$': 'pcd_1',
}

describe('a host that validates arguments before it sends them', () => {
  const ajv = new AjvJsonSchemaValidator()

  const ofAmounts = tools.filter(({ operation }) => argumentsSchema(operation).properties?.currency !== undefined)

  test.each(ofAmounts)('can send $title with the currency, like over REST, or without', ({ tool, operation }) => {
    const { properties = {}, required = [] } = argumentsSchema(operation)
    const requiredFields = Object.entries(properties).filter(([name]) => required.includes(name) || name === 'currency')
    const input = Object.fromEntries(requiredFields.map(([name, property]) => [name, fill(property)]))
    expect(input.currency).toBe('USD')
    expect(ajv.getValidator(tool.inputSchema as never)(input).errorMessage).toBeUndefined()
    expect(tool.inputSchema.required ?? []).not.toContain('currency')
  })

  test('cannot send another currency', () => {
    const issue = tools.find(({ tool }) => tool.name === 'issue_agent_card')?.tool.inputSchema
    const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'EUR' }
    expect(ajv.getValidator(issue as never)(card).valid).toBe(false)
  })
})

describe('the text sent to a model with every request', () => {
  test.each(environments)('fits into 2,950 tokens for an agent with the default tools, %s', (environment) => {
    const costs = toolList({ ...everyTool(environment), actor: 'agent', toolsets: ['default'] }).map(
      ({ name, description, inputSchema }) => ({
        name,
        tokens: Buffer.byteLength(JSON.stringify({ name, description, inputSchema })) / 4,
      }),
    )
    const total = costs.reduce((sum, { tokens }) => sum + tokens, 0)
    expect(total, costs.map(({ name, tokens }) => `${name} ${tokens}`).join('\n')).toBeLessThanOrEqual(2_950)
  })

  test('says whether the money is real in each tool that moves money', () => {
    const described = (environment: Environment, name: string) =>
      toolList(everyTool(environment)).find((tool) => tool.name === name)?.description
    for (const name of ['issue_agent_card', 'create_payment', 'create_wire', 'create_subscription']) {
      expect(described('sandbox', name)).toMatch(/ No real money\.$/)
      expect(described('production', name)).toMatch(/ Real money\.$/)
    }
    expect(described('sandbox', 'get_agent_card')).not.toContain('money')
  })
})

test('a fraction above 0 is not described as a whole number', () => {
  const fault = toolList(everyTool('sandbox')).find(({ name }) => name === 'set_sandbox_fault')
  const { when } = (fault?.inputSchema.properties ?? {}) as Record<string, { properties: Record<string, unknown> }>
  expect(when?.properties.probability).toMatchObject({ description: expect.stringMatching(/; at most 1$/) })
})

test('in the sandbox a card works at any merchant, and its tool says so', async () => {
  const [offered] = tools.filter(({ tool }) => tool.name === 'issue_agent_card')
  expect(offered?.tool.description).toContain('any in the sandbox')
  const world = await createWorld(sqlite)
  const cardId = await world.issueCard({ merchant: { name: 'Books' } })
  const purchase = { amount: 100, currency: 'USD', merchant: { name: 'Flowers' } }
  const { json } = await world.post(`/simulations/agent-cards/${cardId}/authorize`, purchase)
  expect(json.data.attributes.status).toBe('authorized')
  await world.drop()
})

describe.each(hosts)('tags, $host', ({ open }) => {
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

  test('may be a list of keys and values, like in the schema, or an object, like in the API', async () => {
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

  test('are deleted by a null', async () => {
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
    ['an entry with more', [{ key: 'team', value: 'blue', more: 1 }], /tags\.0 must be \{key, value\}; got/],
    ['nothing', [null], /tags\.0 must be \{key, value\}; got null/],
    [
      'a key twice',
      [
        { key: 'a', value: '1' },
        { key: 'a', value: '2' },
      ],
      /tags\.1 repeats the key "a"/,
    ],
    ['a value that is not a string', [{ key: 'a', value: 1 }], /tags/],
  ])('that are invalid are refused: %s', async (_, tags, words) => {
    const refused = await connection.host.callTool('create_wallet', { displayName: 'Travel', tags })
    expect(errorOf(refused)).toMatchObject({ code: 'invalid_value', detail: expect.stringMatching(words) })
  })
})
