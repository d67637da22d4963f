import { createRequire } from 'node:module'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { formatJson } from '../scripts/documents.ts'
import { errorTable } from '../src/core/errors.ts'
import { camelCase, type OperationDefinition } from '../src/core/operation.ts'
import { errorsByStatus, openApiDocument } from '../src/openapi/document.ts'
import { catalogue } from '../tools/index.ts'

const serverUrl = 'http://127.0.0.1:4010'
const operations = Object.values(catalogue) as OperationDefinition[]
const sandbox = openApiDocument({ environment: 'sandbox', serverUrl }) as unknown as Document
const production = openApiDocument({ environment: 'production', serverUrl }) as unknown as Document

describe('the OpenAPI document', () => {
  it.each([
    ['sandbox', sandbox],
    ['production', production],
  ])('of the %s is valid', async (_, document) => {
    const result = await new Validator().validate(structuredClone(document) as unknown as Record<string, unknown>)
    expect(result).toMatchObject({ valid: true })
    expect(document).toMatchObject({
      openapi: '3.1.1',
      info: { version: '0.2.0' },
      servers: [{ url: serverUrl }],
      security: [{ bearer: [] }],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
    })
  })

  it('holds every operation of its environment and no other', () => {
    for (const [environment, document] of [['sandbox', sandbox] as const, ['production', production] as const]) {
      const there = Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
      )
      const expected = operations
        .filter(({ environments }) => environments.includes(environment))
        .map(({ method, path, name }) => `${method.toLowerCase()} ${path} ${camelCase(name)}`)
      expect(there.toSorted()).toEqual(expected.toSorted())
    }
    expect(Object.keys(production.paths).filter((path) => path.startsWith('/simulations'))).toEqual([])
  })

  it('is what it was', async () => {
    await expect(formatJson(sandbox)).toMatchFileSnapshot('__snapshots__/openapi.sandbox.json')
  })
})

describe.each(operations.map((operation) => [operation.name, operation] as const))('%s', (_, operation) => {
  const described = sandbox.paths[operation.path]?.[operation.method.toLowerCase()] as Described

  it('tells what it is', () => {
    expect(described).toMatchObject({ summary: operation.title, description: operation.description })
    expect(described.tags).toHaveLength(1)
    expect(described['x-extension']).toBe(operation.extension)
  })

  it('has every parameter and header', () => {
    const parameters = described.parameters.map((parameter) => follow<Parameter>(parameter))
    const named = (place: string) => parameters.filter((parameter) => parameter.in === place).map(({ name }) => name)
    const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    expect(named('path')).toEqual(inPath)
    expect(Object.keys(operation.params?.shape ?? {})).toEqual(inPath)
    expect(named('query')).toEqual(Object.keys(operation.query?.shape ?? {}))
    const key = { name: 'Idempotency-Key', required: true, schema: { maxLength: 255 } }
    const headers = parameters.filter((parameter) => parameter.in === 'header')
    expect(headers).toMatchObject([
      ...(operation.idempotency === 'required' ? [key] : []),
      { name: 'X-Instance-ID', required: false, schema: { maxLength: 1024 } },
      ...(operation.agentHeader === true ? [{ name: 'X-Agent-ID', required: false, schema: { maxLength: 36 } }] : []),
    ])
    for (const { required } of parameters.filter((parameter) => parameter.in === 'path')) expect(required).toBe(true)
  })

  it('has a body exactly when it has attributes, and its example is accepted', () => {
    const body = described.requestBody?.content['application/json']
    expect(body !== undefined).toBe(operation.attributes !== undefined)
    if (body === undefined) return
    expect(body.schema).toMatchObject({ required: ['data'], additionalProperties: false })
    expectValid(body.schema, body.example)
    const { attributes } = (body.example as { data: { attributes: unknown } }).data
    expect(operation.attributes?.safeParse(attributes)).toMatchObject({ success: true })
  })

  it('answers 200 with its resource, and the example is one', () => {
    const ok = follow<Response>(described.responses['200'])
    const { schema, example } = content(ok)
    expectValid(schema, example)
    const { data } = example as { data: unknown }
    for (const resource of operation.result !== 'one' ? (data as unknown[]) : [data])
      expect(operation.output.safeParse(resource)).toMatchObject({ success: true })
    const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
    const replayed = operation.idempotency === 'required' ? ['X-Idempotency-Replayed'] : []
    expect(Object.keys(ok.headers)).toEqual([...limits, ...replayed])
  })

  it('has every error it can answer, with an example of each', () => {
    const expected = errorsByStatus(operation)
    const statuses = Object.keys(described.responses).filter((status) => status !== '200')
    expect(statuses.map(Number)).toEqual([...expected.keys()])
    for (const code of operation.errors) expect(expected.get(errorTable[code].status)).toContain(code)
    for (const status of statuses) {
      const response = follow<Response>(described.responses[status])
      const { schema, examples = {} } = content(response)
      expect(Object.keys(examples)).toEqual(expected.get(Number(status)))
      for (const [code, { value }] of Object.entries(examples)) {
        expectValid(schema, value)
        expect(value).toMatchObject({ errors: [{ code, status }] })
      }
      expect('Retry-After' in response.headers).toBe(status === '429' || status === '503')
    }
  })
})

it('lists the errors that every operation, and those that some operations can answer', () => {
  const codes = (name: keyof typeof catalogue) =>
    [...errorsByStatus(catalogue[name])].flatMap(([s, all]) => `${s} ${all}`)
  expect(codes('whoami')).toEqual([
    '400 invalid_value',
    '401 unauthenticated',
    '403 forbidden',
    '429 rate_limited',
    '500 server_error',
    '503 service_unavailable',
  ])
  expect(codes('simulateCardCapture')).toEqual([
    '400 invalid_value,missing_instance_id',
    '401 unauthenticated',
    '403 forbidden',
    '404 not_found',
    '409 card_purchase_simulation_not_allowed,conflict',
    '422 invalid_value',
    '429 rate_limited',
    '500 server_error',
    '503 service_unavailable',
  ])
})

interface Document {
  paths: Record<string, Record<string, Described>>
  components: Record<string, unknown>
}

interface Described {
  operationId: string
  tags: string[]
  parameters: unknown[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, unknown>
  'x-extension'?: true
}

interface Parameter {
  name: string
  in: string
  required: boolean
}

interface Media {
  schema: object
  example?: unknown
  examples?: Record<string, { value: unknown }>
}

interface Response {
  headers: Record<string, unknown>
  content: Record<string, Media>
}

function content(response: Response): Media {
  const media = response.content['application/json']
  if (media === undefined) throw new Error('Bug: a response without JSON')
  return media
}

/** The object itself, or what its `$ref` points to. */
function follow<T>(value: unknown): T {
  const { $ref } = value as { $ref?: string }
  if ($ref === undefined) return value as T
  const steps = $ref.replace(/^#\//, '').split('/')
  return steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], sandbox) as T
}

interface Ajv {
  addSchema(schema: object): void
  compile(schema: object): ((value: unknown) => boolean) & { errors?: unknown }
}

// ajv is the OpenAPI validator's dependency, so it is resolved from there.
const load = createRequire(createRequire(import.meta.url).resolve('@seriousme/openapi-schema-validator'))
const Ajv2020 = load('ajv/dist/2020.js').default as new (options: object) => Ajv
const addFormats = load('ajv-formats').default as (ajv: Ajv) => void

// One for all, which compiles each component once: so a reference names the document that it points into.
const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats(ajv)
const named = (schema: object) => JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"openapi#/'))
ajv.addSchema({ ...named({ components: sandbox.components }), $id: 'openapi' })

function expectValid(schema: object, value: unknown) {
  const validate = ajv.compile(named(schema))
  expect(validate(value) ? [] : validate.errors).toEqual([])
}
