import { afterAll, beforeAll, expect, test } from 'vitest'
import { realSystem, sha256 } from '../../src/core/system.ts'
import { createService } from '../../src/service/service.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { proveBooks, readBooks } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { createWorld, secrets, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'
import { expectFirst, expectReplay, isReplay } from './replays.ts'

const many = isDeep ? 1000 : 150
const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }

onEachDatabase('idempotency of simultaneous requests', (database) => {
  let world: World
  let count = 0
  const newKey = () => `idempotency ${count++}`

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  test('of many equal requests with one key, one has an effect; the rest get its answer or a conflict', async () => {
    const cardId = await world.issueCard()
    const before = await readBooks(world.store)
    const sent = { idempotencyKey: newKey() }
    const answers = await Promise.all(Array.from({ length: many }, () => world.authorize(cardId, 100, sent)))
    const after = await proveBooks(world.store)
    expect(after.entries.length - before.entries.length).toBe(2)
    expect(after.transactions.length - before.transactions.length).toBe(1)
    expect(after.keys - before.keys).toBe(1)
    const effects = answers.filter((answer) => answer.status === 200 && !isReplay(answer))
    expect(effects).toHaveLength(1)
    for (const answer of answers) {
      if (answer.status === 200) expect(answer.text).toBe(effects[0]?.text)
      else expectRefusal(answer, 'conflict', { retryable: true })
    }
    expectReplay(await world.authorize(cardId, 100, sent), effects[0])
  })

  test('of 50 different requests with one key, one has an effect; the rest get a conflict', async () => {
    const cards = await Promise.all(Array.from({ length: 50 }, () => world.issueCard()))
    const sent = { idempotencyKey: newKey() }
    const answers = await Promise.all(cards.map((cardId) => world.authorize(cardId, 100, sent)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) expect(answer.status).toBe(409)
    await proveBooks(world.store)
  })

  // SQLite has only one writer, so no repeat can run at the same time as the original.
  test.runIf(database.name === 'postgres')('a repeat while the original runs gets a conflict at once', async () => {
    const cardId = await world.issueCard()
    const { partyId } = await world.whoami()
    const sent = { idempotencyKey: newKey() }
    const { promise: end, resolve: finish } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const original = world.store.transaction(async (tx) => {
      expect(tx.claim(`idempotency ${partyId} ${sha256(sent.idempotencyKey)}`)).toBe(true)
      begin()
      await end
    })
    await begun
    expectRefusal(await world.authorize(cardId, 100, sent), 'conflict', { retryable: true })
    expectRefusal(await world.authorize(cardId, 200, sent), 'conflict', { retryable: true })
    expectFirst(await world.authorize(cardId, 100, { idempotencyKey: newKey() }))
    finish()
    await original
    expectFirst(await world.authorize(cardId, 100, sent))
  })

  test.runIf(database.name === 'postgres')(
    'a repeat while the original waits for the party’s lock is a conflict too',
    async () => {
      const cardId = await world.issueCard()
      const { partyId } = await world.whoami()
      const sent = { idempotencyKey: newKey() }
      const { promise: end, resolve: finish } = Promise.withResolvers<void>()
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      const lockHolder = world.store.transaction(async (tx) => {
        await tx.lockParty(partyId)
        begin()
        await end
      })
      await begun
      const both = [world.authorize(cardId, 100, sent), world.authorize(cardId, 100, sent)]
      expectRefusal(await Promise.race(both), 'conflict', { retryable: true })
      finish()
      await lockHolder
      const answers = await Promise.all(both)
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
      const original = answers.find(({ status }) => status === 200)
      expectReplay(await world.authorize(cardId, 100, sent), original)
    },
  )

  test('200 equal requests with one key, sent to two processes on the same database, have one effect', async () => {
    const { url, drop } = await database.createEmpty()
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const open = async () => {
      const store = await openStore({ url, system: realSystem })
      const options = { store, system: realSystem, environment: 'sandbox', rateLimit: 1e6, log } as const
      return { store, service: createService(options) }
    }
    const processes = [await open(), await open()]
    await processes[0]?.service.seed(secrets)
    const send = async (index: number) => {
      const headers = {
        Authorization: `Bearer ${world.agentKey}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': 'one',
        'X-Instance-ID': 'run 1',
      }
      const init = { method: 'POST', headers, body: JSON.stringify({ data: { attributes: card } }) }
      const request = new Request('http://sandbox.test/agent-cards', init)
      const response = await processes[index % 2]?.service.fetch(request)
      return { status: response?.status, text: await response?.text() }
    }
    const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => send(index)))
    const bodies = new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text))
    expect(bodies.size).toBe(1)
    for (const { status } of answers) expect([200, 409]).toContain(status)
    const { store } = processes[0] as (typeof processes)[number]
    const cards = await store.transaction(({ db }) => db.selectFrom('agentCards').select('id').execute())
    expect(cards).toHaveLength(1)
    for (const { store } of processes) await store.close()
    await drop()
  })
})
