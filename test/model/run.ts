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

type PlannedType = Exclude<Action['type'], 'pass' | 'act'>
const planners: { [T in PlannedType]: money.Planner<T> } = {
  ...money,
  ...banks,
  ...requests,
  ...subscriptions,
  ...people,
}

/** Adds two parties to the service. Each gets the given funds, and an agent with the given limits. */
export async function start(world: World, fundsCents: number, limits: Limits): Promise<State> {
  const addSide = (side: Side) => startParty(world, side, fundsCents, limits)
  return { parties: [await addSide(0), await addSide(1)], requests: [], nowMs: world.system.now() }
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

/** Advances the model to the given time, and applies every due effect. */
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
    for (const invitation of party.invitations) {
      if (invitation.status === 'PENDING' && nowMs >= invitation.expiresAtMs) invitation.status = 'EXPIRED'
    }
  }
}

/**
 * Applies an action to the service and to the model. The clock advances before each action, because lists are sorted
 * by id, and only ids from different milliseconds have a predictable order.
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

function plan(self: Party, action: Action & { type: PlannedType }, state: State): Step | undefined {
  return (planners[action.type] as money.Planner<unknown>)(self, action, state)
}

/** Returns the request that carries out the action for a customer. A 403 is expected if the agent lacks permission. */
function actStep(self: Party, { pick, action }: Action & { type: 'act' }, state: State): Step | undefined {
  const customer = chosen(self.customers, pick, (one) => grantFor(self, one)?.status === 'ACTIVE')
  const grant = customer && grantFor(self, customer)
  if (customer === undefined || grant === undefined) return undefined
  const permission =
    action.type === 'transfer' && action.kind === 'withdrawal' ? 'wallets.withdraw' : neededPermissions[action.type]
  const isAllowed = grant.status === 'ACTIVE' && grant.permissions.includes(permission)
  const isSimulated =
    action.type === 'fund' || action.type === 'claim' || action.type === 'approve' || action.type === 'deny'
  // Skips simulations if the agent lacks the permission, or if the id of the approval is not yet known.
  if (isSimulated && !isAllowed) return undefined
  const step = plan(customer.account, { ...action, by: 'agent' } as Action & { type: PlannedType }, state)
  if (step === undefined || (isSimulated && step.path.startsWith('/approvals//'))) return undefined
  const { path, attributes } = step
  const acting = isSimulated ? step : { ...step, attributes: { ...attributes, customerPartyId: customer.id } }
  const simulatedPath = path.startsWith('/approvals/') ? `/simulations${path}` : path
  return { ...acting, path: simulatedPath, by: 'agent', ...(isAllowed ? {} : { expected: 403 }) }
}

/** The paths whose requests are not recorded under their idempotency key, so that a repeat counts as a new request. */
const unrecorded =
  /complete-claim$|^\/customers|^\/agent-keys|^\/agents|^\/api-keys|^\/simulations\/customer-invitations/

async function send(
  world: World,
  self: Party,
  { method = 'POST', path, attributes, relationships, expected, by }: Step,
) {
  const body = attributes === undefined ? {} : { body: JSON.stringify({ data: { attributes, relationships } }) }
  const options = { key: keyOf(self, by), idempotencyKey: `model ${requestCount++}`, ...body }
  const answer = await world.send(method, path, options)
  const { data } = answer.json
  const status = typeof expected === 'number' ? expected : expected(data === undefined ? {} : { makes: data.id })
  expect(answer.status, `${method} ${path} ${JSON.stringify(attributes)}: ${answer.text}`).toBe(status)
  if (requestCount % 4 === 0 && method === 'POST' && status < 300 && !unrecorded.test(path)) {
    expect((await world.send(method, path, options)).text, `${path} again`).toBe(answer.text)
  }
  return status < 300 ? data : undefined
}

let requestCount = 0

/** Reads the ids of approvals and of customers' wallets, because the answers to actions do not contain them. */
async function learnIds(world: World, self: Party): Promise<void> {
  const newest = async (path: string, key: string) => (await world.get(path, { key })).json.data[0]
  await learnApprovalId(self, () => newest('/approvals?limit=1', self.apiKey))
  for (const customer of self.customers) {
    const { id, account } = customer
    const grant = grantFor(self, customer)
    const isPermitted = (permission: string) => grant?.status === 'ACTIVE' && grant.permissions.includes(permission)
    const query = `customerPartyId=${id}`
    if (account.walletId === '' && isPermitted('wallets.read')) {
      account.walletId = (await newest(`/wallets?${query}`, self.agentKey)).id
    }
    if (isPermitted('payments.read')) {
      await learnApprovalId(account, () => newest(`/approvals?limit=1&${query}`, self.agentKey))
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: answers have no static type.
async function learnApprovalId({ approvals }: Party, newest: () => Promise<any>): Promise<void> {
  const last = approvals.at(-1)
  if (last === undefined || last.id !== '') return
  const { id, attributes } = await newest()
  expect(attributes.target.id).toBe(last.subject.id)
  last.id = id
}

export const keyOf = ({ agentKey, apiKey }: Party, by: 'agent' | 'party') => (by === 'agent' ? agentKey : apiKey)
