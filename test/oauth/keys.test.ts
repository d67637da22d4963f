import { decodeProtectedHeader } from 'jose'
import * as oauth from 'oauth4webapi'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createService } from '../../src/service/service.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { onEachDatabase, sqlite, type TestDatabase } from '../support/databases.ts'
import { type FakeSystem, fakeSystem } from '../support/fake-system.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Application, connect, transport } from './application.ts'
import { address } from './browser.ts'
import { createForger } from './forge.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

let world: World
let system: FakeSystem

/** Advances the service's clock and the library's clock together. */
function pass(ms: number): void {
  vi.setSystemTime(Date.now() + ms)
  system.pass(ms)
}

async function begin(database: TestDatabase): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
  system = fakeSystem({ now: Date.now() })
  world = await createWorld(database, { system })
}

afterEach(async () => {
  vi.useRealTimers()
  await world.drop()
})

type Fetching = Pick<World, 'service'>

/** Starts a second service on the same store, like another process of the same deployment. */
function startAnother(store: Store): Fetching {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  return { service: createService({ store, system, log, environment: 'sandbox', rateLimit: 1_000_000 }) }
}

async function readPublishedKids({ service }: Fetching = world): Promise<string[]> {
  const response = await service.fetch(new Request(`${address}/oauth/jwks`))
  return ((await response.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
}

async function statusOf(token: string, { service }: Fetching = world): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  return (await service.fetch(new Request(`${address}/whoami`, { headers }))).status
}

async function refreshTokens({ server, client }: Application, refreshToken: string, through: Fetching = world) {
  const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refreshToken, transport(through))
  const tokens = await oauth.processRefreshTokenResponse(server, client, response)
  return { access: tokens.access_token, refresh: String(tokens.refresh_token) }
}

const kidOf = (token: string) => decodeProtectedHeader(token).kid
const readStoredKids = () => world.store.transaction(({ db }) => db.selectFrom('signingKeys').select('kid').execute())

onEachDatabase('signing keys', (database) => {
  beforeEach(() => begin(database))

  test('sign for 30 days, verify for two more, and are then deleted', async () => {
    const { application, tokens } = await connect(world)
    const first = kidOf(tokens.access_token)
    expect(await readPublishedKids()).toEqual([first])
    pass(30 * dayMs - 5 * minuteMs)
    const before = await refreshTokens(application, tokens.refresh_token)
    expect(kidOf(before.access)).toBe(first)
    pass(11 * minuteMs)
    const after = await refreshTokens(application, before.refresh)
    expect(kidOf(after.access)).not.toBe(first)
    expect([await statusOf(before.access), await statusOf(after.access)]).toEqual([200, 200])
    expect(await readPublishedKids()).toEqual([kidOf(after.access), first])
    // The old key can no longer sign a valid token.
    const forger = await createForger(world, after.access)
    pass(2 * dayMs)
    const later = await refreshTokens(application, after.refresh)
    expect(kidOf(later.access)).toBe(kidOf(after.access))
    expect(await readPublishedKids()).toEqual([kidOf(after.access)])
    expect(await readStoredKids()).toEqual([{ kid: kidOf(after.access) }])
    const now = { iat: Math.floor(Date.now() / 1000), exp: Math.floor(Date.now() / 1000) + 60 }
    expect(await statusOf(await forger.sign(now))).toBe(200)
    expect(await statusOf(await forger.sign(now, { kid: String(first) }))).toBe(401)
  })

  test('are the same in all processes, which create the next key in time', async () => {
    const stores = [world.store]
    if (database.name === 'postgres') stores.push(await openStore({ url: world.url, system }))
    const [one, two] = [startAnother(stores[0] as Store), startAnother(stores.at(-1) as Store)]
    const [first, second] = await Promise.all([readPublishedKids(one), readPublishedKids(two)])
    expect(first).toHaveLength(1)
    expect(second).toEqual(first)
    const { application, tokens } = await connect(one)
    expect(await statusOf(tokens.access_token, two)).toBe(200)
    pass(30 * dayMs)
    const [third, fourth] = await Promise.all([readPublishedKids(one), readPublishedKids(two)])
    expect(third).toHaveLength(2)
    expect(fourth).toEqual(third)
    const next = await refreshTokens(application, tokens.refresh_token, two)
    expect(kidOf(next.access)).toBe(third[0])
    expect(await statusOf(next.access, one)).toBe(200)
    await Promise.all(stores.slice(1).map((store) => store.close()))
  })
})

describe('signing keys', () => {
  beforeEach(() => begin(sqlite))

  test('that are unknown are looked up at most once a second', async () => {
    const { tokens } = await connect(world)
    const forger = await createForger(world, tokens.access_token)
    let transactions = 0
    const counting: Store = {
      aside: (work) => world.store.aside(work),
      dialect: world.store.dialect,
      clock: world.store.clock,
      settling: world.store.settling,
      close: () => world.store.close(),
      read: (work) => {
        transactions += 1
        return world.store.read(work)
      },
      transaction: (work) => {
        transactions += 1
        return world.store.transaction(work)
      },
    }
    const other = startAnother(counting)
    const ask = async (kid: (count: number) => string) => {
      transactions = 0
      for (let count = 0; count < 20; count++) {
        expect(
          await statusOf(await forger.sign({ iss: 'https://elsewhere.example' }, { kid: kid(count) }), other),
        ).toBe(401)
      }
      return transactions
    }
    const ownKid = () => forger.ownKey.kid
    await ask(ownKid)
    const plain = await ask(ownKid)
    pass(2000)
    expect(await ask((count) => `unknown ${count}`)).toBe(plain + 1)
  })

  test('of another process are found when a token that such a key signed arrives', async () => {
    const { application, tokens } = await connect(world)
    const other = startAnother(world.store)
    expect(await statusOf(tokens.access_token, other)).toBe(200)
    pass(30 * dayMs)
    const next = await refreshTokens(application, tokens.refresh_token)
    expect(kidOf(next.access)).not.toBe(kidOf(tokens.access_token))
    expect(await statusOf(next.access, other)).toBe(200)
  })
})
