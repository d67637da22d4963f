import { delegable } from '../../src/core/permissions.ts'
import { monthAndYear, newId } from '../../src/core/system.ts'
import { saveInitialWorld } from '../../src/service/store/snapshots.ts'
import { trust } from '../credentials/requests.ts'
import { addDelegation, addPlainParty, addUserToken } from '../support/world.ts'
import { type Grounds, limitCents, type Place, reviewedCents, uselessGrant } from './places.ts'

/** The ids that a request about a resource needs, by parameter name. */
export type Ids = Record<string, string>
/** Creates or finds a resource of the party at `place`, and returns the ids that a sample request needs. */
export type Maker = (on: Grounds, place: Place) => Promise<Ids>

let counter = 0
export const unusedEmail = () => `somebody${counter++}@example.com`

const usd = { currency: 'USD' }
const merchant = { name: 'Books' }

// biome-ignore lint/suspicious/noExplicitAny: the answer's parts are read by name.
async function createAt({ world }: Grounds, path: string, attributes: object, key: string): Promise<any> {
  const answer = await world.post(path, attributes, { key })
  if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`)
  return answer.json.data
}

const pay = (on: Grounds, place: Place, amount: number, counterparty: object) =>
  createAt(on, '/payments', { amount, counterparty }, place.apiKey)
const payShop = (on: Grounds, place: Place, amount = 10) =>
  pay(on, place, amount, { type: 'party_id', value: on.shop.partyId })

async function issue(on: Grounds, { agentKey, acting }: Place): Promise<string> {
  return (await createAt(on, '/agent-cards', { merchant, maximumAmount: 5000, ...usd, ...acting }, agentKey)).id
}

async function buy(on: Grounds, place: Place): Promise<string> {
  const path = `/simulations/agent-cards/${await issue(on, place)}/authorize`
  return (await createAt(on, path, { amount: 100, ...usd, merchant, ...place.acting }, place.agentKey)).id
}

const subscribe = async (on: Grounds, { apiKey }: Place): Promise<string> => {
  const terms = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 1000, taxAmount: 0 }
  return (await createAt(on, '/subscriptions', terms, apiKey)).id
}

const shop = { id: 'plain-goods', name: 'Plain Goods', item: 'stoneware-mug', price: 1800 }

/** Fills a cart at a shop as the place's agent, and issues a card that can pay for the cart. */
export const shopCheckout: Maker = async (on, place) => {
  const { agentKey, acting } = place
  const card = { merchant: { name: shop.name }, maximumAmount: shop.price, ...usd, ...acting }
  await createAt(on, '/agent-cards', card, agentKey)
  const cart = { items: [{ productId: shop.item }], ...acting }
  return { checkoutId: (await createAt(on, `/simulations/shops/${shop.id}/checkouts`, cart, agentKey)).id }
}

/** Returns the input for the shop's payment form: the card details and the amount. */
export const cardFormInput = ({ world: { system } }: Grounds) => {
  const { month, year } = monthAndYear(system.now() + 60 * 60_000)
  const typed = { number: '4242424242424242', cvv: '123', expirationMonth: month, expirationYear: year }
  return { ...typed, amount: shop.price }
}

export const shopOrder: Maker = async (on, place) => {
  const { checkoutId } = await shopCheckout(on, place)
  const path = `/simulations/shop-checkouts/${checkoutId}/pay`
  const { attributes } = await createAt(on, path, { ...cardFormInput(on), ...place.acting }, place.agentKey)
  return { orderId: attributes.orderId }
}

export const nothing: Maker = async () => ({})
/** Makes later resets restore the current state. */
export const currentStateAsResetPoint: Maker = async ({ world: { store, system } }) => {
  await store.transaction(async (tx) => saveInitialWorld(tx, system), { alone: true })
  return {}
}
/** Saves a snapshot of the current state. */
export const snapshot: Maker = async (on) => {
  const { attributes } = await createAt(on, '/simulations/snapshots', { name: 'as-it-is' }, on.world.apiKey)
  return { name: attributes.name }
}
export const wallet: Maker = async (_, { walletId }) => ({ walletId })
/** Returns the party's wallet and the agent that is attached to it. */
export const walletAndAgent: Maker = async (_, { walletId, agentId }) => ({ walletId, agentId })
/** Creates a wallet that no other request uses, so that it can be frozen. */
export const emptyWallet: Maker = async (on, { apiKey }) => ({
  walletId: (await createAt(on, '/wallets', { displayName: 'Other' }, apiKey)).id,
})
/** Attaches the agent to a second wallet. If the agent is detached from it, the agent still has its first wallet. */
export const attachment: Maker = async (on, place) => {
  const { agentId, apiKey } = place
  const { id } = await createAt(on, '/wallets', { displayName: 'Other' }, apiKey)
  await createAt(on, `/wallets/${id}/agents`, { agentId }, apiKey)
  return { walletId: id, agentId }
}
/** Creates a second wallet that the agent may use, for transfers from the agent's first wallet. */
export const walletPair: Maker = async (on, { walletId, agentId, apiKey }) => {
  const { id } = await createAt(on, '/wallets', { displayName: 'Other' }, apiKey)
  await createAt(on, `/wallets/${id}/agents`, { agentId }, apiKey)
  return { sourceWalletId: walletId, destWalletId: id }
}
/** Makes an internal transfer between two wallets that the party's agent may use. */
export const transfer: Maker = async (on, place) => ({
  transferId: (
    await createAt(on, '/transfers/internal', { amount: 10, ...(await walletPair(on, place)) }, place.apiKey)
  ).id,
})
export const agentOfPlace: Maker = async (_, { agentId }) => ({ agentId })
export const card: Maker = async (on, place) => ({ cardId: await issue(on, place) })
export const frozenCard: Maker = async (on, place) => {
  const cardId = await issue(on, place)
  await createAt(on, `/agent-cards/${cardId}/freeze`, { ...place.acting }, place.agentKey)
  return { cardId }
}
export const purchase: Maker = async (on, place) => ({ cardTransactionId: await buy(on, place) })

export const capturedPurchase: Maker = async (on, place) => {
  const cardTransactionId = await buy(on, place)
  const path = `/simulations/card-transactions/${cardTransactionId}/capture`
  await createAt(on, path, { amount: 100, ...usd, ...place.acting }, place.agentKey)
  return { cardTransactionId }
}

export const cardAndPurchase: Maker = async (on, place) => {
  const cardTransactionId = await buy(on, place)
  const path = `/card-transactions/${cardTransactionId}`
  const { agentCard } = (await on.world.get(path, { key: place.apiKey })).json.data.relationships
  return { cardId: agentCard.data.id, cardTransactionId }
}

export const payment: Maker = async (on, place) => ({ paymentId: (await payShop(on, place)).id })
/** Makes a payment, and returns the ids of the payment and its event. */
export const paymentAndEvent: Maker = async (on, place) => {
  const { paymentId } = await payment(on, place)
  const { data } = (await on.world.get('/events?eventType=payment.created&limit=1', { key: place.apiKey })).json
  return { paymentId: paymentId ?? '', eventId: data[0].id }
}
export const event: Maker = async (on, place) => {
  const { eventId = '' } = await paymentAndEvent(on, place)
  return { eventId }
}
/** Links two bank accounts, and returns the first. */
export const externalAccount: Maker = async (on, { apiKey }) => {
  const processorToken = 'processor-sandbox-accounts'
  const [{ id }] = await createAt(on, '/external-accounts/processor-token', { processorToken }, apiKey)
  return { externalAccountId: id }
}

/** Links a bank account, and returns it with the party's wallet. */
export const walletAndBank: Maker = async (on, place) => ({
  ...(await externalAccount(on, place)),
  walletId: place.walletId,
})
/** Makes a withdrawal that the bank has not settled yet. */
export const withdrawal: Maker = async (on, place) => ({
  transferId: (
    await createAt(on, '/transfers/withdraw', { amount: 10, ...(await walletAndBank(on, place)) }, place.apiKey)
  ).id,
})
export const settledWithdrawal: Maker = async (on, place) => {
  const { transferId = '' } = await withdrawal(on, place)
  const path = `/simulations/transfers/${transferId}/settle`
  const { status, text } = await on.world.send('POST', path, { key: place.apiKey })
  if (status >= 300) throw new Error(`${path}: ${text}`)
  return { transferId }
}

export const unclaimedPayment: Maker = async (on, place) => ({
  paymentId: (await pay(on, place, 10, { type: 'email', value: unusedEmail() })).id,
})
export const transaction: Maker = async (on, place) => ({
  transactionId: (await payShop(on, place)).relationships.transaction.data.id,
})
export const transactionAndWallet: Maker = async (on, place) => ({
  ...(await transaction(on, place)),
  walletId: place.walletId,
})

/** Requests a payment from a payer without an account, for whom simulations may act. */
export const sentRequest: Maker = async (on, { apiKey }) => ({
  paymentRequestId: await requestPayment(on, { type: 'email', value: unusedEmail() }, apiKey),
})
export const receivedRequest: Maker = async (on, { partyId }) => ({
  paymentRequestId: await requestPayment(on, { type: 'party_id', value: partyId }, on.shop.apiKey),
})
export const receivedRequestAndWallet: Maker = async (on, place) => ({
  ...(await receivedRequest(on, place)),
  walletId: place.walletId,
})

async function requestPayment(on: Grounds, payer: object, key: string): Promise<string> {
  return (await createAt(on, '/payment-requests', { amount: 10, payer }, key)).id
}

/** Makes a payment that needs the party's approval, and returns the approval. */
export const approval: Maker = async (on, place) => {
  // An earlier test may have cleared the limits that send the payment to review.
  const limits = { key: place.apiKey, attributes: { perTransaction: limitCents } }
  const limited = await on.world.send('PUT', '/parties/me/limits', limits)
  if (limited.status !== 200) throw new Error(limited.text)
  const { id } = await payShop(on, place, reviewedCents)
  const { data } = (await on.world.get('/approvals?limit=100', { key: place.apiKey })).json
  const found = data.find((one: { attributes: { target: Ids } }) => one.attributes.target.id === id)
  return { approvalId: found.id }
}

/**
 * Makes the party's agent pay from the account of a new customer, and returns the approval that this payment needs. At
 * the places `granted` and `ungranted`, the party pays from its own account instead.
 */
export const customerApproval: Maker = async (on, place) => {
  if (place.name !== 'own' && place.name !== 'stranger') return approval(on, place)
  const { world, shop } = on
  const { partyId: agentPartyId, agentId, agentKey } = place
  const { partyId: customerPartyId } = await addPlainParty(world, { party: { limits: '{"perTransaction":1}' } })
  await addDelegation(world, { customerPartyId, agentPartyId, agentId, permissions: JSON.stringify(delegable) })
  const counterparty = { type: 'party_id', value: shop.partyId }
  await createAt(on, '/payments', { amount: reviewedCents, counterparty, customerPartyId }, agentKey)
  const { data } = (await world.get(`/approvals?customerPartyId=${customerPartyId}`, { key: agentKey })).json
  return { approvalId: data[0].id }
}

export const pendingSubscription: Maker = async (on, place) => ({ subscriptionId: await subscribe(on, place) })
export const activeSubscription: Maker = async (on, place) => {
  const subscriptionId = await subscribe(on, place)
  await createAt(on, `/simulations/subscriptions/${subscriptionId}/checkout`, { card: 'approves' }, place.apiKey)
  return { subscriptionId, paymentNumber: '2' }
}

export const invitation: Maker = async (on, { agentId, apiKey }) => {
  const agents = [{ agentId, permissions: ['payments.read'] }]
  const attributes = { recipients: [{ type: 'email', value: unusedEmail() }], agents }
  return { invitationId: (await createAt(on, '/customers/invitations', attributes, apiKey))[0].id }
}

export const link: Maker = async (on, { agentId, apiKey }) => {
  const attributes = { name: 'Anyone', proposedAgents: [{ agentId, permissions: ['payments.read'] }] }
  return { linkId: (await createAt(on, '/customers/invitation-links', attributes, apiKey)).id }
}

export const agent: Maker = async (on, { apiKey }) => ({
  agentId: (await createAt(on, '/agents', { name: 'Clerk' }, apiKey)).id,
})
export const apiKey: Maker = async (on, place) => ({
  keyId: (await createAt(on, '/api-keys', { name: 'Spare', scopes: [] }, place.apiKey)).id,
})

export const agentKey: Maker = async (on, { agentId, apiKey: key }) => {
  const relationships = { agent: { data: { type: 'agent', id: agentId } } }
  const body = JSON.stringify({ data: { attributes: {}, relationships } })
  const answer = await on.world.send('POST', '/agent-keys', { key, body })
  if (answer.status >= 300) throw new Error(answer.text)
  return { keyId: answer.json.data.id }
}

export const application: Maker = async (on, { agentId, apiKey: key }) => {
  const relationships = { agent: { data: { type: 'agent', id: agentId } } }
  const body = JSON.stringify({ data: { attributes: { name: 'Worker' }, relationships } })
  const answer = await on.world.send('POST', '/applications', { key, body })
  if (answer.status >= 300) throw new Error(answer.text)
  return { applicationId: answer.json.data.id }
}

export const trustedIssuer: Maker = async (on, { agentId, apiKey: key }) => {
  const attributes = { ...trust, agents: [{ claim: 'sub', value: 'clerk', agentId }] }
  const answer = await on.world.post('/trusted-issuers', attributes, { key })
  if (answer.status >= 300) throw new Error(answer.text)
  return { trustedIssuerId: answer.json.data.id }
}

export const agentKeyAndAgent: Maker = async (on, place) => ({
  ...(await agentKey(on, place)),
  agentId: place.agentId,
})

/**
 * Returns the customer that a request is about. At `own`, this is the calling party itself. At `stranger`, it is a new
 * customer of the stranger. At `granted` and `ungranted`, it is a new customer of the calling party; at `ungranted`,
 * the customer grants only `uselessGrant`.
 */
export const customer: Maker = async ({ world, places }, place) => {
  if (place.name === 'own') return { customerId: place.partyId, agentId: place.agentId }
  const { partyId } = await addPlainParty(world)
  const { partyId: agentPartyId, agentId } = place.name === 'stranger' ? place : places.own
  const permissions = place.name === 'ungranted' ? { permissions: uselessGrant } : {}
  await addDelegation(world, { customerPartyId: partyId, agentPartyId, agentId, ...permissions })
  return { customerId: partyId, agentId }
}

/** Returns the party whose compliance case is requested. This is the party that `customer` returns. */
export const partyOfCase: Maker = async (on, place) => ({ partyId: (await customer(on, place)).customerId ?? '' })

/** Adds another user to the party. */
export const member: Maker = async ({ world }, { partyId }) => ({
  userId: (await addUserToken(world, partyId)).userId,
})

export const partyInvitation: Maker = async (on, { apiKey }) => {
  const invitations = [{ email: unusedEmail(), role: 'MEMBER' }]
  return { invitationId: (await createAt(on, '/party-invitations', { invitations }, apiKey))[0].id }
}

export const unusedHandle = () => `handle${counter++}`

/** Does something that the activity records. At `own`, the agent issues a card. At other places, the party pays. */
export const recordedAction: Maker = async (on, place) =>
  place.name === 'own'
    ? { resourceId: await issue(on, place), agentId: place.agentId }
    : { resourceId: (await payShop(on, place)).id, agentId: place.agentId }

/**
 * Pays a recipient without an account, who gets a message. At `own`, the agent pays. At other places, the party pays.
 */
export const paymentByEmail: Maker = async (on, place) => {
  const attributes = { amount: 10, counterparty: { type: 'email', value: unusedEmail() } }
  const isOwn = place.name === 'own'
  return { resourceId: (await createAt(on, '/payments', attributes, isOwn ? place.agentKey : place.apiKey)).id }
}

/** Replaces ids by well-formed ids of records that don't exist. */
export function missing({ world: { system } }: Grounds, ids: Ids): Ids {
  const unknown = (id: string) => (id.includes('_') ? newId(id.slice(0, 3), system, system.now()) : id)
  return Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, unknown(id)]))
}

/** Creates a webhook, or reuses one if the party has at least three, because a party can have at most 100 webhooks. */
export const webhook: Maker = async (on, { apiKey }) => {
  const found = (await on.world.get('/webhooks?status=ENABLED&limit=3', { key: apiKey })).json.data
  if (found.length === 3) return { webhookId: found[0].id }
  const attributes = { url: 'https://hooks.example.com/in', enabledEvents: ['*'] }
  return { webhookId: (await createAt(on, '/webhooks', attributes, apiKey)).id }
}
export const webhookWithPendingDelivery: Maker = async (on, place) => {
  const { webhookId } = await webhook(on, place)
  await sendTestEvent(on, String(webhookId), place)
  return { webhookId: String(webhookId) }
}
export const testEvent: Maker = async (on, place) => {
  const { webhookId } = await webhook(on, place)
  return { eventId: await sendTestEvent(on, String(webhookId), place) }
}

async function sendTestEvent({ world }: Grounds, webhookId: string, { apiKey }: Place): Promise<string> {
  const answer = await world.send('POST', `/webhooks/${webhookId}/test`, { key: apiKey })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json.data.id
}
