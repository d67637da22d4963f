import { afterEach, beforeEach, expect, test } from 'vitest'
import { firstTampered } from '../../src/service/request/activity.ts'
import { clearedTables } from '../../src/service/store/schema/reset-scopes.ts'
import { findWorld, putWorld } from '../../src/service/store/world.ts'
import { maxSnapshots, sandboxSnapshots } from '../../tools/sandbox-snapshots.ts'
import { proveBooks } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { anotherProcess, createWorld, type World } from '../support/world.ts'
import { worldRows } from './rows.ts'

onEachDatabase('snapshots of the sandbox', (database) => {
  let world: World

  beforeEach(async () => {
    world = await createWorld(database)
  })

  afterEach(() => world.drop())

  const reset = (key = world.apiKey) => world.send('POST', '/simulations/reset', { key })
  const save = (name: string) => world.post('/simulations/snapshots', { name })
  const restore = (name: string) => world.send('POST', `/simulations/snapshots/${name}/restore`)
  const advance = (seconds: number) => world.post('/simulations/clock/advance', { seconds })
  const now = async () => (await world.get('/simulations/clock')).json.data.attributes.now as string
  const listedOperations = async (): Promise<string[]> =>
    (await world.get('/activity', { key: world.apiKey })).json.data.map(
      ({ attributes }: { attributes: { operation: string } }) => attributes.operation,
    )
  const expectIntact = async () => {
    const { partyId } = await world.whoami()
    expect(await world.store.transaction((tx) => firstTampered(tx, partyId))).toBeNull()
    await proveBooks(world.store)
  }

  test('a reset restores every row of the world, and adds itself as the first activity', async () => {
    const before = await worldRows(world.store)
    await world.authorize(await world.issueCard(), 1250)
    await advance(86_400)
    const answer = await reset()
    const attributes = { now: new Date(world.system.now()).toISOString(), snapshot: null }
    expect([answer.status, answer.json.data]).toEqual([200, { type: 'sandbox', id: 'sandbox', attributes }])
    expect(await worldRows(world.store)).toEqual(before)
    expect(await listedOperations()).toEqual(['reset_sandbox'])
    expect(await now()).toBe(attributes.now)
    await expectIntact()
    // The agent key still works.
    await world.authorize(await world.issueCard(), 1250)
    expect((await reset(world.agentKey)).status).toBe(200)
    expect(await worldRows(world.store)).toEqual(before)
  })

  test('a snapshot can be restored repeatedly, and the clock continues from the time of the snapshot', async () => {
    const cardId = await world.issueCard()
    await advance(60)
    const before = await worldRows(world.store)
    const snapshot = await save('a-card')
    expect(snapshot.json.data).toMatchObject({
      type: 'sandboxSnapshot',
      attributes: { name: 'a-card', now: await now() },
    })
    for (let time = 0; time < 2; time++) {
      await world.authorize(cardId, 1250)
      await advance(86_400 * 30)
      const answer = await restore('a-card')
      expect(answer.json.data.attributes).toEqual({ now: snapshot.json.data.attributes.now, snapshot: 'a-card' })
      expect(await worldRows(world.store)).toEqual(before)
      expect((await world.get(`/agent-cards/${cardId}`)).json.data.attributes.status).toBe('active')
      await expectIntact()
    }
    expect((await listedOperations())[0]).toBe('restore_sandbox')
    world.system.pass(5_000)
    expect(Date.parse(await now())).toBe(Date.parse(snapshot.json.data.attributes.now) + 5_000)
  })

  test('a reset of a world with a start time sets the clock to that time', async () => {
    const startsAtMs = Date.parse('2031-05-01T09:00:00Z')
    await world.store.transaction(async (tx) => {
      const current = await findWorld(tx)
      if (current !== undefined) await putWorld(tx, { ...current, startsAtMs })
    })
    world.system.pass(1_000)
    expect((await reset()).json.data.attributes.now).toBe('2031-05-01T09:00:00.000Z')
    world.system.pass(1_000)
    expect(await now()).toBe('2031-05-01T09:00:01.000Z')
  })

  test('a reset deletes the records of earlier requests, so idempotency keys can be used again', async () => {
    const sent = { idempotencyKey: 'the same' }
    const first = await world.issueCard({}, sent)
    await reset()
    for (const table of clearedTables) {
      // These tables contain the entry of the reset itself (test/runs/time.test.ts).
      if (['runs', 'runEntries', 'runMinutes'].includes(table)) continue
      expect(await world.store.transaction(({ db }) => db.selectFrom(table).selectAll().execute()), table).toEqual([])
    }
    // The idempotency key can be used again, even for a different request.
    const second = await world.issueCard({ maximumAmount: 100 }, sent)
    expect(second).not.toBe(first)
    expect((await world.get(`/agent-cards/${first}`)).status).toBe(404)
  })

  test('an effect that was due before a restore does not happen until it is due in the restored world', async () => {
    const purchase = (await world.authorize(await world.issueCard(), 1250)).json.data.id as string
    await save('held')
    await advance(8 * 86_400)
    await restore('held')
    await world.service.upkeep.once()
    expect((await world.get(`/card-transactions/${purchase}`)).json.data.attributes.status).toBe('authorized')
    await advance(8 * 86_400)
    expect((await world.get(`/card-transactions/${purchase}`)).json.data.attributes.status).toBe('reversed')
    await expectIntact()
  })

  test('the uses of a key before a reset no longer count after it', async () => {
    const lastUse = async () =>
      (await world.get('/agent-keys', { key: world.apiKey })).json.data[0].attributes.lastUsedAt as string | null
    await advance(3600)
    await world.get('/whoami')
    expect(await lastUse()).not.toBeNull()
    await reset()
    await world.service.upkeep.once()
    expect(await lastUse()).toBeNull()
  })

  test('a snapshot replaces one of the same name; snapshots are listed newest first and can be deleted', async () => {
    await save('one')
    world.system.pass(1_000)
    await save('two')
    world.system.pass(1_000)
    await world.issueCard()
    await save('one')
    const names = async () =>
      (await world.get('/simulations/snapshots')).json.data.map(
        (one: { attributes: { name: string } }) => one.attributes.name,
      )
    expect(await names()).toEqual(['one', 'two'])
    const page = await world.get('/simulations/snapshots?limit=1')
    const { nextCursor } = page.json.meta.pagination
    expect((await world.get(`/simulations/snapshots?limit=1&cursor=${nextCursor}`)).json.data[0].attributes.name).toBe(
      'two',
    )
    await reset()
    await restore('one')
    expect((await world.get('/agent-cards')).json.data).toHaveLength(1)
    expect((await world.send('DELETE', '/simulations/snapshots/one')).json.meta).toEqual({ deleted: true })
    expect(await names()).toEqual(['two'])
    const gone = await restore('one')
    expect([gone.status, gone.json.errors[0].detail]).toEqual([
      404,
      'There is no snapshot one. list_sandbox_snapshots lists all snapshots.',
    ])
    expect((await world.send('DELETE', '/simulations/snapshots/one')).status).toBe(404)
    expect(
      await world.store.read(({ db }) => db.selectFrom('snapshots').select('name').orderBy('id').execute()),
    ).toHaveLength(2)
  })

  test('the number, the total size and the names of snapshots are limited', async () => {
    await save('first')
    await world.store.transaction(async ({ db }) => {
      const { id: _, ...row } = await db
        .selectFrom('snapshots')
        .selectAll()
        .where('name', '=', 'first')
        .executeTakeFirstOrThrow()
      const more = Array.from({ length: maxSnapshots - 1 }, (_, at) => ({
        ...row,
        id: `snp_${at}`,
        name: `more-${at}`,
      }))
      await db.insertInto('snapshots').values(more).execute()
    })
    const refused = await save('one-more')
    expect([refused.status, refused.json.errors[0].detail]).toEqual([
      409,
      'There are already 100 snapshots, the most allowed. Delete one with delete_sandbox_snapshot, then save again. Nothing was saved.',
    ])
    await world.send('DELETE', '/simulations/snapshots/more-1')
    expect((await save('one-more')).status).toBe(200)
    await world.store.transaction(({ db }) => db.updateTable('snapshots').set({ characters: 3_000_000 }).execute())
    const large = await save('one-more')
    expect([large.status, large.json.errors[0].detail]).toEqual([
      409,
      expect.stringMatching(
        /^With this snapshot \(1 MiB\), all snapshots would take 28\d MiB; the most allowed is 256 MiB\. Delete/,
      ),
    ])
    expect((await restore('one-more')).status).toBe(200)
    for (const name of ['', 'a b', '.hidden', '(as filled)', 'a/b', 'x'.repeat(65), 'ä']) {
      expect([name, (await save(name)).json.errors?.[0].source]).toEqual([name, { pointer: '/data/attributes/name' }])
    }
    expect((await world.send('POST', '/simulations/snapshots/(as%20filled)/restore')).status).toBe(400)
  })

  test('production has no snapshots and no reset', async () => {
    const production = await createWorld(database, { environment: 'production' })
    for (const { method, path } of Object.values(sandboxSnapshots)) {
      const answer = await production.send(method, path.replace('{name}', 'one'), { key: production.apiKey })
      expect([path, answer.status]).toEqual([path, 404])
    }
    await production.drop()
  })

  test('a restore works after a restart with another agent key, and after the root keys are rotated', async () => {
    const cardId = await world.issueCard()
    await save('before')
    const { agentKey } = await world.service.seed({ apiKey: undefined, agentKey: 'another-secret-0123456789abcdef' })
    await world.service.rotateKeys()
    const key = String(agentKey)
    expect((await world.send('POST', '/simulations/snapshots/before/restore', { key })).status).toBe(200)
    expect((await world.get(`/agent-cards/${cardId}`, { key })).status).toBe(200)
    expect((await world.get('/whoami')).status).toBe(401)
    const { partyId } = await world.whoami(key)
    expect(await world.store.transaction((tx) => firstTampered(tx, partyId))).toBeNull()
    expect((await reset(key)).status).toBe(200)
    expect((await world.get('/whoami', { key })).status).toBe(200)
  })

  test('a reset in one process takes effect in another process immediately', async () => {
    const other = await anotherProcess(world, world.system)
    const cardId = await world.issueCard()
    expect((await other.get(`/agent-cards/${cardId}`)).status).toBe(200)
    await reset()
    expect((await other.get(`/agent-cards/${cardId}`)).status).toBe(404)
    const second = await other.issueCard()
    await other.send('POST', '/simulations/reset', { key: world.apiKey })
    expect((await world.get(`/agent-cards/${second}`)).status).toBe(404)
    await other.drop()
  })
})
