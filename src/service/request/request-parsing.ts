import { z } from 'zod'
import { acceptsPartyNextToData, bodyPlaces, relationshipOf } from '../../core/body-places.ts'
import { Failure, type FailureOptions, fail } from '../../core/errors.ts'
import type { Fault } from '../../core/faults.ts'
import { type InvalidValue, invalidValues, jsonPointer } from '../../core/invalid-value.ts'
import { parseJson } from '../../core/json.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import type { ReadableHeaders } from '../../core/plain-headers.ts'
import { sha256 } from '../../core/system.ts'

/** A request as it arrived. Its body has been read, but not parsed. */
export interface Incoming {
  method: string
  /** The percent-encoded path, without the query. */
  path: string
  params: Readonly<Record<string, string>>
  query: URLSearchParams
  headers: ReadableHeaders
  /** Whether the request has already been counted against the rate limit of its credential. */
  isCounted?: boolean
  /** The fault that was planned when the tool call arrived over MCP; undefined if no plan has been made yet. */
  fault?: Fault | undefined
  body: string
  /** The parsed body; undefined if the body is empty, is not JSON or is nested too deeply. */
  readonly json: unknown
}

/** Marks a request that the MCP server in this process sends for a host. The host's request is already counted. */
export const counted = Object.freeze({ counted: true })

/** A request whose body is read only after the request's credential was checked. */
export interface Unread extends Omit<Incoming, 'body' | 'json'> {
  read(keyId: string): Promise<string>
}

/** Returns the request with its body. The body is parsed only when `json` is first read. */
export function withBody(request: Omit<Incoming, 'body' | 'json'>, body: string): Incoming {
  let parsed: { value: unknown } | undefined
  return {
    ...request,
    body,
    get json() {
      parsed ??= { value: parseShallowJson(body) }
      return parsed.value
    },
  }
}

/** The parsed values, or the failure if they are invalid. The failure is recorded under the idempotency key. */
export type Values = { input: Record<string, unknown> } | { failure: Failure }

export interface RequestHeaders {
  idempotencyKey: string | undefined
  instanceId: string | null
}

const nothing = z.strictObject({})
const envelope = z.strictObject({ data: z.strictObject({ attributes: z.looseObject({}) }) })

type Relationships = Record<string, { data: { id: string } } | undefined>

const longestKey = 255
const longestInstanceId = 1024

/** Reads Idempotency-Key and X-Instance-ID. @throws 400 if a header is invalid, or if a required header is missing. */
export function readHeaders(
  operation: OperationDefinition,
  headers: ReadableHeaders,
  isAgent: boolean,
): RequestHeaders {
  const instanceId = headers.get('x-instance-id') || null
  if (instanceId !== null && instanceId.length > longestInstanceId) {
    failHeader('X-Instance-ID', `must be at most ${longestInstanceId} characters long, got ${instanceId.length}`)
  }
  if (instanceId === null && isAgent && operation.instanceId === 'agents') {
    fail('missing_instance_id', { source: { header: 'X-Instance-ID' } })
  }
  if (operation.idempotency === 'ignored') return { idempotencyKey: undefined, instanceId }
  const key = headers.get('idempotency-key') || undefined
  if (key === undefined)
    failHeader('Idempotency-Key', `is required: 1 to ${longestKey} characters, different for each new request`)
  if (key.length > longestKey) {
    failHeader('Idempotency-Key', `must be at most ${longestKey} characters long, got ${key.length}`)
  }
  return { idempotencyKey: key, instanceId }
}

/** Returns the id in X-Agent-ID; null if the header is missing or ignored. @throws 400 if the id is malformed. */
export function readAgentHeader(operation: OperationDefinition, headers: ReadableHeaders): string | null {
  const agentId = operation.agentHeader === true ? headers.get('x-agent-id') : null
  if (agentId !== null && !/^agt_[0-9a-f]{32}$/.test(agentId)) {
    failHeader('X-Agent-ID', "must be an agent's id: agt_ and 32 lowercase hexadecimal digits")
  }
  return agentId
}

/**
 * Parses path, query and body with the operation's schemas. The failure has the status 422 if the value of an attribute
 * is invalid, and 400 for any other problem, such as an unknown attribute.
 */
export function parseRequest(operation: OperationDefinition, incoming: Incoming): Values {
  try {
    const params = parsePart(operation.params ?? nothing, incoming.params, asParameter)
    const query = parsePart(operation.query ?? nothing, queryValues(incoming.query), asParameter)
    requireOneCustomer(operation.query, query, asParameter)
    const body = parseBody(operation, incoming)
    requireOneCustomer(operation.attributes, body, (wrong) => ({
      detail: wrong.detail,
      source: { pointer: `/data/attributes${jsonPointer(wrong.path)}` },
    }))
    return { input: { ...params, ...query, ...body } }
  } catch (error) {
    if (error instanceof Failure) return { failure: error }
    throw error
  }
}

/** Refuses a request whose `customerPartyId` and `partyId` name different customers. @throws 400. */
function requireOneCustomer(
  schema: z.ZodObject | undefined,
  { customerPartyId, partyId }: Record<string, unknown>,
  refusal: (wrong: Pick<InvalidValue, 'path' | 'detail'>) => FailureOptions,
): void {
  const bothKnown = schema?.shape.customerPartyId !== undefined && schema.shape.partyId !== undefined
  if (!bothKnown || customerPartyId === undefined || partyId === undefined || customerPartyId === partyId) return
  const detail = 'partyId and customerPartyId mean the same, but have different values. Send only one of them.'
  fail('invalid_value', refusal({ path: ['partyId'], detail }))
}

/** Returns the customer's id, even if other values are invalid; undefined if the request has no valid customer id. */
export function namedCustomer(operation: OperationDefinition, incoming: Incoming, values: Values): string | undefined {
  const other = operation.query?.shape.partyId === undefined ? undefined : incoming.query.get('partyId')
  const { customerPartyId, partyId } = operation.attributes?.shape ?? {}
  // In a body, `partyId` means the customer only if the operation also declares `customerPartyId`.
  const both = customerPartyId !== undefined && partyId !== undefined
  if ('input' in values) {
    const inBody = both ? values.input.partyId : undefined
    return (values.input.customerPartyId ?? inBody ?? other ?? undefined) as string | undefined
  }
  const declared = customerPartyId ?? operation.query?.shape.customerPartyId
  if (!(declared instanceof z.ZodType)) return undefined
  const body = bodyOf(operation, incoming) as { data?: { attributes?: Named } } | null | undefined
  const named = body?.data?.attributes
  const value =
    operation.attributes === undefined
      ? (incoming.query.get('customerPartyId') ?? other)
      : (named?.customerPartyId ?? (both ? named?.partyId : undefined))
  const result = declared.safeParse(value ?? undefined)
  return result.success ? (result.data as string | undefined) : undefined
}

interface Named {
  customerPartyId?: unknown
  partyId?: unknown
}

/**
 * Returns a digest that is the same for every repeat of a request. White space and the order of keys in the body do not
 * matter. The digest includes the agent, so that an agent never gets an answer recorded for a different agent.
 */
export function fingerprint(incoming: Incoming, agentId: string | null): string {
  const value = incoming.json
  const body = value === undefined ? incoming.body : canonicalJson(value)
  return sha256([agentId ?? '', incoming.method, incoming.path, incoming.query.toString(), body].join('\n'))
}

function parseBody(operation: OperationDefinition, incoming: Incoming): Record<string, unknown> {
  if (operation.attributes === undefined) {
    if (incoming.body.trim() !== '') failBody(`${operation.name} takes no body.`)
    return {}
  }
  const places = bodyPlaces(operation.attributes)
  if (operation.bodyOptional === true && /^\s*(\{\s*\}\s*)?$/.test(incoming.body))
    return parseAttributes(places.attributes, {})
  const contentType = incoming.headers.get('content-type') ?? ''
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType)) {
    failHeader(
      'Content-Type',
      `must be application/json, ${contentType === '' ? 'but is missing' : `got ${contentType}`}`,
    )
  }
  const value = bodyOf(operation, incoming)
  const form = places.relationships === undefined ? '' : ', "relationships": {…}'
  if (value === undefined) failBody(`The body must be JSON of the form {"data": {"attributes": {…}${form}}}.`)
  parsePart(envelopeOf(places.relationships), value, (wrong) => ({
    detail: `${wrong.detail} The body must be {"data": {"attributes": {…}${form}}}.`,
    source: { pointer: jsonPointer(wrong.path) },
  }))
  const { attributes, relationships } = (value as { data: { attributes: object; relationships?: Relationships } }).data
  return { ...parseAttributes(places.attributes, attributes), ...relatedIds(places.relationships, relationships) }
}

/** Returns the parsed body. Moves an accepted `partyId` next to `data` to the attributes (docs/service.md#bodies). */
function bodyOf(operation: OperationDefinition, { json }: Pick<Incoming, 'json'>): unknown {
  if (!acceptsPartyNextToData(operation) || !isObject(json) || json.partyId === undefined) return json
  const { partyId, ...body } = json
  const attributes = isObject(body.data) ? body.data.attributes : undefined
  // If the attributes also have a `partyId`, the `partyId` next to `data` is not moved, so the request is refused.
  if (!isObject(attributes) || Object.hasOwn(attributes, 'partyId')) return json
  return { ...body, data: { ...(body.data as object), attributes: { ...attributes, partyId } } }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Returns the schema of a body. Only operations that declare relationships accept them (docs/service.md#bodies). */
function envelopeOf(related: z.ZodObject | undefined): z.ZodObject {
  if (related === undefined) return envelope
  const shape = Object.entries(related.shape).map(([field, id]) => {
    const type = relationshipOf(field)
    return [type, z.strictObject({ data: z.strictObject({ type: z.literal(type), id }) })]
  })
  const relationships = z.strictObject(Object.fromEntries(shape))
  return z.strictObject({ data: z.strictObject({ attributes: z.looseObject({}), relationships }) })
}

function relatedIds(related: z.ZodObject | undefined, relationships: Relationships | undefined) {
  const fields = Object.keys(related?.shape ?? {})
  return Object.fromEntries(fields.map((field) => [field, relationships?.[relationshipOf(field)]?.data.id]))
}

function parseAttributes(schema: z.ZodObject, attributes: object): Record<string, unknown> {
  return parsePart(schema, attributes, (wrong) => ({
    detail: wrong.detail,
    source: { pointer: `/data/attributes${jsonPointer(wrong.path)}` },
    status: wrong.kind === 'unknown' ? 400 : 422,
    ...(wrong.accepts === undefined ? {} : { accepts: wrong.accepts }),
  }))
}

function parsePart(
  schema: z.ZodObject,
  value: unknown,
  refusal: (wrong: InvalidValue) => FailureOptions,
): Record<string, unknown> {
  const result = schema.safeParse(value)
  // Zod silently drops the key `__proto__`, although it refuses other unknown keys.
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
    const detail = '__proto__ is not a known property.'
    const nothingElse = { accepts: undefined, idPrefix: undefined, got: undefined }
    fail('invalid_value', refusal({ path: ['__proto__'], detail, kind: 'unknown', ...nothingElse }))
  }
  if (result.success) return result.data
  // The error's source points to the first invalid value. The error's message lists at most `maxListed` invalid values.
  const wrong = invalidValues(result.error, value, schema)
  const detail = wrong.slice(0, maxListed).map((found) => found.detail)
  return fail('invalid_value', refusal({ ...wrong[0], detail: detail.join(' ') }))
}

/** The maximum number of invalid values that one error lists. */
const maxListed = 8

function asParameter(wrong: Pick<InvalidValue, 'path' | 'detail'>): FailureOptions {
  return { detail: wrong.detail, source: { parameter: wrong.path[0] ?? '' } }
}

function failHeader(header: string, problem: string): never {
  return fail('invalid_value', { detail: `${header} ${problem}.`, source: { header } })
}

function failBody(detail: string): never {
  return fail('invalid_value', { detail, source: { pointer: '' } })
}

/** Returns the query's values. A repeated parameter becomes an array, which is invalid for a single value. */
function queryValues(query: URLSearchParams): Record<string, unknown> {
  return Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const values = query.getAll(name)
      return [name, values.length === 1 ? values[0] : values]
    }),
  )
}

/** The maximum nesting depth of a body. No operation needs more, and a very deep body could exhaust the stack. */
const maxDepth = 32

/** Parses a body. Returns undefined if the body is empty, is not JSON or is nested too deeply. */
function parseShallowJson(text: string): unknown {
  const value = text === '' ? undefined : parseJson(text)
  return isShallow(value, maxDepth) ? value : undefined
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1))
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`).join(',')}}`
}
