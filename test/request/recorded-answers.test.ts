import { afterAll, beforeAll, expect, test } from 'vitest'
import { openedAnswer } from '../../src/service/request/recorded-answers.ts'
import { rootKeys } from '../../src/service/store/root-keys.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { expectReplay } from './replays.ts'

const card = { merchant: { name: 'Bücher' }, maximumAmount: 5000, currency: 'USD' }

onEachDatabase('recorded answers', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  test('open with the Idempotency-Key only, byte for byte', async () => {
    const sent = { idempotencyKey: 'the key' }
    const first = await world.post('/agent-cards', card, sent)
    expectReplay(await world.post('/agent-cards', card, sent), first)
    const { partyId } = await world.whoami()
    await world.store.transaction(async (tx) => {
      const keys = await rootKeys(tx)
      const rows = await tx.db.selectFrom('idempotencyRecords').selectAll().where('partyId', '=', partyId).execute()
      const opened = (key: string) =>
        rows.map(
          ({ answer }) =>
            () =>
              openedAnswer(keys, { partyId, key }, answer),
        )
      expect(opened(sent.idempotencyKey).map((open) => open())).toEqual([first.text])
      for (const open of opened('another key')) expect(open).toThrow(/does not open/)
    })
  })

  test('take less than two thirds of their length', async () => {
    const answers = [await world.post('/agent-cards', card), await world.authorize(await world.issueCard(), 100)]
    answers.push(await world.post('/agent-cards', { ...card, maximumAmount: -1 }))
    const rows = await world.store.read(({ db }) => db.selectFrom('idempotencyRecords').selectAll().execute())
    const lengths = rows.filter(({ answer }) => answer !== null).map(({ answer }) => answer?.byteLength ?? 0)
    expect(lengths.length).toBeGreaterThan(answers.length)
    expect(Math.max(...lengths)).toBeLessThan(Math.max(...answers.map(({ text }) => text.length)) * (2 / 3))
  })
})
