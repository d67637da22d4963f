import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type World } from '../support/world.ts'
import { clearFaults, counts, outcome, setFault } from './rules.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 500, currency: 'USD' }

onEachDatabase('the header X-Sandbox-Fault', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterEach(() => clearFaults(world))
  afterAll(() => world.drop())
  const withFault = (fault: string) => ({ headers: { 'X-Sandbox-Fault': fault } })

  test('the header applies a fault to one request, takes precedence over rules, and is recorded in the activity', async () => {
    await setFault(world, { id: 'rule', operation: 'issue_agent_card', fault: 'reset' })
    const lost = { ...withFault('effect_then_lost'), idempotencyKey: 'lost by the header' }
    expect(await outcome(world.post('/agent-cards', card, lost))).toBe('cut')
    expect(await counts(world)).toEqual({ rule: [0, 0] })
    await clearFaults(world)
    const repeat = await world.post('/agent-cards', card, { idempotencyKey: 'lost by the header' })
    expect(repeat.headers.get('x-idempotency-replayed')).toBe('true')
    const [, hit] = (await world.get('/activity', { key: world.apiKey })).json.data.filter(
      (entry: { attributes: { operation: string } }) => !entry.attributes.operation.includes('faults'),
    )
    expect(hit.attributes.resourceIds).toEqual(['X-Sandbox-Fault', 'issue_agent_card'])
  })

  test.each([
    ['slow; afterMs=500', '200 one'],
    ['error; code=rate_limited', '429 rate_limited'],
    ['error; code=server_error', '500 server_error'],
    ['hang;afterMs=1', 'cut'],
    ['reset', 'cut'],
  ])('the header “%s” causes the outcome “%s”', async (fault, expected) => {
    const before = world.system.slept.length
    expect(await outcome(world.get('/whoami', withFault(fault)))).toBe(expected)
    const slept: Record<string, number> = { 'slow; afterMs=500': 500, 'hang;afterMs=1': 1 }
    const ms = slept[fault]
    expect(world.system.slept.slice(before)).toEqual(ms === undefined ? [] : [ms])
  })

  test('the fault "empty_page" empties a list, and the fault "stale" returns an earlier state if a rule has that fault', async () => {
    expect(await outcome(world.get('/wallets', withFault('empty_page')))).toBe('200 0')
    await setFault(world, { id: 'stale', operation: '*', fault: 'stale', when: { instanceId: 'nobody' } })
    const id = await world.issueCard()
    expect(await outcome(world.get(`/agent-cards/${id}`, withFault('stale')))).toBe('404 not_found')
    expect(await outcome(world.get(`/agent-cards/${id}`))).toBe('200 one')
  })

  test.each([
    ['', /must begin with one of error, slow/],
    ['sloww', /got "sloww"/],
    ['slow; afterMs=soon', /afterMs=… from 0 to 120000 milliseconds, got "afterMs=soon"/],
    ['slow; afterMs=120001', /from 0 to 120000/],
    ['slow; code=conflict', /got "code=conflict"/],
    ['error', /has the fault "error", which needs code=… with a code from the error table/],
    ['error; code=broken', /with a code from the error table/],
    ['error; code=constructor', /with a code from the error table, such as rate_limited, got "code=constructor"/],
    ['reset; afterMs=1', /no parameters with the fault reset/],
    ['empty_page', /does not apply to (get_wallet|whoami)\. Use one of: error/],
    ['stale', /Set a rule with that fault/],
  ])('the header %j is refused', async (fault, words) => {
    const { status, json } = await world.get('/whoami', withFault(fault))
    expect([status, json.errors[0].code, json.errors[0].source]).toEqual([
      ...[400, 'invalid_value'],
      { header: 'X-Sandbox-Fault' },
    ])
    expect(json.errors[0].detail).toMatch(words)
  })

  test('the header is accepted only from callers that manage the sandbox', async () => {
    const { apiKey } = await addParty(world)
    const { status, json } = await world.get('/whoami', { ...withFault('reset'), key: apiKey })
    expect([status, json.errors[0].code]).toEqual([403, 'forbidden'])
    // The service authenticates the caller before it considers the header.
    expect((await world.get('/whoami', { ...withFault('reset'), key: 'nobody' })).status).toBe(401)
  })
})
