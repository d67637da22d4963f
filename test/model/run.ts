import { expect } from 'vitest'
import { Purchases } from '../support/purchases.ts'
import { addParty, type World } from '../support/world.ts'
import type { Action } from './actions.ts'
import * as money from './money.ts'
import * as people from './people.ts'
import { type Limits, type Party, passTo, type Side, type State, type Step } from './state.ts'

const planners: { [T in Exclude<Action['type'], 'pass'>]: money.Planner<T> } = { ...money, ...people }

/** Adds two parties with as much money each, whose agents have the limits. */
export async function start(world: World, fundsCents: number, limits: Limits): Promise<State> {
  const partyOf = (side: Side) => startParty(world, side, fundsCents, limits)
  return { parties: [await partyOf(0), await partyOf(1)], nowMs: world.system.now() }
}

async function startParty(world: World, side: Side, fundsCents: number, limits: Limits): Promise<Party> {
  const party = await addParty(world, { fundsCents })
  const { agentId, agentKey, apiKey } = party
  const limited = await world.send('PATCH', `/agents/${agentId}`, { key: apiKey, attributes: { limits } })
  expect(limited.status, limited.text).toBe(200)
  const active = { status: 'ACTIVE' } as const
  return {
    ...party,
    ...{ side, fundsCents, limits, purchases: new Purchases(fundsCents, world.system.now()) },
    ...{ payments: [], approvals: [], moves: [], joined: new Set(), subscriptions: [] },
    ...{ invitations: [], customers: [], grants: [] },
    agents: [{ id: agentId, ...active }],
    agentKeys: [{ id: (await world.whoami(agentKey)).keyId, agentId, ...active }],
    apiKeys: [{ id: (await world.whoami(apiKey)).keyId, ...active }],
  }
}

/** Does it in the service and in the model. Each request is at an instant of its own, so that ids sort as they were made. */
export async function perform(world: World, state: State, side: Side, action: Action): Promise<void> {
  world.system.pass(action.type === 'pass' ? action.minutes * 60_000 : 1)
  passTo(state, world.system.now())
  if (action.type === 'pass') return
  const self = state.parties[side]
  const step = (planners[action.type] as money.Planner<unknown>)(self, action, state)
  if (step === undefined) return
  const data = await send(world, self, step)
  if (data === undefined) return
  step.done?.(data)
  const unnamed = self.approvals.find(({ id }) => id === '')
  if (unnamed === undefined) return
  const [newest] = (await world.get('/approvals?limit=1', { key: self.apiKey })).json.data
  expect(newest.attributes.target.id).toBe(unnamed.payment.id)
  unnamed.id = newest.id
}

async function send(
  world: World,
  self: Party,
  { method = 'POST', path, attributes, relationships, expected, by }: Step,
) {
  const body = attributes === undefined ? {} : { body: JSON.stringify({ data: { attributes, relationships } }) }
  const answer = await world.send(method, path, { key: keyOf(self, by), ...body })
  const { data } = answer.json
  const status = typeof expected === 'number' ? expected : expected(data === undefined ? {} : { makes: data.id })
  expect(answer.status, `${method} ${path} ${JSON.stringify(attributes)}: ${answer.text}`).toBe(status)
  return status < 300 ? data : undefined
}

export const keyOf = ({ agentKey, apiKey }: Party, by: 'agent' | 'party') => (by === 'agent' ? agentKey : apiKey)
