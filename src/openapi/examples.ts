import { answersList, type OperationDefinition } from '../core/operation.ts'
import type { JsonSchema } from './components.ts'

/** Builds an example of a request's `data` with all attributes except those that are rarely sent. */
export function requestExample(
  { name }: OperationDefinition,
  attributes: JsonSchema,
  relationships: JsonSchema | undefined,
): unknown {
  const context = { field: name, skip: rarelySent }
  return {
    attributes: example(attributes, context),
    ...(relationships === undefined ? {} : { relationships: example(relationships, context) }),
  }
}

/** Builds an example body of a successful response. */
export function responseExample(
  operation: OperationDefinition,
  { resource, meta }: { resource: JsonSchema; meta: JsonSchema | undefined },
): unknown {
  const data = example(resource, { field: operation.name, skip: new Set() }) as {
    attributes?: object
    relationships?: object
  }
  const { attributes, relationships } = operation.example ?? {}
  const resourceExample = {
    ...data,
    ...(data.attributes === undefined ? {} : { attributes: { ...data.attributes, ...attributes } }),
    ...(relationships === undefined ? {} : { relationships: { ...data.relationships, ...relationships } }),
  }
  const allMeta = {
    ...(operation.result === 'page' ? { pagination: { hasMore: false, nextCursor: null } } : {}),
    ...(meta === undefined ? {} : (example(meta, { field: 'meta', skip: new Set() }) as object)),
  }
  return {
    data: answersList(operation) ? [resourceExample] : resourceExample,
    ...(Object.keys(allMeta).length === 0 ? {} : { meta: allMeta }),
  }
}

/** Optional attributes that a typical request leaves out. */
const rarelySent: ReadonlySet<string> = new Set([
  'customerPartyId',
  'to',
  'totalAmount',
  'paymentCount',
  'fromPaymentNumber',
  'accountType',
  'firstName',
  'lastName',
  'phone',
  'individual',
  'business',
  'disableNotifications',
  'afterMs',
  'path',
  'seed',
])

/** Example values by field name. The values of other fields are generated from the schema. */
const values: Readonly<Record<string, unknown>> = {
  accountNumber: '000123456789',
  amount: 4_250,
  available: 245_750,
  attention: null,
  avatarUrl: null,
  bankName: 'Example Bank',
  captured: 0,
  checkoutUrl: null,
  claims: { amount: 0, count: 0 },
  clientSecret: null,
  count: 1,
  cvv: '123',
  decline: null,
  description: 'Team supplies',
  detail: 'The card was already used.',
  displayName: 'Main wallet',
  dueDate: '2026-02-02',
  email: 'owner@example.com',
  expirationMonth: 1,
  expirationYear: 2026,
  every: { unit: 'month', count: 1 },
  expiresAt: '2026-01-02T04:04:05.678Z',
  expiresInMinutes: 60,
  grantId: null,
  handle: 'sandbox-shopper',
  held: 4_250,
  holdExpiresAt: '2026-01-09T03:04:05.678Z',
  instanceId: 'run-42',
  maskedToken: 'Xk3v…_-xM',
  keyId: 'agk_0198a1b2c3d40123456789abcdef0123',
  maximumAmount: 5_000,
  missedPayments: [],
  name: 'Example Store',
  number: '4242424242424242',
  paymentNumber: 2,
  perDay: 50_000,
  perMonth: null,
  perTransaction: 10_000,
  permissions: ['cards.read'],
  purchase: { data: null },
  refunded: 0,
  revokedAt: null,
  routingNumber: '000000000',
  seconds: 3_600,
  status: 'active',
  tags: {},
  taxAmount: 250,
  terms: {
    description: 'Team supplies',
    every: { unit: 'month', count: 1 },
    amount: 4_250,
    taxAmount: 250,
    paymentCount: null,
  },
  total: 250_000,
  userId: null,
  acceptedAt: null,
  declinedAt: null,
  cancelReason: null,
  phone: null,
  agentName: 'Sandbox shopper',
  developerName: 'Example Organization',
  url: 'http://127.0.0.1:4010/connect/0198a1b2c3d4',
  value: 'jane@example.com',
  message: 'Your shopping agent',
  ach: null,
  city: 'Springfield',
  claimLink: null,
  country: 'US',
  denialReason: null,
  destWallet: { data: null },
  expectedAvailableAt: null,
  externalAccount: { data: null },
  externalAccountDisplayMask: '••••6789',
  failure: null,
  line1: '1 Main Street',
  method: 'wire',
  paymentLinkUrl: 'http://127.0.0.1:4010/request/Xk3v9-xM',
  attempts: 1,
  lastError: 'It answered 500.',
  lastResponseStatus: 500,
  initiatorAgent: null,
  payerAgent: { data: null },
  payerAvatarUrl: null,
  payerEmail: 'jane@example.com',
  payerHandle: null,
  payerIdentifier: 'jane@example.com',
  payerName: 'Jane Doe',
  payerParty: { data: null },
  payerPartyId: null,
  payerPhone: null,
  requesterAvatarUrl: null,
  requesterEmail: null,
  requesterHandle: '@example',
  requesterName: 'Example Organization',
  walletName: 'Main wallet',
  owner: { partyId: 'pty_0198a1b2c3d40123456789abcdef0123', name: 'Example Organization' },
  paymentRequest: { data: null },
  postalCode: '62701',
  rail: 'wire',
  realtime: null,
  return: null,
  state: 'IL',
  wire: null,
  operation: 'issue_agent_card',
  when: { nth: 1 },
  matched: 1,
  hits: 1,
}

interface ExampleContext {
  /** The name of the field for which an example is built. */
  field: string
  /** The optional fields to leave out. */
  skip: ReadonlySet<string>
}

/**
 * Returns whether an example value matches a field's pattern. Fields with the same name may have different patterns, so
 * an example may be valid for only some of these fields.
 */
function matchesPattern({ pattern }: JsonSchema, value: unknown): boolean {
  return typeof value !== 'string' || pattern === undefined || new RegExp(pattern, 'u').test(value)
}

function example(schema: JsonSchema, { field, skip }: ExampleContext): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (field in values && matchesPattern(schema, values[field])) return values[field]
  const [first] = schema.anyOf ?? schema.oneOf ?? []
  if (first !== undefined) return example(first, { field, skip })
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'object') {
    const fields = Object.entries(schema.properties ?? {}).filter(([name]) => !skip.has(name))
    return Object.fromEntries(fields.map(([name, property]) => [name, example(property, { field: name, skip })]))
  }
  if (type === 'array') return [example(schema.items ?? {}, { field: `${field} item`, skip })]
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1
  if (type === 'boolean') return true
  if (schema.format === 'date-time') return '2026-01-02T03:04:05.678Z'
  const prefix = schema.pattern === undefined ? null : /^\^([a-z]+_)\[/.exec(schema.pattern)
  return prefix === null ? 'text' : `${prefix[1]}0198a1b2c3d40123456789abcdef0123`
}
