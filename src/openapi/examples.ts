import type { OperationDefinition } from '../core/operation.ts'
import type { JsonSchema } from './components.ts'

/** An example of a request's `data`: every attribute but those that are rarely sent. */
export function requestExample(
  { name }: OperationDefinition,
  attributes: JsonSchema,
  relationships: JsonSchema | undefined,
): unknown {
  const place = { field: name, skip: rarelySent }
  return {
    attributes: example(attributes, place),
    ...(relationships === undefined ? {} : { relationships: example(relationships, place) }),
  }
}

/** An example of the body of a successful response. */
export function responseExample(
  operation: OperationDefinition,
  { resource, meta }: { resource: JsonSchema; meta: JsonSchema | undefined },
): unknown {
  const data = example(resource, { field: operation.name, skip: new Set() }) as {
    attributes?: object
    relationships?: object
  }
  const { attributes, relationships } = outcomes[operation.name] ?? {}
  const resourceExample = {
    ...data,
    ...(data.attributes === undefined ? {} : { attributes: { ...data.attributes, ...attributes } }),
    ...(relationships === undefined ? {} : { relationships: { ...data.relationships, ...relationships } }),
  }
  const told = {
    ...(operation.result === 'page' ? { pagination: { hasMore: false, nextCursor: null } } : {}),
    ...(meta === undefined ? {} : (example(meta, { field: 'meta', skip: new Set() }) as object)),
  }
  return {
    data: operation.result === 'one' ? resourceExample : [resourceExample],
    ...(Object.keys(told).length === 0 ? {} : { meta: told }),
  }
}

/** Optional attributes that an ordinary request leaves out. */
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
])

/** Example values by field name. What is not here follows from the schema: a const, the first of an enum, an id. */
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
  owner: { partyId: 'pty_0198a1b2c3d40123456789abcdef0123', name: 'Example Organization' },
  paymentRequest: { data: null },
  postalCode: '62701',
  rail: 'wire',
  realtime: null,
  return: null,
  state: 'IL',
  wire: null,
}

const captured = { status: 'captured', held: 0, captured: 4_250, holdExpiresAt: null }
const reversed = { status: 'reversed', held: 0, holdExpiresAt: null }

const active = { status: 'active', expiresAt: null }
const canceled = { ...active, status: 'canceled', nextPayment: null }
const pending = {
  nextPayment: { paymentNumber: 1, dueDate: null, amount: 4_250, taxAmount: 250 },
  mandateId: null,
  checkoutUrl:
    'http://127.0.0.1:4010/checkout/sub_0198a1b2c3d40123456789abcdef0123/5f0c7d7c2f1b8f0e6a4d3c2b1a09f8e7d6c5b4a3928170615243f4e5d6c7b8a9',
  clientSecret: 'pmi_0198a1b2c3d40123456789abcdef0123_secret_…',
}

const completed = { status: 'COMPLETED' }
const toParty = { senderAgent: { data: null }, recipientAgent: { data: null }, customerParty: { data: null } }
const withdrawal = { ...completed, type: 'withdrawal' }
const deposit = { ...completed, type: 'deposit', method: 'standard', rail: null, externalAccountDisplayMask: null }
const internal = { ...completed, type: 'internal', method: null, rail: null, externalAccountDisplayMask: null }
const between = { destWallet: { data: { type: 'wallet', id: 'wal_0198a1b2c3d40123456789abcdef0000' } } }
const listed = { depositInstructions: { bankName: 'Sandbox Bank', accountNumber: null, routingNumber: null } }
const outbound = { ...completed, direction: 'OUTBOUND' }
const underReview = {
  target: { type: 'payment', id: 'pay_0198a1b2c3d40123456789abcdef0123' },
  payment: { amount: 4_250, currency: 'USD' },
  customer: null,
  reasons: [
    {
      type: 'limitExceeded',
      limitType: 'perTransactionAmount',
      limitAmount: 4_000,
      actualAmount: 4_250,
      currency: 'USD',
    },
  ],
  resolvedAt: null,
}
const customer = { id: 'pty_0198a1b2c3d40123456789abcdef0123', name: 'Sandbox Customer' }
const resolvedAt = '2026-01-02T03:04:05.678Z'

const linkToken = 'Xk3v0pQm7sJ1cY8nRw2eTz5bUa9hLd4gVf6iKo0_-xM'
const linkUrl = `http://127.0.0.1:4010/connect/links/${linkToken}`
const nobodyYet = { customerParty: { data: null } }
const ended = (status: string, cancelReason: string | null = null) => ({
  status,
  effectiveStatus: status,
  cancelReason,
})

/** What an operation changes, over the values above: an example must tell what the operation does. */
const outcomes: Readonly<Record<string, { attributes: object; relationships?: object }>> = {
  create_payment: { attributes: completed, relationships: toParty },
  get_payment: { attributes: completed, relationships: toParty },
  list_payments: { attributes: completed, relationships: toParty },
  cancel_payment: {
    attributes: { status: 'CANCELED' },
    relationships: { ...toParty, recipient: { data: null }, transaction: { data: null } },
  },
  simulate_payment_claim: { attributes: completed, relationships: toParty },
  create_wire: { attributes: withdrawal },
  create_internal_transfer: { attributes: internal, relationships: { ...between, transaction: { data: null } } },
  list_transfers: { attributes: withdrawal },
  get_transfer: { attributes: withdrawal },
  list_wallets: { attributes: listed },
  create_wallet: { attributes: { ...listed, isDefault: false, balance: { available: 0, total: 0, currency: 'USD' } } },
  update_wallet: { attributes: listed },
  set_default_wallet: { attributes: listed },
  freeze_wallet: { attributes: { ...listed, status: 'frozen' } },
  unfreeze_wallet: { attributes: listed },
  fund_sandbox_wallet: { attributes: deposit },
  list_transactions: { attributes: outbound, relationships: { transfer: { data: null } } },
  get_transaction: { attributes: outbound, relationships: { transfer: { data: null } } },
  list_approvals: { attributes: underReview },
  get_approval: { attributes: underReview },
  approve_approval: { attributes: { ...underReview, status: 'approved', resolvedAt } },
  simulate_customer_approval: { attributes: { ...underReview, status: 'approved', customer, resolvedAt } },
  simulate_customer_denial: {
    attributes: { ...underReview, status: 'denied', customer, denialReason: 'Not this one.', resolvedAt },
  },
  deny_approval: { attributes: { ...underReview, status: 'denied', denialReason: 'Not this one.', resolvedAt } },
  create_invitation_link: { attributes: { status: 'ACTIVE', token: linkToken, url: linkUrl } },
  list_invitation_links: { attributes: { status: 'ACTIVE' } },
  get_invitation_link: { attributes: { status: 'ACTIVE' } },
  revoke_invitation_link: { attributes: { status: 'REVOKED' } },
  create_customer_invitation: { attributes: {}, relationships: nobodyYet },
  simulate_customer_invitation: { attributes: {}, relationships: nobodyYet },
  revoke_customer_invitation: { attributes: ended('CANCELED', 'DEVELOPER_REVOKED'), relationships: nobodyYet },
  simulate_invitation_acceptance: { attributes: { ...ended('ACCEPTED'), acceptedAt: '2026-01-02T03:04:05.678Z' } },
  simulate_invitation_decline: {
    attributes: { ...ended('DECLINED'), declinedAt: '2026-01-02T03:04:05.678Z' },
    relationships: nobodyYet,
  },
  whoami: { attributes: { actorType: 'agent', credentialKind: 'agent_key' } },
  create_agent_card_details_page: { attributes: { url: `http://127.0.0.1:4010/cards/${linkToken}` } },
  get_card_transaction: { attributes: captured },
  create_subscription: { attributes: pending },
  get_subscription: { attributes: active },
  list_subscriptions: { attributes: active },
  list_subscription_payments: { attributes: { status: 'paid' } },
  cancel_subscription: { attributes: canceled },
  resume_subscription: { attributes: active },
  mark_subscription_payment_paid: { attributes: active },
  simulate_subscription_checkout: { attributes: active },
  simulate_subscription_card: { attributes: active },
  simulate_card_capture: { attributes: captured },
  simulate_card_reversal: { attributes: reversed },
  simulate_card_expiration: { attributes: reversed },
  simulate_card_refund: {
    attributes: { kind: 'refund', status: 'refunded', held: 0, refunded: 4_250, holdExpiresAt: null },
    relationships: { purchase: { data: { type: 'cardTransaction', id: 'cit_0198a1b2c3d40123456789abcdef0000' } } },
  },
}

interface Place {
  /** The name of the field that the value is made for. */
  field: string
  /** Optional fields that are left out. */
  skip: ReadonlySet<string>
}

function example(schema: JsonSchema, { field, skip }: Place): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (field in values) return values[field]
  if (schema.anyOf !== undefined) return example(schema.anyOf[0] ?? {}, { field, skip })
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
