import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Environment } from '../../src/core/operation.ts'
import { realSystem } from '../../src/core/system.ts'
import { createService } from '../../src/service/service.ts'
import { assignEnvironment, findEnvironment } from '../../src/service/store/deployment.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type FakeSystem, fakeSystem } from '../support/fake-system.ts'

const nothing = { apiKey: undefined, agentKey: undefined }
const log = { debug() {}, info() {}, warn() {}, error() {} }
const owner = { email: 'ada@example.com', name: 'Ada Goods' }

onEachDatabase('the environment of a database', (database) => {
  let store: Store
  let url: string
  let system: FakeSystem
  let drop: () => Promise<void>
  beforeEach(async () => {
    system = fakeSystem()
    ;({ store, url, drop } = await database.create(patient()))
  })
  afterEach(() => drop())

  /** Returns the fake system with a real `sleep`, so that stores really wait for locks. */
  const patient = () => ({ ...system, sleep: realSystem.sleep })

  const service = (environment: Environment, at = store) =>
    createService({ store: at, system, environment, rateLimit: 1_000, log })

  test('a database belongs to the first environment started with it, even if two start simultaneously', async () => {
    expect(await store.read(findEnvironment)).toBeUndefined()
    const other = await openStore({ url, system: patient() })
    const both = await Promise.all([assignEnvironment(store, 'sandbox'), assignEnvironment(other, 'production')])
    await other.close()
    expect(both[0]).toBe(both[1])
    expect(await assignEnvironment(store, both[0] === 'sandbox' ? 'production' : 'sandbox')).toBe(both[0])
  })

  test('a production database is empty until somebody creates its first party, which has an owner and no money', async () => {
    const { seed, createOwner, seedPassword, fetch } = service('production')
    expect(await seed(nothing)).toEqual({ apiKey: null, agentKey: null, isFirst: false, isEmpty: true, hasKeys: false })
    expect(await seedPassword(undefined)).toEqual({ email: null, password: null })
    const other = await openStore({ url, system: patient() })
    const results = await Promise.all([createOwner(owner), service('production', other).createOwner(owner)])
    await other.close()
    expect(results.sort()).toEqual([false, true])
    const { email, password } = await seedPassword(undefined)
    expect(email).toBe(owner.email)
    expect(await seedPassword(undefined)).toEqual({ email, password: null })
    expect(await seed(nothing)).toMatchObject({ apiKey: null, agentKey: null, isEmpty: false, hasKeys: false })
    const body = new URLSearchParams({ email: String(email), password: String(password) })
    const headers = { Origin: 'http://127.0.0.1:4010', 'Sec-Fetch-Site': 'same-origin' }
    const signedIn = await fetch(new Request('http://127.0.0.1:4010/sign-in', { method: 'POST', headers, body }))
    expect(signedIn.status).toBe(303)
    const rows = await store.transaction(async ({ db }) => ({
      parties: await db.selectFrom('parties').select(['displayName', 'email']).execute(),
      entries: await db.selectFrom('ledgerEntries').select('id').execute(),
      keys: await db.selectFrom('credentials').select('id').execute(),
      wallets: await db.selectFrom('wallets').select('availableCents').execute(),
    }))
    const party = { displayName: owner.name, email: owner.email }
    expect(rows).toEqual({ parties: [party], entries: [], keys: [], wallets: [{ availableCents: 0 }] })
  })

  test('a production database that is given keys at its first start has a party with these keys and no money', async () => {
    const secrets = { apiKey: 'api-secret-0123456789abcdef', agentKey: 'agent-secret-0123456789abcdef' }
    const { seed, createOwner, identify } = service('production')
    const seeded = await seed(secrets)
    expect(seeded).toMatchObject({ apiKey: `sk_ntl_prod_${secrets.apiKey}`, isEmpty: false, hasKeys: true })
    expect(await identify(String(seeded.agentKey))).toMatchObject({ agentId: expect.any(String) })
    expect(await createOwner(owner)).toBe(false)
    const cents = await store.read(({ db }) => db.selectFrom('wallets').select('availableCents').execute())
    expect(cents).toEqual([{ availableCents: 0 }])
  })
})
