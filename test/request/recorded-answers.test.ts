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

  test('a recorded answer opens only with its Idempotency-Key, and equals the original byte for byte', async () => {
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
      for (const open of opened('another key')) expect(open).toThrow(/cannot be decrypted/)
    })
  })

  test('an answer is sealed only if it may contain a secret; sealing makes it over a third shorter', async () => {
    const cardId = await world.issueCard()
    const api = { key: world.apiKey }
    const subscription = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 1000, taxAmount: 0 }
    const webhook = { url: 'https://hooks.example/', enabledEvents: ['wallet.created'] }
    const secretAnswers = [
      await world.post(`/agent-cards/${cardId}/details-page`, undefined),
      await world.post('/subscriptions', subscription, api),
      await world.post('/webhooks', webhook, api),
      await world.post('/agent-cards', card),
    ]
    const plainAnswers = [
      await world.post('/agent-cards', { ...card, merchant: { name: 'Books' } }),
      await world.authorize(cardId, 100),
      await world.post('/agent-cards', { ...card, maximumAmount: -1 }),
    ]
    expect([...secretAnswers, ...plainAnswers].map(({ status }) => status)).toEqual([200, 200, 201, 200, 200, 200, 422])
    const rows = await world.store.read(({ db }) => db.selectFrom('idempotencyRecords').selectAll().execute())
    const stored = rows.map(({ answer }) => Buffer.from(answer ?? []).toString('utf8'))
    for (const { text } of plainAnswers) expect(stored).toContain(`:${text}`)
    for (const { text } of secretAnswers) expect(stored).not.toContain(`:${text}`)
    const sealed = rows.flatMap(({ answer }) =>
      answer === null || answer[0] === ':'.charCodeAt(0) ? [] : [answer.length],
    )
    expect(sealed.length).toBeGreaterThanOrEqual(secretAnswers.length)
    expect(Math.max(...sealed)).toBeLessThan(Math.max(...secretAnswers.map(({ text }) => text.length)) * (2 / 3))
  })
})
