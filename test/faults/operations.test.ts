import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { faultKinds } from '../../src/core/faults.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { addDelegation, addParty, createWorld, type World } from '../support/world.ts'
import { clearFaults, counts, outcome, setFault } from './rules.ts'

const cut = { fault: 'reset' } as const

onEachDatabase('fault rules', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterEach(() => clearFaults(world))
  afterAll(() => world.drop())
  const list = async (key = world.apiKey) => (await world.get('/simulations/faults', { key })).json.data

  test('rules are listed in the order in which they were set, with their fields and counts', async () => {
    const when = { every: 2, times: 1, probability: 1, instanceId: 'run 1' }
    const first = await setFault(world, {
      id: 'first',
      operation: 'whoami',
      when,
      fault: 'slow',
      afterMs: 1,
      seed: 's',
    })
    const second = await setFault(world, { path: '/agents/*', fault: 'error', code: 'conflict' })
    expect(second.json.data.id).toMatch(/^flt_[0-9a-f]{32}$/)
    await world.get('/whoami')
    await world.get('/whoami')
    await world.get('/whoami')
    const [builtIn, ...ownRules] = await list()
    expect(builtIn).toMatchObject({ id: 'sandbox_unresolved', attributes: { origin: 'built_in', matched: null } })
    const counted = { ...first.json.data.attributes, matched: 3, hits: 1 }
    expect(ownRules).toEqual([{ ...first.json.data, attributes: counted }, second.json.data])
    expect(ownRules[0].attributes).toEqual({
      ...{ operation: 'whoami', path: null, merchant: null, when: { nth: null, ...when }, fault: 'slow', code: null },
      ...{ afterMs: 1, seed: 's', origin: 'operation', matched: 3, hits: 1 },
    })
  })

  test('setting a rule with the id of an earlier one replaces it at the same position and resets its counts', async () => {
    await setFault(world, { id: 'a', operation: 'whoami', ...cut })
    await setFault(world, { id: 'b', operation: 'whoami', fault: 'slow', afterMs: 0 })
    expect(await outcome(world.get('/whoami'))).toBe('cut')
    await setFault(world, { id: 'a', operation: 'whoami', fault: 'error', code: 'conflict' })
    expect(await counts(world)).toEqual({ a: [0, 0], b: [1, 0] })
    expect(await outcome(world.get('/whoami'))).toBe('409 conflict')
  })

  test('rules are cleared by id, or all at once', async () => {
    for (const id of ['a', 'b', 'c']) await setFault(world, { id, operation: 'whoami', ...cut })
    const clear = (query: string) => world.send('DELETE', `/simulations/faults${query}`, { key: world.apiKey })
    const idsOf = (data: { id: string }[]) => data.map(({ id }) => id)
    expect(idsOf((await clear('?faultId=b')).json.data)).toEqual(['b'])
    expect(await counts(world)).toEqual({ a: [0, 0], c: [0, 0] })
    const again = await clear('?faultId=b')
    expect([again.status, again.json.errors[0].code]).toEqual([404, 'not_found'])
    expect(idsOf((await clear('')).json.data)).toEqual(['a', 'c'])
    expect(await outcome(world.get('/whoami'))).toBe('200 one')
  })

  test('a rule for a run applies only to requests of the party that set it, including its agents’ requests for customers', async () => {
    const other = await addParty(world)
    const { agentId } = await world.whoami()
    if (agentId === null) throw new Error('The seeded key must be an agent key.')
    const customerPartyId = await world.customerPartyId()
    await addDelegation(world, {
      agentPartyId: (await world.whoami()).partyId,
      agentId,
      customerPartyId: other.partyId,
    })
    await setFault(world, { id: 'run', operation: '*', when: { instanceId: 'run 7' }, ...cut })
    const inRun = { instanceId: 'run 7' }
    expect(await outcome(world.get('/wallets', { ...inRun, key: other.agentKey }))).toBe('200 1')
    expect(await outcome(world.get('/wallets'))).toBe('200 1')
    expect(await outcome(world.get('/wallets', inRun))).toBe('cut')
    expect(await outcome(world.get(`/wallets?customerPartyId=${customerPartyId}`, inRun))).toBe('cut')
    expect(await counts(world)).toEqual({ run: [2, 2] })
  })

  test('each hit of a rule is an entry in the hash chain of the activity, but agents do not see it', async () => {
    await setFault(world, { id: 'lost', operation: 'issue_agent_card', fault: 'effect_then_lost', when: { nth: 1 } })
    const before = (await world.get('/activity')).json.data
    expect(await outcome(world.post('/agent-cards', card))).toBe('cut')
    const [issued, hit] = (await world.get('/activity', { key: world.apiKey })).json.data
    const { keyId } = await world.whoami()
    expect(hit.attributes).toMatchObject({
      ...{ operation: 'sandbox_fault', actorType: 'agent', agentId: null, keyId, instanceId: 'run 1' },
      ...{ resourceIds: ['lost', 'issue_agent_card'], result: { httpStatus: 200, code: 'effect_then_lost' } },
    })
    expect(issued.attributes).toMatchObject({ operation: 'issue_agent_card', previousHash: hit.attributes.hash })
    const seen = (await world.get('/activity')).json.data as { attributes: { operation: string } }[]
    expect(seen.length).toBe(before.length + 1)
    const entriesOfRun = (await world.get('/activity?instanceId=run%201')).json.data
    for (const { attributes } of [...seen, ...entriesOfRun]) expect(attributes.operation).not.toBe('sandbox_fault')
  })

  test('the rules of a file replace the rules of an earlier file', async () => {
    const { load } = world.service.faults
    await load([
      { operation: 'whoami', ...cut, when: { nth: 1 } },
      { id: 'x', path: '/wallets', ...cut },
    ])
    await setFault(world, { id: 'set', operation: 'whoami', fault: 'error', code: 'conflict' })
    expect(await outcome(world.get('/whoami'))).toBe('cut')
    expect(await counts(world)).toEqual({ 'file-1': [1, 1], x: [0, 0], set: [1, 0] })
    await load([{ id: 'y', operation: 'whoami', ...cut, when: { instanceId: 'run 1' } }])
    expect(await counts(world)).toEqual({ y: [0, 0], set: [1, 0] })
    // A rule from a file belongs to the first party, so it applies to a run of that party.
    expect(await outcome(world.get('/whoami'))).toBe('cut')
    await load([])
    expect(await outcome(world.get('/whoami'))).toBe('409 conflict')
  })

  test('rules with the same seed hit the same requests, about as often as their probability demands', async () => {
    const outcomesWith = async (seed: string) => {
      await setFault(world, { id: 'draw', operation: 'whoami', ...cut, seed, when: { probability: 0.3 } })
      const all: string[] = []
      for (let request = 0; request < 60; request++) all.push(await outcome(world.get('/whoami')))
      return all
    }
    const first = await outcomesWith('one')
    expect(await outcomesWith('one')).toEqual(first)
    expect(await outcomesWith('two')).not.toEqual(first)
    const share = first.filter((one) => one === 'cut').length / first.length
    expect(share).toBeGreaterThan(0.1)
    expect(share).toBeLessThan(0.5)
  })
})

const card = { merchant: { name: 'Books' }, maximumAmount: 500, currency: 'USD' }

describe('a fault rule', () => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(sqlite)
  })
  afterEach(() => clearFaults(world))
  afterAll(() => world.drop())

  test.each([
    [{ fault: 'reset' }, 'operation', /A rule needs an operation/],
    [{ operation: 'issue_agent_crad', fault: 'reset' }, 'operation', /Did you mean issue_agent_card\?/],
    [{ operation: 'set_sandbox_fault', fault: 'reset' }, 'operation', /no rule can make set_sandbox_fault fail/],
    [{ operation: 'whoami', fault: 'error' }, 'code', /code is required for the fault "error"/],
    [{ operation: 'whoami', fault: 'slow', code: 'conflict' }, 'code', /leave it out for "slow"/],
    [{ operation: 'whoami', fault: 'reset', afterMs: 5 }, 'afterMs', /leave it out for "reset"/],
    [{ operation: 'whoami', fault: 'reset', seed: '1' }, 'seed', /when.probability/],
    [{ operation: 'issue_agent_card', fault: 'stale' }, 'fault', /to operations that read/],
    [{ operation: 'whoami', fault: 'empty_page' }, 'fault', /to operations that list/],
    [{ id: 'sandbox_unresolved', operation: 'whoami', fault: 'reset' }, 'id', /an id that no built-in rule has/],
    [{ operation: 'whoami', fault: 'slow', afterMs: 120_001 }, 'afterMs', /120000/],
    [{ operation: 'whoami', fault: 'reset', when: { nth: 0 } }, 'when/nth', /1/],
    [{ path: 'wallets', fault: 'reset' }, 'path', /^path must be a path such as \/agent-cards\/\*, got "wallets"/],
    [{ operation: 'whoami', fault: 'break' }, 'fault', new RegExp(faultKinds.slice(0, 2).join('.*'))],
  ])('the rule %j is refused with an error at %s', async (rule, field, words) => {
    const { status, json } = await world.post('/simulations/faults', rule, { key: world.apiKey })
    expect([status, json.errors[0].source]).toEqual([422, { pointer: `/data/attributes/${field}` }])
    expect(json.errors[0].detail).toMatch(words)
  })

  test('an invalid rule in a file is refused with its index and the invalid field', async () => {
    const load = world.service.faults.load([
      { operation: 'whoami', ...cut },
      { id: 'file-1', operation: 'whoami', ...cut },
    ])
    await expect(load).rejects.toMatchObject({ name: 'FaultRuleError', index: 1, path: 'id' })
    expect(await counts(world)).toEqual({})
  })

  test('a rule beyond the limit of one hundred rules is refused', async () => {
    const many = Array.from({ length: 100 }, () => ({ operation: 'whoami', ...cut, when: { instanceId: 'nobody' } }))
    await world.service.faults.load(many)
    const { status, json } = await world.post(
      '/simulations/faults',
      { id: 'more', operation: 'whoami', ...cut },
      { key: world.apiKey },
    )
    expect([status, json.errors[0].code]).toEqual([409, 'conflict'])
    await expect(world.service.faults.load([...many, ...many])).rejects.toThrow('At most 100 rules are allowed.')
    await world.service.faults.load([])
  })

  test('rules are set, listed and cleared only by callers that manage the sandbox', async () => {
    const other = await addParty(world)
    for (const key of [other.apiKey, other.agentKey]) {
      const set = await world.post('/simulations/faults', { operation: '*', ...cut }, { key })
      expect([set.status, set.json.errors[0].code]).toEqual([403, 'forbidden'])
      expect((await world.get('/simulations/faults', { key })).status).toBe(403)
      expect((await world.send('DELETE', '/simulations/faults', { key })).status).toBe(403)
    }
    // The agents of the first party may also manage the sandbox, except in a rehearsal.
    await setFault(world, { id: 'mine', operation: 'whoami', ...cut }, { key: world.agentKey })
    await world.store.transaction(async ({ db }) => {
      await db.updateTable('world').set({ isRehearsal: 1 }).execute()
    })
    for (const request of [
      world.post('/simulations/faults', { operation: '*', ...cut }),
      world.get('/simulations/faults'),
      world.send('DELETE', '/simulations/faults'),
      world.get('/wallets', { headers: { 'X-Sandbox-Fault': 'reset' } }),
    ]) {
      expect((await request).status).toBe(403)
    }
    expect(await counts(world)).toEqual({ mine: [0, 0] })
    await world.store.transaction(async ({ db }) => {
      await db.updateTable('world').set({ isRehearsal: 0 }).execute()
    })
  })
})

test('in production, no faults can be injected', async () => {
  const world = await createWorld(sqlite, { environment: 'production' })
  for (const method of ['GET', 'POST', 'DELETE']) {
    expect((await world.send(method, '/simulations/faults', { key: world.apiKey })).status).toBe(404)
  }
  await world.service.faults.load([{ operation: '*', ...cut }])
  expect((await world.get('/whoami', { headers: { 'X-Sandbox-Fault': 'reset' } })).status).toBe(200)
  await world.drop()
})
