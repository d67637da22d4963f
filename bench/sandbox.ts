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
/** The settings of a server whose seeded agent has `agentKey`. */
export const serverSettings = {
  PAYMENTS_LOG_LEVEL: 'error',
  PAYMENTS_RATE_LIMIT: String(manyPerMinute),
  PAYMENTS_SANDBOX_AGENT_KEY: secret,
}

/** The number of idempotency keys so far. With the start time, it makes each key unique across databases and runs. */
let keyCount = 0

/**
 * Opens the service in this process on a seeded database.
 * @param wrapStore wraps the store
 * @param keepsRuns whether run entries are written
 */
export async function openSandbox(databaseUrl: string, wrapStore = (store: Store) => store, keepsRuns = true) {
  const store = wrapStore(await openStore({ url: databaseUrl, system: realSystem }))
  const log = { debug() {}, info() {}, warn: console.warn, error: console.error }
  const environment = 'sandbox'
  const system = realSystem
  const service = createService({ store, system, environment, rateLimit: manyPerMinute, log, keepsRuns })
  const seeded = await service.seed({ apiKey: secret, agentKey: secret })
  const [key, apiKey] = [String(seeded.agentKey), String(seeded.apiKey)]
  /** Returns a request that carries the seeded agent's key, or another key if one is given. */
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

/** Attributes that are different in each request, because an equal call would count as a repeat. */
export const cardAttributes = {
  merchant: { name: 'Books' },
  get maximumAmount() {
    issued += 1
    return 100 + (issued % 1_000_000)
  },
  currency: 'USD',
} as const

/** One cent, so that no wallet is ever empty. */
export const purchase = { amount: 1, currency: 'USD', merchant: { name: 'Books' } } as const

export async function issueCard(sandbox: Sandbox, key?: string): Promise<string> {
  return (await send(sandbox, 'POST', '/agent-cards', cardAttributes, key)).data.id
}

/** Authorizes the card's one purchase in this process. */
export async function authorize(sandbox: Sandbox, cardId: string, key?: string): Promise<string> {
  const { data } = await send(sandbox, 'POST', `/simulations/agent-cards/${cardId}/authorize`, purchase, key)
  if (data.attributes.status !== 'authorized') throw new Error(JSON.stringify(data))
  return data.id
}

/** Works on items, `limit` at a time, until the time is over. Returns how many were done per second. */
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

/** Makes `count` calls, `limit` at a time. Returns how many were done per second. */
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
  // biome-ignore lint/suspicious/noExplicitAny: answers of many kinds are read by name.
): Promise<any> {
  const response = await sandbox.service.fetch(sandbox.request(method, path, attributes, key))
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${text}`)
  return JSON.parse(text)
}

/** An organization with one wallet and one agent, which pays with cards. */
type Buyer = { partyId: string; agentId: string; key: string }

const manyCents = 1_000_000_000

/** Creates organizations in the store directly, because no operation creates one with an agent and its key. */
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

/** Returns unused cards of the key's agent. All of them are copies of one issued card. */
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
