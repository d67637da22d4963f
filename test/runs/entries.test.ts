import { afterAll, beforeAll, expect, test } from 'vitest'
import { clearFaults, outcome, setFault } from '../faults/rules.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { entriesOf, lastEntryOf, runOf, runsOf } from './stored-entries.ts'

onEachDatabase('entries of runs', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  test('the entry of a call contains everything that the timeline shows', async () => {
    const instanceId = 'buying books'
    const cardId = await world.issueCard({ maximumAmount: 700 }, { instanceId })
    const answer = await world.authorize(cardId, 400, { instanceId })
    expect(answer.status).toBe(200)
    const [issued, bought] = await entriesOf(world, instanceId)
    const { partyId, agentId, keyId } = await world.whoami()
    expect(issued).toMatchObject({
      ...{ partyId, agentId, kind: 'call', operation: 'issue_agent_card', outcome: 'done', status: 200, code: null },
      ...{ amountCents: 700, fault: null, supportId: expect.stringMatching(/^req_/), atMs: world.system.now() },
      detail: { method: 'POST', path: '/agent-cards', keyId, actorType: 'agent', hasKey: true, resourceIds: [cardId] },
    })
    expect(issued?.detail.postings).toBeUndefined()
    expect(JSON.parse(String(issued?.detail.body)).data.attributes.merchant.name).toBe('Books')
    expect(bought).toMatchObject({
      ...{ operation: 'simulate_card_authorization', amountCents: 400, supportId: answer.headers.get('x-request-id') },
      detail: { resourceIds: [cardId, answer.json.data.id], postings: [{ sourceId: answer.json.data.id }] },
    })
    expect(JSON.parse(String(bought?.detail.answer))).toEqual(answer.json)
    const expectedRun = { partyId, instanceId, agentId, calls: 2, refused: 0 }
    expect(await runOf(world, instanceId)).toMatchObject(expectedRun)
    // The agent's party itself makes a call in the same run.
    await world.get('/whoami', { key: world.apiKey, instanceId })
    expect(await runOf(world, instanceId)).toMatchObject({ ...expectedRun, calls: 3 })
  })

  test('the entry of a repeated call refers to the original and tells whether the MCP server repeated it', async () => {
    const sent = { instanceId: 'repeating', idempotencyKey: 'once' }
    await world.issueCard({}, sent)
    await world.issueCard({}, sent)
    await entriesOf(world, 'repeating')
    await world.issueCard({}, { ...sent, headers: { 'X-MCP-Repeat': 'true' } })
    await world.issueCard({}, { instanceId: 'repeating', headers: { 'X-MCP-Repeat': 'true' } })
    const [first, replayed, repeated, other] = await entriesOf(world, 'repeating')
    expect(replayed).toMatchObject({ outcome: 'replayed', detail: { repeats: first?.supportId } })
    expect(repeated).toMatchObject({ outcome: 'repeated', detail: { repeats: first?.supportId } })
    expect(replayed?.detail.postings).toBeUndefined()
    expect(other).toMatchObject({ outcome: 'done' })
    expect(JSON.stringify([first, replayed])).not.toContain('"once"')
  })

  test('a refused call is recorded only if its credential is valid', async () => {
    const instanceId = 'refused'
    const refused = [
      await world.post('/agent-cards', { maximumAmount: -1 }, { instanceId }),
      await world.post('/agent-cards', {}, { instanceId, idempotencyKey: null }),
      await world.get('/agent-cards/pcd_00000000000000000000000000000000', { instanceId }),
      await world.post('/agents', { name: 'x' }, { instanceId }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([422, 400, 404, 403])
    const entries = await entriesOf(world, instanceId)
    expect(entries.map(({ outcome, status, code }) => [outcome, status, code])).toEqual(
      refused.map(({ status, json }) => ['refused', status, json.errors[0].code]),
    )
    expect(await runOf(world, instanceId)).toMatchObject({ calls: 4, refused: 4 })
    expect((await world.get('/whoami', { key: 'sk_ntl_test_nobody', instanceId })).status).toBe(401)
    expect((await world.get('/whoami', { instanceId: 'x'.repeat(1025) })).status).toBe(400)
    expect(await entriesOf(world, instanceId)).toHaveLength(4)
    expect((await lastEntryOf(world, null)).code).toBe('invalid_value')
  })

  test('a call that fails in the service has the outcome “failed”, and its run counts it as refused', async () => {
    const instanceId = 'failing'
    await setFault(world, { id: 'down', operation: 'list_wallets', fault: 'error', code: 'service_unavailable' })
    expect((await world.get('/wallets', { instanceId })).status).toBe(503)
    await clearFaults(world)
    expect(await lastEntryOf(world, instanceId)).toMatchObject({ outcome: 'failed', status: 503 })
    expect(await runOf(world, instanceId)).toMatchObject({ calls: 1, refused: 1 })
  })

  test('the entry of a call with an injected fault contains the fault rule and any postings of the call', async () => {
    const instanceId = 'unlucky'
    const cardId = await world.issueCard({}, { instanceId })
    const operation = 'simulate_card_authorization'
    await setFault(world, { id: 'gone', operation, fault: 'effect_then_lost' })
    expect(await outcome(world.authorize(cardId, 100, { instanceId, idempotencyKey: 'lost' }))).toBe('cut')
    await clearFaults(world)
    await setFault(world, { id: 'wrong', operation, fault: 'error', code: 'rate_limited' })
    expect(await outcome(world.authorize(cardId, 100, { instanceId }))).toBe('429 rate_limited')
    await clearFaults(world)
    await world.authorize(cardId, 100, { instanceId, idempotencyKey: 'lost' })
    const [, lost, wrong, replayed] = await entriesOf(world, instanceId)
    expect(lost).toMatchObject({
      ...{ outcome: 'unanswered', status: null, fault: 'effect_then_lost' },
      detail: { fault: { kind: 'effect_then_lost', ruleId: 'gone' }, postings: [{}] },
    })
    expect(wrong).toMatchObject({ outcome: 'refused', fault: 'error', detail: { fault: { ruleId: 'wrong' } } })
    expect(replayed).toMatchObject({ outcome: 'replayed', detail: { repeats: lost?.supportId } })
  })

  test.each([
    ['payments-mcp/1.2 (Claude%20Code/2.1)', 'Claude Code 2.1'],
    ['payments-mcp/1.2', 'payments-mcp'],
    ['curl/8.5.0', 'curl'],
    ['Mozilla/5.0 (X11; Linux)', 'Mozilla'],
    ['payments-mcp/1.2 (%E2%80%AEevil%0A<b>/1)', '<b>'],
    [`payments-mcp/1 (${'x'.repeat(3000)})`, '…'],
    ['4242424242424242', '[masked number]'],
    ['%%%', '%%%'],
  ])('a run shows the name of the calling program from its User-Agent header: %s', async (agent, host) => {
    await world.get('/whoami', { instanceId: agent.slice(0, 50), headers: { 'User-Agent': agent } })
    const run = await runOf(world, agent.slice(0, 50))
    expect(run.host).toContain(host)
    expect(run.host?.length).toBeLessThanOrEqual(80)
    expect(run.host).not.toMatch(/[\u202e\n]/)
  })

  test('runs are listed in the order of their latest calls, newest first', async () => {
    for (const instanceId of ['a', 'b', 'a']) await world.get('/whoami', { instanceId })
    const [first, second] = await runsOf(world)
    expect([first?.instanceId, second?.instanceId]).toEqual(['a', 'b'])
  })
})
