import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { Purchases } from '../support/purchases.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { type Action, action } from './actions.ts'
import { type List, listsOf } from './lists.ts'
import * as money from './money.ts'
import * as people from './people.ts'
import { type State, type Step, settle } from './state.ts'

const planners: { [T in Action['type']]?: money.Planner<never> } = {
  issue: money.issue,
  authorize: money.authorize,
  capture: money.goOn,
  refund: money.goOn,
  reverse: money.goOn,
  expire: money.goOn,
  fund: money.fund,
  pay: money.pay,
  cancel: money.cancel,
  claim: money.claim,
  approve: money.decide,
  deny: money.decide,
  subscribe: money.subscribe,
  checkout: money.checkout,
  cancelSubscription: money.cancelSubscription,
  invite: people.invite,
  revoke: people.revoke,
  accept: people.accept,
  decline: people.decline,
  removeCustomer: people.removeCustomer,
  createAgent: people.createAgent,
  createApiKey: people.createApiKey,
  deleteAgent: people.deleteAgent,
  createAgentKey: people.createAgentKey,
  revokeAgentKey: people.revokeAgentKey,
  revokeApiKey: people.revokeApiKey,
}

const fundsCents = 100_000

onEachDatabase('lists and a model of them', (database) => {
  let world: World
  let runs = 0

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  test('agree after whatever was done, however they are filtered and paged', async () => {
    const actions = fc.array(action, { minLength: 30, maxLength: 50, size: 'max' })
    const limits = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 8, maxLength: 8 })
    const property = fc.asyncProperty(actions, limits, async (all, pageSizes) => {
      const party = await addParty(world, { fundsCents })
      const shop = await addParty(world, { fundsCents })
      const state = await started(party, shop)
      for (const one of all) await act(state, party, one)
      world.system.pass(1)
      settle(state, world.system.now())
      for (const list of listsOf(state)) await compare(list, party, pageSizes)
      const [wallet] = (await world.get('/wallets', { key: shop.apiKey })).json.data
      expect(wallet.attributes.balance.available).toBe(state.shopFunds)
    })
    await fc.assert(property, { numRuns: isDeep ? 20 : database === sqlite ? 2 : 1 })
  })

  async function started(party: OtherParty, shop: OtherParty): Promise<State> {
    const { partyId, agentId, walletId } = party
    const limited = { key: party.apiKey, attributes: { limits: { perTransaction: money.agentLimit } } }
    expect((await world.send('PATCH', `/agents/${agentId}`, limited)).status).toBe(200)
    const of = { partyId, agentId, walletId, shopPartyId: shop.partyId, run: runs++ }
    const nothing = { payments: [], approvals: [], moves: [], subscriptions: [] }
    const nobody = { invitations: [], customers: [], grants: [], joined: new Set<0 | 1>() }
    const active = { status: 'ACTIVE' } as const
    return {
      ...of,
      ...nothing,
      ...nobody,
      purchases: new Purchases(fundsCents, world.system.now()),
      shopFunds: fundsCents,
      agents: [{ id: agentId, ...active }],
      agentKeys: [{ id: (await world.whoami(party.agentKey)).keyId, agentId, ...active }],
      apiKeys: [{ id: (await world.whoami(party.apiKey)).keyId, ...active }],
    }
  }

  /** Does it in both; every request is at an instant of its own, so that ids sort as they were made. */
  async function act(state: State, party: OtherParty, one: Action): Promise<void> {
    world.system.pass(one.type === 'pass' ? one.minutes * 60_000 : 1)
    settle(state, world.system.now())
    const plan = planners[one.type] as money.Planner<Action> | undefined
    const step = plan?.(state, one, world.system.now())
    if (step === undefined) return
    const data = await send(step, party)
    if (data === undefined) return
    step.done?.(data)
    const unnamed = state.approvals.find(({ id }) => id === '')
    if (unnamed === undefined) return
    const [newest] = (await world.get('/approvals?limit=1', { key: party.apiKey })).json.data
    expect(newest.attributes.target.id).toBe(unnamed.payment.id)
    unnamed.id = newest.id
  }

  async function send(step: Step, party: OtherParty) {
    const { method = 'POST', path, attributes, relationships, expected, by } = step
    const body = attributes === undefined ? {} : { body: JSON.stringify({ data: { attributes, relationships } }) }
    const answer = await world.send(method, path, { key: by === 'agent' ? party.agentKey : party.apiKey, ...body })
    const { data } = answer.json
    const status = typeof expected === 'number' ? expected : expected(data === undefined ? {} : { makes: data.id })
    expect(answer.status, `${method} ${path} ${JSON.stringify(attributes)}: ${answer.text}`).toBe(status)
    return status < 300 ? data : undefined
  }

  async function compare({ path, query, by, show, expected }: List, party: OtherParty, sizes: number[]) {
    const key = by === 'agent' ? party.agentKey : party.apiKey
    const what = `${path} ${JSON.stringify(query ?? {})} by the ${by}`
    const get = async (more: Record<string, string>) => {
      const answer = await world.get(`${path}?${new URLSearchParams({ ...query, ...more })}`, { key })
      expect(answer.status, `${what}: ${answer.text}`).toBe(200)
      return answer.json
    }
    const whole = await get({ limit: '100' })
    expect(whole.data.map(show), what).toEqual(expected)
    expect(whole.meta.pagination, what).toEqual({ hasMore: false, nextCursor: null })
    const walked: unknown[] = []
    let cursor: string | null = null
    for (let page = 0; page === 0 || cursor !== null; page++) {
      const limit = sizes[page % sizes.length] ?? 1
      const { data, meta } = await get({ limit: String(limit), ...(cursor === null ? {} : { cursor }) })
      const more = walked.length + limit < expected.length
      expect(data.length, `${what}, page ${page}`).toBe(more ? limit : expected.length - walked.length)
      walked.push(...data.map(show))
      cursor = meta.pagination.nextCursor
      expect([meta.pagination.hasMore, cursor !== null], `${what}, page ${page}`).toEqual([more, more])
    }
    expect(walked, `${what}, walked`).toEqual(expected)
  }
})
