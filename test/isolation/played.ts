import { delegable } from '../../src/core/permissions.ts'
import { savePassword } from '../../src/service/store/passwords.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import type { Catalogue, OperationKey } from '../../tools/index.ts'
import type { PersonSite } from '../pages/person-site.ts'
import { type Answer, addDelegation, addKey, addPlainParty, type Sent } from '../support/world.ts'

/** The kinds of account that a party can have; `nobody` means no account. An account makes the party self-managed. */
export const accounts = ['an API key', 'a user with a password', 'nobody'] as const

export type AccountKind = (typeof accounts)[number]

/** The party that a simulation acts for. */
export interface Played {
  partyId: string
  email: string
  /** The party's user, if it has one. */
  user: UserRow | undefined
}

/** The party that sends the simulation, and its agent. */
export interface Player {
  partyId: string
  agentId: string
  agentKey: string
  apiKey: string
}

export interface Stage {
  site: PersonSite
  player: Player
  played: Played
}

/** Prepares a simulation of the played party, and returns the request that the player then sends. */
export type Play = (stage: Stage) => Promise<{ path: string; attributes?: object }>

let people = 0

/** Creates a funded party with an account of the given kind. */
export async function addPlayed({ world, addUser }: PersonSite, kind: AccountKind): Promise<Played> {
  const email = `played${people++}@example.com`
  const party = { partyType: 'PERSON', displayName: 'Ann', email } as const
  const { partyId: id } = await addPlainParty(world, { party })
  if (kind === 'an API key') await addKey(world, { partyId: id, agentId: null, scopes: [] })
  if (kind !== 'a user with a password') return { partyId: id, email, user: undefined }
  const user = await addUser({ partyId: id, role: 'OWNER', email })
  await world.store.transaction((tx) => savePassword(tx, { userId: user.id, hash: 'made$salt$hash' }))
  return { partyId: id, email, user }
}

const dataOf = (answer: Answer) => {
  if (answer.status >= 300) throw new Error(answer.text)
  return answer.json.data
}

/** Returns a function that sends a request with one of the player's keys. */
const postWith =
  (key: 'agentKey' | 'apiKey') =>
  async ({ site: { world }, player }: Stage, path: string, attributes: object, sent: Sent = {}) =>
    dataOf(await world.post(path, attributes, { key: player[key], ...sent }))
const postAsAgent = postWith('agentKey')
const postAsParty = postWith('apiKey')

async function connect({ site: { world }, player, played }: Stage, more: { limits?: string } = {}) {
  const { partyId: agentPartyId, agentId } = player
  await addDelegation(world, { customerPartyId: played.partyId, agentPartyId, agentId, ...more })
}

export async function invite(stage: Stage) {
  const { player, played } = stage
  const [invitation] = await postAsParty(stage, '/customers/invitations', {
    recipients: [{ type: 'party_id', value: played.partyId }],
    agents: [{ agentId: player.agentId, permissions: delegable }],
  })
  return invitation
}

/** Makes a payment for the played party. The payment needs this party's approval. Returns the id of the approval. */
async function newApproval(stage: Stage): Promise<string> {
  const { site, player, played } = stage
  await connect(stage, { limits: JSON.stringify({ perTransaction: 100 }) })
  const payee = { type: 'party_id', value: player.partyId }
  const acting = { amount: 500, counterparty: payee, customerPartyId: played.partyId }
  const { id } = await postAsAgent(stage, '/payments', acting)
  const path = `/approvals?customerPartyId=${played.partyId}`
  const list = dataOf(await site.world.get(path, { key: player.agentKey })) as {
    id: string
    attributes: { target: { id: string } }
  }[]
  return list.find(({ attributes }) => attributes.target.id === id)?.id ?? ''
}

export async function requestPayment(stage: Stage) {
  const payer = { type: 'party_id', value: stage.played.partyId }
  return postAsAgent(stage, '/payment-requests', { amount: 700, payer })
}

/** Pays to an email address that belongs to no party, and then makes it the address of the played party. */
export async function payUnknown(stage: Stage) {
  const value = `claims${people++}@example.com`
  const payment = await postAsAgent(stage, '/payments', { amount: 300, counterparty: { type: 'email', value } })
  await stage.site.world.store.transaction(async ({ db }) => {
    await db.updateTable('parties').set({ email: value }).where('id', '=', stage.played.partyId).execute()
  })
  return payment
}

type SimulationKey = {
  [K in OperationKey]: Catalogue[K]['path'] extends `/simulations/${string}` ? K : never
}[OperationKey]

/**
 * For each simulation that acts for another party, the request that does so. For each other simulation, a string that
 * says what it simulates. The compiler rejects a new simulation without an entry.
 */
export const simulations: Record<SimulationKey, Play | string> = {
  simulateInvitationAcceptance: async (stage) => ({
    path: `/simulations/customer-invitations/${(await invite(stage)).id}/accept`,
  }),
  simulateInvitationDecline: async (stage) => ({
    path: `/simulations/customer-invitations/${(await invite(stage)).id}/decline`,
  }),
  simulateAgentRevocation: async (stage) => {
    await connect(stage)
    return { path: `/simulations/customers/${stage.played.partyId}/agents/${stage.player.agentId}/revoke` }
  },
  simulateCustomerDisconnection: async (stage) => {
    await connect(stage)
    return { path: `/simulations/customers/${stage.played.partyId}/disconnect` }
  },
  simulateCustomerApproval: async (stage) => ({ path: `/simulations/approvals/${await newApproval(stage)}/approve` }),
  simulateCustomerDenial: async (stage) => ({ path: `/simulations/approvals/${await newApproval(stage)}/deny` }),
  simulatePaymentRequestFulfillment: async (stage) => ({
    path: `/simulations/payment-requests/${(await requestPayment(stage)).id}/fulfill`,
  }),
  simulatePaymentRequestDecline: async (stage) => ({
    path: `/simulations/payment-requests/${(await requestPayment(stage)).id}/decline`,
  }),
  simulatePaymentClaim: async (stage) => ({
    path: `/simulations/payments/${(await payUnknown(stage)).id}/complete-claim`,
  }),
  simulateComplianceDecision: async (stage) => {
    await connect(stage)
    const path = `/simulations/parties/${stage.played.partyId}/compliance`
    return { path, attributes: { status: 'rejected' } }
  },
  getSandboxClock: 'nothing: it only reads',
  advanceSandboxClock: 'time',
  setSandboxFault: 'the connections between programs',
  listSandboxFaults: 'nothing: it only reads',
  clearSandboxFaults: 'the connections between programs',
  resetSandbox: 'nothing: it manages the sandbox',
  saveSandbox: 'nothing: it manages the sandbox',
  listSandboxSnapshots: 'nothing: it only reads',
  restoreSandbox: 'nothing: it manages the sandbox',
  deleteSandboxSnapshot: 'nothing: it manages the sandbox',
  listSandboxMessages: 'nothing: it only reads',
  simulateCustomerInvitation: 'a new test customer without an account',
  fundSandboxWallet: 'the test bank, which only adds money',
  simulateBankAccountLink: 'the bank',
  simulateBankAccountDisconnection: 'the bank',
  simulateTransferSettlement: 'the bank',
  simulateTransferFailure: 'the bank',
  simulateTransferReturn: 'the bank',
  simulateCardAuthorization: 'a merchant that is not a party',
  simulateCardCapture: 'a merchant that is not a party',
  simulateCardReversal: 'a merchant that is not a party',
  simulateCardExpiration: 'a merchant that is not a party',
  simulateCardRefund: 'a merchant that is not a party',
  simulateSubscriptionCheckout: 'a payer who is not a party',
  simulateSubscriptionCard: 'a payer who is not a party',
  listShops: 'nothing: it only reads',
  getShop: 'nothing: it only reads',
  startShopCheckout: 'a shop that is not a party',
  payShopCheckout: 'a shop that is not a party',
  getShopOrder: 'nothing: it only reads',
  returnShopOrder: 'a shop that is not a party',
}
