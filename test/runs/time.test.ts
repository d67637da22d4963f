import { afterAll, beforeAll, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { anotherProcess, createWorld, type World } from '../support/world.ts'
import { entriesOf, lastEntryOf, runOf, runsOf } from './stored-entries.ts'

const day = 86_400

onEachDatabase('run entries and the sandbox clock', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())
  const advance = (seconds: number, instanceId: string) =>
    world.post('/simulations/clock/advance', { seconds }, { key: world.apiKey, instanceId })

  test('the entry of an expired hold is in the run of its purchase, with the expiry as its time', async () => {
    const instanceId = 'lapsing'
    const cardId = await world.issueCard({}, { instanceId })
    const bought = await world.authorize(cardId, 1200, { instanceId })
    const { id, attributes } = bought.json.data
    expect((await advance(30 * day, instanceId)).status).toBe(200)
    const entries = await entriesOf(world, instanceId)
    const [, , moved, lapsed] = entries
    expect(moved).toMatchObject({ operation: 'advance_sandbox_clock', atMs: world.system.now() })
    expect(lapsed).toMatchObject({
      ...{ kind: 'happened', operation: 'released', outcome: 'happened', amountCents: 1200, status: null },
      ...{ agentId: entries[0]?.agentId, atMs: Date.parse(attributes.holdExpiresAt) },
      detail: { resourceIds: [id], postings: [{ sourceId: id }] },
    })
    expect(entries).toHaveLength(4)
    expect(await runOf(world, instanceId)).toMatchObject({ calls: 3, lastEntryId: lapsed?.id })
  })

  test('a due effect is recorded in the run of its purchase, not in that of the request that applies it', async () => {
    const instanceId = 'earlier'
    const cardId = await world.issueCard({}, { instanceId })
    await world.authorize(cardId, 300, { instanceId })
    world.system.pass(40 * day * 1000)
    const other = await world.issueCard({}, { instanceId: 'later' })
    expect(other).toBeDefined()
    expect((await lastEntryOf(world, 'later')).detail.postings).toBeUndefined()
    expect((await lastEntryOf(world, instanceId)).operation).toBe('released')
  })

  test('the entry of a declined purchase has no postings', async () => {
    const instanceId = 'declining'
    const cardId = await world.issueCard({ maximumAmount: 500 }, { instanceId })
    expect((await world.authorize(cardId, 600, { instanceId })).json.data.attributes.status).toBe('declined')
    const last = await lastEntryOf(world, instanceId)
    expect(last).toMatchObject({ outcome: 'declined' })
    expect(last.detail.postings).toBeUndefined()
    expect(await runOf(world, instanceId)).toMatchObject({ calls: 2, refused: 1 })
  })

  test('a request that waits for a change adds one entry, with its request id and the final outcome', async () => {
    const instanceId = 'waiting'
    const cardId = await world.issueCard({}, { instanceId })
    const waiting = world.get(`/agent-cards/${cardId}?waitSeconds=5`, { instanceId })
    const answer = await waiting
    const [, entry, ...others] = await entriesOf(world, instanceId)
    expect(others).toEqual([])
    expect(entry).toMatchObject({ operation: 'get_agent_card', outcome: 'done' })
    expect(entry?.supportId).toBe(answer.headers.get('x-request-id'))
    expect(entry?.ms).toBeGreaterThanOrEqual(5000)
  })

  test('a reset deletes all entries and adds its own; unwritten entries of other processes are dropped', async () => {
    await world.get('/whoami', { instanceId: 'before' })
    await entriesOf(world, 'before')
    const unwritten = await anotherProcess(world, world.system)
    await unwritten.get('/whoami', { instanceId: 'before' })
    const { partyId, agentId } = await unwritten.whoami()
    const entry = { partyId, agentId, instanceId: 'asked before', operation: 'create_payment' }
    unwritten.service.reportEntry({ ...entry, kind: 'question', outcome: 'asked' })
    unwritten.service.reportEntry({ ...entry, kind: 'decision', outcome: 'agreed' })
    const reset = await world.post('/simulations/reset', undefined, { key: world.apiKey, instanceId: 'resetting' })
    expect(reset.status).toBe(200)
    await unwritten.service.runLog.flush()
    await world.service.runLog.flush()
    const runs = await runsOf(world)
    expect(runs.map(({ instanceId }) => instanceId)).toEqual(['resetting'])
    expect(await lastEntryOf(world, 'resetting')).toMatchObject({
      ...{ operation: 'reset_sandbox', outcome: 'done' },
      atMs: Date.parse(reset.json.data.attributes.now),
    })
    await unwritten.drop()
    // The reset set the clock back. Nevertheless, entries of a process that starts later come after the reset's entry.
    world.system.pass(1)
    const later = await anotherProcess(world, world.system)
    await later.get('/whoami', { instanceId: 'resetting' })
    await later.service.runLog.flush()
    const operations = (await entriesOf(world, 'resetting')).map(({ operation }) => operation)
    expect(operations).toEqual(['reset_sandbox', 'whoami'])
    await later.drop()
  })

  test('two processes that write entries of the same runs simultaneously count each entry once', async () => {
    const other = await anotherProcess(world, world.system)
    const names = ['shared 1', 'shared 2', 'shared 3']
    const many = Array.from({ length: 30 }, (_, at) => String(names[at % names.length]))
    await Promise.all([world, other].flatMap((one) => many.map((instanceId) => one.get('/whoami', { instanceId }))))
    await Promise.all([world.service.runLog.flush(), other.service.runLog.flush()])
    for (const name of names) {
      expect(await runOf(world, name)).toMatchObject({ calls: 20, refused: 0 })
      const ids = (await entriesOf(world, name)).map(({ id }) => id)
      expect(new Set(ids).size).toBe(20)
    }
    await other.drop()
  })
})
