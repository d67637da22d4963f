import { delegable } from '../src/core/permissions.ts'
import { newId, newSecret, realSystem, sha256 } from '../src/core/system.ts'
import { createService } from '../src/service/service.ts'
import { createAgent } from '../src/service/store/agents.ts'
import { createCredential } from '../src/service/store/credentials.ts'
import { openStore } from '../src/service/store/engine/open.ts'
import type { Store, Transaction } from '../src/service/store/engine/store.ts'
import { createParty } from '../src/service/store/parties.ts'
import { credentialPrefix } from '../src/service/tokens/secrets.ts'

/** The service in this process, on a seeded database. */
export type Sandbox = Awaited<ReturnType<typeof openSandbox>>

export const manyPerMinute = 1_000_000_000
const secret = `bench-${'x'.repeat(24)}`
export const agentKey = `ak_ntl_sandbox_${secret}`
/** The settings of a server whose seeded agent has the key `agentKey`. */
export const serverSettings = {
  PAYMENTS_LOG_LEVEL: 'error',
  PAYMENTS_RATE_LIMIT: String(manyPerMinute),
  PAYMENTS_SANDBOX_AGENT_KEY: secret,
}

/**
 * The number of idempotency keys created so far. Each key contains this number and the start time of the bench, so no
 * two keys are equal.
 */
let keyCount = 0

/**
 * Opens the service in this process, and seeds its database.
 * @param wrapStore wraps the store before the service uses it
 * @param keepsRuns whether the service records run entries
 */
export async function openSandbox(databaseUrl: string, wrapStore = (store: Store) => store, keepsRuns = true) {
  const store = wrapStore(await openStore({ url: databaseUrl, system: realSystem }))
  const log = { debug() {}, info() {}, warn: console.warn, error: console.error }
  const environment = 'sandbox'
  const system = realSystem
  const service = createService({ store, system, environment, rateLimit: manyPerMinute, log, keepsRuns })
  const seeded = await service.seed({ apiKey: secret, agentKey: secret })
  const [key, apiKey] = [String(seeded.agentKey), String(seeded.apiKey)]
  /** Returns a request with the key `bearer`, by default the key of the seeded agent. */
  const request = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, attributes?: object, bearer = key) => {
    const headers: Record<string, string> = { Authorization: `Bearer ${bearer}`, 'X-Instance-ID': 'bench' }
    if (method !== 'GET') headers['Idempotency-Key'] = `bench ${performance.timeOrigin} ${++keyCount}`
    if (attributes === undefined) return new Request(`http://sandbox.invalid${path}`, { method, headers })
    headers['Content-Type'] = 'application/json'
    const body = JSON.stringify({ data: { attributes } })
    return new Request(`http://sandbox.invalid${path}`, { method, headers, body })
  }
  const close = async () => {
    await service.runLog.flush()
    await store.close()
  }
  return { service, store, key, apiKey, request, close }
}

let issued = 0

/**
 * The attributes of a new card. Each read of the amount returns a different number, because an identical call would
 * count as a repeat.
 */
export const cardAttributes = {
  merchant: { name: 'Books' },
  get maximumAmount() {
    issued += 1
    return 100 + (issued % 1_000_000)
  },
  currency: 'USD',
} as const

/** A purchase of one cent, so that no wallet runs out of money. */
export const purchase = { amount: 1, currency: 'USD', merchant: { name: 'Books' } } as const

export async function issueCard(sandbox: Sandbox, key?: string): Promise<string> {
  return (await send(sandbox, 'POST', '/agent-cards', cardAttributes, key)).data.id
}

/** Authorizes the only purchase that a card allows. Returns the id of the purchase. */
export async function authorize(sandbox: Sandbox, cardId: string, key?: string): Promise<string> {
  const { data } = await send(sandbox, 'POST', `/simulations/agent-cards/${cardId}/authorize`, purchase, key)
  if (data.attributes.status !== 'authorized') throw new Error(JSON.stringify(data))
  return data.id
}

/**
 * Processes items, at most `limit` at a time, until the time is over or all items are done. Returns the number of items
 * per second.
 */
export async function rateWithin<Item>(
  milliseconds: number,
  limit: number,
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<number> {
  const startedAt = performance.now()
  let done = 0
  const worker = async () => {
    while (done < items.length && performance.now() - startedAt < milliseconds) await work(items[done++] as Item)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  return done / ((performance.now() - startedAt) / 1000)
}

/** Calls `work` `count` times, with at most `limit` calls at a time. Returns the number of calls per second. */
export function rateOf(count: number, limit: number, work: () => Promise<unknown>): Promise<number> {
  return rateWithin(Number.POSITIVE_INFINITY, limit, Array.from({ length: count }), work)
}

/** Sends a request and returns its answer. @throws Error if the request is refused */
export async function send(
  sandbox: Sandbox,
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  path: string,
  attributes?: object,
  key?: string,
  // biome-ignore lint/suspicious/noExplicitAny: each caller reads different fields of the answer.
): Promise<any> {
  const response = await sandbox.service.fetch(sandbox.request(method, path, attributes, key))
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${text}`)
  return JSON.parse(text)
}

/** An organization with one wallet and one agent. The agent pays with cards and has the key `key`. */
type Buyer = { partyId: string; agentId: string; key: string }

const manyCents = 1_000_000_000

/** Creates buyers directly in the store, because no operation creates an organization with an agent and its key. */
export async function makeBuyers({ store }: Sandbox, count: number): Promise<Buyer[]> {
  const buyers: Buyer[] = []
  for (let made = 0; made < count; made++) buyers.push(await store.transaction((tx) => makeBuyer(tx)))
  return buyers
}

async function makeBuyer(tx: Transaction): Promise<Buyer> {
  const createdAtMs = realSystem.now()
  const id = (prefix: string) => newId(prefix, realSystem, createdAtMs)
  const buyer = { partyId: id('pty'), agentId: id('agt') }
  const party = { id: buyer.partyId, partyType: 'ORG', displayName: 'Buyer', email: null } as const
  const wallet = await createParty(tx, realSystem, { ...party, issuedCardsEnabled: 1, createdAtMs }, manyCents)
  const agent = { id: buyer.agentId, partyId: buyer.partyId, name: 'Shopper', createdBy: null }
  await createAgent({ tx, system: realSystem, nowMs: createdAtMs }, agent, wallet.id, delegable)
  const key = `${credentialPrefix('agent_key', 'sandbox')}${newSecret(realSystem)}`
  const unused = {
    name: null,
    scopes: null,
    displayPrefix: '',
    seeded: 0,
    revokedAtMs: null,
    expiresAtMs: null,
  } as const
  const credential = { ...unused, ...buyer, id: id('agk'), kind: 'agent_key', createdAtMs } as const
  await createCredential(tx, { ...credential, secretHash: sha256(key) })
  return { ...buyer, key }
}

/**
 * Creates `count` unused cards for the agent with the key `key`, by issuing one card and copying its row. Returns their
 * ids.
 */
export async function makeCards(sandbox: Sandbox, count: number, key?: string): Promise<string[]> {
  const issued = await issueCard(sandbox, key)
  const cards: string[] = []
  while (cards.length < count) {
    cards.push(
      ...(await sandbox.store.transaction(async ({ db }) => {
        const row = await db.selectFrom('agentCards').selectAll().where('id', '=', issued).executeTakeFirstOrThrow()
        const rows = Array.from({ length: Math.min(500, count - cards.length) }, () => {
          return { ...row, id: newId('pcd', realSystem, row.createdAtMs) }
        })
        await db.insertInto('agentCards').values(rows).execute()
        return rows.map(({ id }) => id)
      })),
    )
  }
  return cards
}
