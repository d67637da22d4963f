import { createRequire } from 'node:module'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { bodyPlaces } from '../../src/core/body-places.ts'
import { errorsByStatus } from '../../src/core/declared-errors.ts'
import { errorTable } from '../../src/core/errors.ts'
import { answersList, camelCase, type OperationDefinition, successStatus } from '../../src/core/operation.ts'
import { catalogue } from '../../tools/index.ts'
import { bodyOf, contentOf, documentOf, follow, operationIn, type Response, serverUrl } from './document.ts'

const operations = Object.values<OperationDefinition>(catalogue)
const sandbox = documentOf('sandbox')
const production = documentOf('production')

describe('the OpenAPI document', () => {
  it.each([
    ['sandbox', sandbox],
    ['production', production],
  ])('the OpenAPI document of the %s environment is valid', async (_, document) => {
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

  it('each OpenAPI document contains exactly the operations of its environment', () => {
    for (const [environment, document] of [['sandbox', sandbox] as const, ['production', production] as const]) {
      const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
      )
      const expected = operations
        .filter(({ environments }) => environments.includes(environment))
        .map(({ method, path, name }) => `${method.toLowerCase()} ${path} ${camelCase(name)}`)
      expect(documented.toSorted()).toEqual(expected.toSorted())
    }
    expect(Object.keys(production.paths).filter((path) => path.startsWith('/simulations'))).toEqual([])
  })

  it('all patterns mean the same in JavaScript, Python and Go', () => {
    for (const document of [sandbox, production]) {
      const patterns = patternsIn(document)
      expect(patterns.length).toBeGreaterThan(10)
      expect(patterns.filter((pattern) => !isPortable(pattern))).toEqual([])
    }
    for (const pattern of [
      String.raw`^[^\p{Cc}]+$`,
      String.raw`^(?=.*\S)`,
      String.raw`^[^\u0000]+$`,
      '^(a)\\1$',
      '^[é]$',
    ])
      expect(isPortable(pattern), pattern).toBe(false)
  })

  it('the production document equals the sandbox document without its sandbox-only parts', () => {
    const available = operations.filter(({ environments }) => environments.includes('production'))
    for (const operation of available)
      expect(operationIn(production, operation)).toEqual(operationIn(sandbox, operation))
    expect(sandbox).toMatchObject({ components: { ...production.components, securitySchemes: {} } })
    const { paths, components, servers, tags, ...about } = production as typeof production & Record<string, unknown>
    expect(sandbox).toMatchObject(about)
    expect([servers, tags]).toEqual([
      [{ url: serverUrl, description: 'production' }],
      [
        ...new Set(
          Object.values(paths)
            .flatMap(Object.values)
            .flatMap(({ tags }) => tags),
        ),
      ].map((name) => ({ name, description: expect.stringMatching(/^[A-Z].+\.$/) })),
    ])
    expect(components.securitySchemes).toMatchObject({
      bearer: { description: expect.stringContaining('sk_ntl_prod_') },
    })
  })
})

describe.each(operations.map((operation) => [operation.name, operation] as const))('%s', (_, operation) => {
  const described = operationIn(sandbox, operation)
  const pointer = `#/paths/${[operation.path, operation.method.toLowerCase()].map(escapePointer).join('/')}`
  const responseOf = (status: string) => follow(described.responses[status] as Response, sandbox)

  it('the operation has its title, its description and one tag', () => {
    expect(described).toMatchObject({ summary: operation.title, description: operation.description })
    expect(described.tags).toHaveLength(1)
    expect(described['x-extension']).toBe(operation.extension || undefined)
  })

  it('the parameters and headers are complete', () => {
    const parameters = described.parameters.map((parameter) => follow(parameter, sandbox))
    const namesIn = (place: string) => parameters.filter((parameter) => parameter.in === place).map(({ name }) => name)
    const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    expect(namesIn('path')).toEqual(inPath)
    expect(Object.keys(operation.params?.shape ?? {})).toEqual(inPath)
    expect(namesIn('query')).toEqual(Object.keys(operation.query?.shape ?? {}))
    const key = { name: 'Idempotency-Key', required: true, schema: { maxLength: 255 } }
    const headers = parameters.filter((parameter) => parameter.in === 'header')
    expect(headers).toMatchObject([
      ...(operation.idempotency === 'required' ? [key] : []),
      { name: 'X-Instance-ID', required: false, schema: { maxLength: 1024 } },
      ...(operation.agentHeader === true ? [{ name: 'X-Agent-ID', required: false, schema: { maxLength: 36 } }] : []),
    ])
    for (const { required } of parameters.filter((parameter) => parameter.in === 'path')) expect(required).toBe(true)
  })

  it('the operation has a body if and only if it has attributes, and the example of the body is valid', () => {
    expect(bodyOf(described) !== undefined).toBe(operation.attributes !== undefined)
    if (described.requestBody === undefined) return
    const { schema, example } = contentOf(described.requestBody)
    expect(schema).toMatchObject({ required: ['data'], additionalProperties: false })
    expectValid(`${pointer}/requestBody`, example)
    const { attributes } = (example as { data: { attributes: unknown } }).data
    const places = operation.attributes && bodyPlaces(operation.attributes)
    expect(places?.attributes.safeParse(attributes)).toMatchObject({ success: true })
  })

  const okStatus = String(successStatus(operation))

  it('the success response has an example that matches its schema', () => {
    const ok = responseOf(okStatus)
    const { example } = contentOf(ok)
    expectValid(`${pointer}/responses/${okStatus}`, example)
    if (operation.result === 'oneOrNull') expectValid(`${pointer}/responses/${okStatus}`, { data: null })
    const { data } = example as { data: unknown }
    for (const resource of answersList(operation) ? (data as unknown[]) : [data])
      expect(operation.output.safeParse(resource)).toMatchObject({ success: true })
    const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
    const replayed = operation.idempotency === 'required' ? ['X-Idempotency-Replayed'] : []
    expect(Object.keys(ok.headers)).toEqual([...limits, ...replayed])
  })

  it('every error that the operation can return has an example', () => {
    const expected = errorsByStatus(operation)
    const statuses = Object.keys(described.responses).filter((status) => status !== okStatus)
    expect(statuses.map(Number)).toEqual([...expected.keys()])
    for (const code of operation.errors) expect(expected.get(errorTable[code].status)).toContain(code)
    for (const status of statuses) {
      const response = responseOf(status)
      const { examples = {} } = contentOf(response)
      expect(Object.keys(examples)).toEqual(expected.get(Number(status)))
      for (const [code, { value }] of Object.entries(examples)) {
        expectValid((described.responses[status] as unknown as { $ref: string }).$ref, value)
        expect(value).toMatchObject({ errors: [{ code, status }] })
      }
      expect('Retry-After' in response.headers).toBe(status === '429' || status === '503')
    }
  })
})

it('errorsByStatus returns the errors that every operation can return, and those of the given operation', () => {
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

function patternsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const patterns = 'pattern' in value && typeof value.pattern === 'string' ? [value.pattern] : []
  return [...patterns, ...Object.values(value).flatMap(patternsIn)]
}

/**
 * Returns whether a pattern is ASCII and has no lookaround, backreference, Unicode property or `\u` escape. Python or
 * Go lacks each of these features.
 */
function isPortable(pattern: string): boolean {
  // Both constructors throw if the pattern is not valid.
  for (const flags of ['', 'u']) new RegExp(pattern, flags)
  return /^[ -~]*$/.test(pattern) && !/\(\?(?!:)|\\(?!x[0-9a-f]{2}|[dswtnr]|[^A-Za-z0-9])/.test(pattern)
}

interface Ajv {
  addSchema(schema: object): void
  getSchema(pointer: string): (((value: unknown) => boolean) & { errors?: unknown }) | undefined
}

// Loads the copy of ajv that the OpenAPI validator uses.
const load = createRequire(createRequire(import.meta.url).resolve('@seriousme/openapi-schema-validator'))
const Ajv2020 = load('ajv/dist/2020.js').default as new (options: object) => Ajv
const addFormats = load('ajv-formats').default as (ajv: Ajv) => void

// The whole document is added to ajv as one schema, so that ajv compiles shared schemas only once.
const ajv = new Ajv2020({ strict: false, allErrors: true, inlineRefs: false })
addFormats(ajv)
ajv.addSchema({ ...sandbox, $id: 'openapi' })

function escapePointer(step: string): string {
  return encodeURIComponent(step.replaceAll('/', '~1'))
}

/** Expects that a value matches the schema of the request or response at the pointer. */
function expectValid(pointer: string, value: unknown) {
  const validate = ajv.getSchema(`openapi${pointer}/content/${escapePointer('application/json')}/schema`)
  if (validate === undefined) throw new Error(`Bug: the document has no schema at ${pointer}`)
  expect(validate(value) ? [] : validate.errors).toEqual([])
}
