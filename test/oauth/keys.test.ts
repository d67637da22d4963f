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

/** Advances the service's clock, and also `Date`, which the OAuth library uses as its clock. */
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

type HasService = Pick<World, 'service'>

/** Starts a new service on the given store, as a second process of the same deployment does. */
function startAnother(store: Store): HasService {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  return { service: createService({ store, system, log, environment: 'sandbox', rateLimit: 1_000_000 }) }
}

async function readPublishedKids({ service }: HasService = world): Promise<string[]> {
  const response = await service.fetch(new Request(`${address}/oauth/jwks`))
  return ((await response.json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
}

async function statusOf(token: string, { service }: HasService = world): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  return (await service.fetch(new Request(`${address}/whoami`, { headers }))).status
}

async function refreshTokens({ server, client }: Application, refreshToken: string, through: HasService = world) {
  const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refreshToken, transport(through))
  const tokens = await oauth.processRefreshTokenResponse(server, client, response)
  return { access: tokens.access_token, refresh: String(tokens.refresh_token) }
}

const kidOf = (token: string) => decodeProtectedHeader(token).kid
const readStoredKids = () => world.store.transaction(({ db }) => db.selectFrom('signingKeys').select('kid').execute())

onEachDatabase('signing keys', (database) => {
  beforeEach(() => begin(database))

  test('a key signs tokens for 30 days, verifies them for two more days, and is then deleted', async () => {
    const { application, tokens } = await connect(world)
    const first = kidOf(tokens.access_token)
    expect(await readPublishedKids()).toEqual([first])
    const forgerWithFirst = await createForger(world, tokens.access_token)
    expect(forgerWithFirst.ownKey.kid).toBe(first)
    pass(30 * dayMs - 5 * minuteMs)
    const before = await refreshTokens(application, tokens.refresh_token)
    expect(kidOf(before.access)).toBe(first)
    pass(11 * minuteMs)
    const after = await refreshTokens(application, before.refresh)
    expect(kidOf(after.access)).not.toBe(first)
    expect([await statusOf(before.access), await statusOf(after.access)]).toEqual([200, 200])
    expect(await readPublishedKids()).toEqual([kidOf(after.access), first])
    const forger = await createForger(world, after.access)
    pass(2 * dayMs)
    const later = await refreshTokens(application, after.refresh)
    expect(kidOf(later.access)).toBe(kidOf(after.access))
    expect(await readPublishedKids()).toEqual([kidOf(after.access)])
    expect(await readStoredKids()).toEqual([{ kid: kidOf(after.access) }])
    const now = { iat: Math.floor(Date.now() / 1000), exp: Math.floor(Date.now() / 1000) + 60 }
    expect(await statusOf(await forger.sign(now))).toBe(200)
    // The deleted key verifies no token, not even one that it really signed.
    expect(await statusOf(await forgerWithFirst.sign(now))).toBe(401)
  })

  test('two processes publish the same keys, even if both need a new key at the same time', async () => {
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

  test('tokens with unknown key ids cause at most one lookup of keys per second', async () => {
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
    const countTransactions = async (kid: (count: number) => string) => {
      transactions = 0
      for (let count = 0; count < 20; count++) {
        expect(
          await statusOf(await forger.sign({ iss: 'https://elsewhere.example' }, { kid: kid(count) }), other),
        ).toBe(401)
      }
      return transactions
    }
    const ownKid = () => forger.ownKey.kid
    await countTransactions(ownKid)
    const plain = await countTransactions(ownKid)
    pass(2000)
    expect(await countTransactions((count) => `unknown ${count}`)).toBe(plain + 1)
  })

  test('a process accepts a token that another process signed with a new key', async () => {
    const { application, tokens } = await connect(world)
    const other = startAnother(world.store)
    expect(await statusOf(tokens.access_token, other)).toBe(200)
    pass(30 * dayMs)
    const next = await refreshTokens(application, tokens.refresh_token)
    expect(kidOf(next.access)).not.toBe(kidOf(tokens.access_token))
    expect(await statusOf(next.access, other)).toBe(200)
  })
})
