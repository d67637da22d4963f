import { expect } from 'vitest'
import { addParty, type World } from '../support/world.ts'
import { type Action, neededPermissions } from './actions.ts'
import * as banks from './banks.ts'
import * as money from './money.ts'
import * as people from './people.ts'
import * as requests from './requests.ts'
import {
  chosen,
  grantFor,
  type Limits,
  newParty,
  type Party,
  type Side,
  type State,
  type Step,
  withCustomers,
} from './state.ts'
import * as subscriptions from './subscriptions.ts'

type Performed = Exclude<Action['type'], 'pass' | 'act'>
const planners: { [T in Performed]: money.Planner<T> } = {
  ...money,
  ...banks,
  ...requests,
  ...subscriptions,
  ...people,
}

/** Adds two parties, each with these funds and an agent with these limits. */
export async function start(world: World, fundsCents: number, limits: Limits): Promise<State> {
  const partyOf = (side: Side) => startParty(world, side, fundsCents, limits)
  return { parties: [await partyOf(0), await partyOf(1)], requests: [], nowMs: world.system.now() }
}

async function startParty(world: World, side: Side, fundsCents: number, limits: Limits): Promise<Party> {
  const party = await addParty(world, { fundsCents })
  const { agentId, agentKey, apiKey } = party
  const limited = await world.send('PATCH', `/agents/${agentId}`, { key: apiKey, attributes: { limits } })
  expect(limited.status, limited.text).toBe(200)
  const active = { status: 'ACTIVE' } as const
  return {
    ...newParty(party, side, fundsCents, limits, world.system.now()),
    agents: [{ id: agentId, ...active }],
    agentKeys: [{ id: (await world.whoami(agentKey)).keyId, agentId, ...active }],
    apiKeys: [{ id: (await world.whoami(apiKey)).keyId, ...active }],
  }
}

/** Advances the model to this time and applies every effect that is due. */
export function passTo(state: State, nowMs: number): void {
  state.nowMs = nowMs
  requests.expireRequests(state)
  for (const party of state.parties) {
    for (const self of withCustomers(party)) {
      self.purchases.passTo(nowMs)
      banks.applyBankSteps(self, nowMs)
      subscriptions.bill(self, nowMs)
      self.moves.sort((one, other) => one.atMs - other.atMs)
    }
    for (const one of party.invitations) {
      if (one.status === 'PENDING' && nowMs >= one.expiresAtMs) one.status = 'EXPIRED'
    }
  }
}

/**
 * Applies an action to the service and to the model. Each request has a different time, because ids are sorted by
 * their time of creation.
 */
export async function perform(world: World, state: State, side: Side, action: Action): Promise<void> {
  world.system.pass(action.type === 'pass' ? action.minutes * 60_000 : 1)
  passTo(state, world.system.now())
  if (action.type === 'pass') return
  const self = state.parties[side]
  const step = action.type === 'act' ? actStep(self, action, state) : plan(self, action, state)
  if (step === undefined) return
  const data = await send(world, self, step)
  if (data === undefined) return
  step.done?.(data)
  await learnIds(world, self)
}

function plan(self: Party, action: Action & { type: Performed }, state: State): Step | undefined {
  return (planners[action.type] as money.Planner<unknown>)(self, action, state)
}

/** Returns the action's request for a customer. The agent's grant may not allow it. */
function actStep(self: Party, { pick, action }: Action & { type: 'act' }, state: State): Step | undefined {
  const customer = chosen(self.customers, pick, (one) => grantFor(self, one)?.status === 'ACTIVE')
  const grant = customer && grantFor(self, customer)
  if (customer === undefined || grant === undefined) return undefined
  const permission =
    action.type === 'transfer' && action.kind === 'withdrawal' ? 'wallets.withdraw' : neededPermissions[action.type]
  const isAllowed = grant.status === 'ACTIVE' && grant.permissions.includes(permission)
  const isPlayed =
    action.type === 'fund' || action.type === 'claim' || action.type === 'approve' || action.type === 'deny'
  // The agent cannot act as a customer that it may not read, and cannot see the customer's approvals.
  if (isPlayed && !isAllowed) return undefined
  const step = plan(customer.account, { ...action, by: 'agent' } as Action & { type: Performed }, state)
  if (step === undefined || (isPlayed && step.path.startsWith('/approvals//'))) return undefined
  const { path, attributes } = step
  const acting = isPlayed ? step : { ...step, attributes: { ...attributes, customerPartyId: customer.id } }
  const played = path.startsWith('/approvals/') ? `/simulations${path}` : path
  return { ...acting, path: played, by: 'agent', ...(isAllowed ? {} : { expected: 403 }) }
}

/** Requests that are not recorded under their key, so a repeat of them is a new request. */
const unrecorded =
  /complete-claim$|^\/customers|^\/agent-keys|^\/agents|^\/api-keys|^\/simulations\/customer-invitations/

async function send(
  world: World,
  self: Party,
  { method = 'POST', path, attributes, relationships, expected, by }: Step,
) {
  const body = attributes === undefined ? {} : { body: JSON.stringify({ data: { attributes, relationships } }) }
  const sent = { key: keyOf(self, by), idempotencyKey: `model ${keys++}`, ...body }
  const answer = await world.send(method, path, sent)
  const { data } = answer.json
  const status = typeof expected === 'number' ? expected : expected(data === undefined ? {} : { makes: data.id })
  expect(answer.status, `${method} ${path} ${JSON.stringify(attributes)}: ${answer.text}`).toBe(status)
  if (keys % 4 === 0 && method === 'POST' && status < 300 && !unrecorded.test(path)) {
    expect((await world.send(method, path, sent)).text, `${path} again`).toBe(answer.text)
  }
  return status < 300 ? data : undefined
}

let keys = 0

/** Reads the ids of approvals and of customers' wallets, which no answer contained. */
async function learnIds(world: World, self: Party): Promise<void> {
  const newest = async (path: string, key: string) => (await world.get(path, { key })).json.data[0]
  await nameApproval(self, () => newest('/approvals?limit=1', self.apiKey))
  for (const customer of self.customers) {
    const { id, account } = customer
    const grant = grantFor(self, customer)
    const mayRead = (what: string) => grant?.status === 'ACTIVE' && grant.permissions.includes(what)
    const query = `customerPartyId=${id}`
    if (account.walletId === '' && mayRead('wallets.read')) {
      account.walletId = (await newest(`/wallets?${query}`, self.agentKey)).id
    }
    if (mayRead('payments.read')) {
      await nameApproval(account, () => newest(`/approvals?limit=1&${query}`, self.agentKey))
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the answer's parts are read by name.
async function nameApproval({ approvals }: Party, newest: () => Promise<any>): Promise<void> {
  const last = approvals.at(-1)
  if (last === undefined || last.id !== '') return
  const { id, attributes } = await newest()
  expect(attributes.target.id).toBe(last.subject.id)
  last.id = id
}

export const keyOf = ({ agentKey, apiKey }: Party, by: 'agent' | 'party') => (by === 'agent' ? agentKey : apiKey)
