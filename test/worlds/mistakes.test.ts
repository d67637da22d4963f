import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createService } from '../../src/service/service.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import type { World } from '../../src/worlds/schema.ts'
import { readAllTables } from '../ledger/books.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { worldFromYaml } from './yaml-worlds.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }
const noSecrets = { apiKey: undefined, agentKey: undefined }

/** Returns a world in which the party Acme has an agent, money and the given fields. */
const acme = (fields: string) =>
  worldFromYaml(`
clock: 2026-03-15T12:00:00Z
parties:
  acme:
    wallets: { main: { balance: 10000 } }
    agents: { shopper: }
    ${fields}
  ann: { type: PERSON }`)

const card = (more: string) => `cards: [{ agent: shopper, merchant: Books, maximumAmount: 500, ${more} }]`
const cardWithPurchase = (more: string) => card(`issuedAt: -9d, expiresAt: -8d, purchases: [{ amount: 500, ${more} }]`)
const paid = (more: string) => `subscriptions: [{ description: News, amount: 1000, paidAt: 2026-01-20, ${more} }]`

describe('an impossible world', () => {
  const system = fakeSystem()
  let store: Store
  let drop: () => Promise<void>
  beforeEach(async () => ({ store, drop } = await sqlite.create(system)))
  afterEach(() => drop())

  it.each<[string, string]>([
    ['createdAt: +1d', 'createdAt must not be after 2026-03-15T12:00:00.000Z, when the world begins'],
    [card('expiresAt: -1d, issuedAt: -1d'), 'cards.0.expiresAt must be after issuedAt, 2026-03-14T12:00:00.000Z'],
    [
      card('frozenAt: -1d'),
      'cards.0.frozenAt must not be before 2026-03-15T12:00:00.000Z, got 2026-03-14T12:00:00.000Z',
    ],
    [
      card('issuedAt: -2h, frozenAt: -30m'),
      'cards.0.frozenAt could not happen at 2026-03-15T11:30:00.000Z: Only an active card can be frozen; this one is expired',
    ],
    [
      cardWithPurchase('at: -10d, status: captured'),
      'cards.0.purchases.0.at must not be before 2026-03-06T12:00:00.000Z, got 2026-03-05T12:00:00.000Z',
    ],
    [
      cardWithPurchase('status: authorized'),
      'cards.0.purchases.0.status must be reversed, because the hold lapsed at 2026-03-13T12:00:00.000Z, before the world begins',
    ],
    [
      cardWithPurchase('status: captured, endedAt: -1d'),
      'cards.0.purchases.0.endedAt must not be after 2026-03-13T12:00:00.000Z, when the hold lapsed',
    ],
    [
      cardWithPurchase('at: -7d, status: captured'),
      'cards.0.purchases.0.status must be declined (decline: single_use_card_expired). The card has expired. Issue a new card',
    ],
    [
      card('purchases: [{ amount: 501 }]'),
      "cards.0.purchases.0.status must be declined (decline: single_use_amount_over_maximum). The amount is above the card's maximum. Authorize less, or issue a card with a higher maximum",
    ],
    [
      card('issuedAt: -30m, frozenAt: -20m, purchases: [{ amount: 500, at: -10m }]'),
      'cards.0.purchases.0 could not happen at 2026-03-15T11:50:00.000Z: The card is frozen. Unfreeze it, then authorize again with a new idempotency key',
    ],
    [
      'payments: [{ to: ann, amount: 500, status: IN_REVIEW }]',
      'payments.0.status implies a review, but the payment exceeded no limit at 2026-03-15T12:00:00.000Z: set a lower limit, or give approval.reasons',
    ],
    [
      'payments: [{ to: ann, amount: 500, at: -1d, endedAt: -2d }]',
      'payments.0.endedAt must not be before 2026-03-14T12:00:00.000Z, got 2026-03-13T12:00:00.000Z',
    ],
    [
      'deposits: [{ amount: 10001 }]',
      'wallets.0.balance must be at least 10001 ($100.01), given the events in the file',
    ],
    [
      'subscriptions: [{ description: News, amount: 10 }]',
      'subscriptions.0 amount must be 50 to 99999999 cents (a card payment is $0.50 to $999,999.99), got 10 ($0.10)',
    ],
    [
      'subscriptions: [{ description: News, amount: 1000, paidAt: -1d, createdAt: -1h }]',
      'subscriptions.0.paidAt must not be before createdAt, which is 2026-03-15T11:00:00.000Z',
    ],
    [
      paid('history: [{ event: resumed, at: 2026-02-01 }]'),
      'subscriptions.0.history.0 could not happen at 2026-02-01T00:00:00.000Z: A subscription that is active does not allow resume: its status must be needs_attention',
    ],
    [
      paid('history: [{ event: canceled, at: 2026-02-02 }, { event: canceled, at: 2026-02-01 }]'),
      'subscriptions.0.history.1.at must not be before 2026-02-02T00:00:00.000Z, got 2026-02-01T00:00:00.000Z',
    ],
    [
      'invitations: [{ to: ann, agent: shopper, expiresAt: -1d }]',
      'invitations.0.expiresAt must be after the world begins (2026-03-15T12:00:00.000Z), because the invitation is PENDING',
    ],
    [
      'apiKeys: [{}, { secret: ak_ntl_sandbox_a-secret-of-another-kind }]',
      'apiKeys.1.secret must begin with sk_ntl_sandbox_, or have no prefix',
    ],
    [
      'apiKeys: [{ secret: one-secret-twice-in-the-file }, { secret: sk_ntl_sandbox_one-secret-twice-in-the-file }]',
      'apiKeys.1.secret is also the secret of another key in the file; each secret must be unique',
    ],
    ['createdAt: -500000d', 'createdAt must be in the years 1971 to 9995'],
    ['apiKeys: [{ expiresAt: +999999w }]', 'apiKeys.0.expiresAt must be in the years 1971 to 9995'],
  ])('a world is refused and nothing is stored if its party has %s', async (fields, reason) => {
    const before = await readAllTables(store)
    const service = createService({ store, system, environment: 'sandbox', rateLimit: 1_000, log, world: acme(fields) })
    await expect(service.seed(noSecrets)).rejects.toThrow(`The world is impossible: parties.0.${reason}.`)
    expect(await readAllTables(store)).toEqual(before)
  })

  it.each(['1970-12-31T23:59:59Z', '9996-01-01T00:00:00Z'])('a world clock of %s is refused', async (clock) => {
    const world = worldFromYaml(`{ clock: ${clock}, parties: { acme: } }`)
    const service = createService({ store, system, environment: 'sandbox', rateLimit: 1_000, log, world })
    await expect(service.seed(noSecrets)).rejects.toThrow('clock must be in the years 1971 to 9995')
  })
})

onEachDatabase('the world of a database', (database) => {
  const system = fakeSystem()
  let store: Store
  let drop: () => Promise<void>
  beforeEach(async () => ({ store, drop } = await database.create(system)))
  afterEach(() => drop())

  const start = (world?: World) =>
    createService({ store, system, environment: 'sandbox', rateLimit: 1_000, log, world })
  const one = worldFromYaml('{ name: One, parties: { acme: { agents: { shopper: } } } }')
  const other = worldFromYaml('{ name: Other, parties: { acme: { agents: { shopper: } } } }')

  it('a service cannot start with a world other than the one in its database, and the error mentions both worlds', async () => {
    const seeded = await start(one).seed(noSecrets)
    expect(await start(one).seed(noSecrets)).toEqual({ ...seeded, isFirst: false })
    const both = /^The database has One \([0-9a-f]{16}\), but startup was given Other \([0-9a-f]{16}\)\. Start with/
    await expect(start(other).seed(noSecrets)).rejects.toThrow(both)
    await expect(start(other).localAgentKey()).rejects.toThrow(both)
    await expect(start().seed(noSecrets)).rejects.toThrow('was given the world of the package')
  })

  it("the default is the package's own world, even in a database from before worlds were recorded", async () => {
    await start().seed(noSecrets)
    await expect(start(one).seed(noSecrets)).rejects.toThrow('The database has the world of the package, but')
    await store.transaction(({ db }) => db.updateTable('world').set({ digest: null }).execute())
    await start().seed(noSecrets)
    await expect(start(one).seed(noSecrets)).rejects.toThrow('The database has the world of the package, but')
  })

  it('a secret given at startup replaces the one in the file; without either, a secret is derived', async () => {
    const secret = 'agent-key-of-the-file-0000'
    const world = worldFromYaml(`parties: { acme: { agents: { shopper: { keys: [{ secret: ${secret} }] } } } }`)
    const seeded = await start(world).seed(noSecrets)
    expect(seeded).toMatchObject({
      apiKey: expect.stringMatching(/^sk_ntl_sandbox_[0-9a-f]{64}$/),
      agentKey: `ak_ntl_sandbox_${secret}`,
      isFirst: true,
    })
    expect(await start(world).seed(noSecrets)).toEqual({ ...seeded, isFirst: false })
    const agentKey = 'agent-key-of-the-start-000'
    const again = await start(world).seed({ ...noSecrets, agentKey: agentKey })
    expect(again.agentKey).toBe(`ak_ntl_sandbox_${agentKey}`)
    expect((await start(world).seed(noSecrets)).agentKey).toBeNull()
  })

  it('a world may have no agent and no keys, but then there is no local agent key', async () => {
    const world = worldFromYaml('parties: { acme: { apiKeys: [] } }')
    expect(await start(world).seed(noSecrets)).toMatchObject({ apiKey: null, agentKey: null, hasKeys: false })
    expect(await start(world).seed(noSecrets)).toMatchObject({ apiKey: null, agentKey: null, hasKeys: false })
    await expect(start(world).localAgentKey()).rejects.toThrow('parties have no agent with a key')
  })

  it('the sandbox clock starts at the time in the world and runs on from there', async () => {
    const world = worldFromYaml('{ clock: 2020-02-29T12:00:00Z, parties: { acme: { agents: { shopper: } } } }')
    const service = start(world)
    const { apiKey } = await service.seed(noSecrets)
    system.pass(60_000)
    const headers = { Authorization: `Bearer ${apiKey}` }
    const answer = await service.fetch(new Request('http://sandbox.test/simulations/clock', { headers }))
    expect(((await answer.json()) as { data: { attributes: object } }).data.attributes).toMatchObject({
      now: '2020-02-29T12:01:00.000Z',
    })
  })
})
