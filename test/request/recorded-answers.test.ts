import { afterAll, beforeAll, expect, test } from 'vitest'
import { seal, sha256 } from '../../src/core/system.ts'
import { fingerprint } from '../../src/service/request/incoming.ts'
import { openedAnswer } from '../../src/service/request/recorded-answers.ts'
import { rootKeys } from '../../src/service/store/root-keys.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'
import { expectReplay } from './replays.ts'

const card = { merchant: { name: 'Bücher' }, maximumAmount: 5000, currency: 'USD' }

onEachDatabase('recorded answers', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  /** Makes the record what a version before wrote: whole hashes, and the answer as a text, sealed or not. */
  async function makeOlder(key: string, body: string): Promise<void> {
    const { partyId, agentId } = await world.whoami()
    const json = { data: { attributes: card } }
    const incoming = { method: 'POST', path: '/agent-cards', params: {}, query: new URLSearchParams() }
    const request = { ...incoming, headers: new Headers(), json, body: '' }
    const older = { key: sha256(key), fingerprint: fingerprint(request, agentId), body, answer: null }
    const { numUpdatedRows } = await world.store.transaction(({ db }) =>
      db
        .updateTable('idempotencyRecords')
        .set(older)
        .where('partyId', '=', partyId)
        .where('key', '=', Buffer.from(older.key.slice(0, 32), 'hex').toString('base64url'))
        .executeTakeFirstOrThrow(),
    )
    expect(numUpdatedRows).toBe(1n)
  }

  test.each(['sealed', 'plain'])('that an older version wrote, %s, replay byte for byte', async (form) => {
    const sent = { idempotencyKey: `older ${form}` }
    const first = await world.post('/agent-cards', card, sent)
    const { partyId } = await world.whoami()
    const { newestId, derive } = await world.store.transaction(rootKeys)
    const secret = derive(newestId, `recorded answer ${partyId} ${sent.idempotencyKey}`)
    const body = form === 'plain' ? first.text : `${newestId}.${seal(world.system, secret, first.text)}`
    await makeOlder(sent.idempotencyKey, body)
    expectReplay(await world.post('/agent-cards', card, sent), first)
    const other = await world.post('/agent-cards', { ...card, maximumAmount: 1 }, sent)
    expectRefusal(other, 'conflict', { source: { header: 'Idempotency-Key' } })
    // After the window the key is free again, and what it then answers counts.
    await world.post('/simulations/clock/advance', { seconds: 49 * 3600 })
    const second = await world.post('/agent-cards', card, sent)
    expect(second.text).not.toBe(first.text)
    expectReplay(await world.post('/agent-cards', card, sent), second)
  })

  test('open in every form there ever was', async () => {
    const of = { partyId: 'pty_1', key: 'a key' }
    const deflated = 'Ny4HBwcHBwcHBwcHBwdAlrkwesrekSeSWbvqWRWheMdgMQh4d0poAHUfxgaIiJLDjpmgxfhFnXbEqRtNYruotw'
    await world.store.transaction(async (tx) => {
      await tx.db.insertInto('rootKeys').values({ id: 7, secret: 'of the test', createdAtMs: 0 }).execute()
      const answer = Buffer.from(deflated, 'base64url')
      const keys = await rootKeys(tx)
      expect(openedAnswer(keys, of, { body: null, answer })).toBe(
        '{"data":{"type":"agentCard","id":"pcd_1","attributes":{"status":"active","merchant":{"name":"Bücher"}},"relationships":{"party":{"data":{"type":"party","id":"pty_1"}}}}}',
      )
      expect(() => openedAnswer(keys, { ...of, key: 'b key' }, { body: null, answer })).toThrow(/does not open/)
      await tx.db.deleteFrom('rootKeys').where('id', '=', 7).execute()
    })
  })

  test('take less than half of their length', async () => {
    const answers = [await world.post('/agent-cards', card), await world.authorize(await world.issueCard(), 100)]
    answers.push(await world.post('/agent-cards', { ...card, maximumAmount: -1 }))
    const rows = await world.store.read(({ db }) => db.selectFrom('idempotencyRecords').selectAll().execute())
    const lengths = rows.filter(({ answer }) => answer !== null).map(({ answer }) => answer?.byteLength ?? 0)
    expect(lengths.length).toBeGreaterThan(answers.length)
    expect(Math.max(...lengths)).toBeLessThan(Math.max(...answers.map(({ text }) => text.length)) / 2)
  })
})
