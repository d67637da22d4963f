import { realSystem } from '../src/core/system.ts'
import { createService, type Service } from '../src/service/service.ts'
import { openStore } from '../src/service/store/engine/open.ts'
import type { Store } from '../src/service/store/engine/store.ts'

/** The service in this process on a database that is seeded. */
export interface Sandbox {
  service: Service
  store: Store
  /** A key of the seeded agent's. */
  key: string
  /** The seeded party's, with every scope. */
  apiKey: string
  /** A request as a client would send it: the seeded agent, or whose key is given. */
  request(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, attributes?: object, key?: string): Request
  issueCard(key?: string): Promise<string>
  close(): Promise<void>
}

export const manyPerMinute = 1_000_000_000

/** Idempotency-Keys are never used again, neither on the next database nor by the next run on this one. */
let keys = 0

/**
 * @param through What the service works with in place of the store.
 * @param keepsRuns Whether it is kept what happens in runs.
 */
export async function openSandbox(
  databaseUrl: string,
  through = (store: Store) => store,
  keepsRuns = true,
): Promise<Sandbox> {
  const store = through(await openStore({ url: databaseUrl, system: realSystem }))
  const log = { debug() {}, info() {}, warn: console.warn, error: console.error }
  const environment = 'sandbox'
  const system = realSystem
  const service = createService({ store, system, environment, rateLimit: manyPerMinute, log, keepsRuns })
  const secret = `bench-${'x'.repeat(24)}`
  const seeded = await service.seed({ apiKey: secret, agentKey: secret })
  const [key, apiKey] = [String(seeded.agentKey), String(seeded.apiKey)]
  const request: Sandbox['request'] = (method, path, attributes, bearer = key) => {
    const headers: Record<string, string> = { Authorization: `Bearer ${bearer}`, 'X-Instance-ID': 'bench' }
    if (method !== 'GET') headers['Idempotency-Key'] = `bench ${performance.timeOrigin} ${++keys}`
    if (attributes === undefined) return new Request(`http://sandbox.invalid${path}`, { method, headers })
    headers['Content-Type'] = 'application/json'
    const body = JSON.stringify({ data: { attributes } })
    return new Request(`http://sandbox.invalid${path}`, { method, headers, body })
  }
  const issueCard = async (bearer = key) => {
    const response = await service.fetch(request('POST', '/agent-cards', cardAttributes, bearer))
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    return JSON.parse(text).data.id as string
  }
  const close = async () => {
    await service.runLog.flush()
    await store.close()
  }
  return { service, store, key, apiKey, request, issueCard, close }
}

let issued = 0

/** Another card each time that it is sent: an equal call would be taken for a repeat. */
export const cardAttributes = {
  merchant: { name: 'Books' },
  get maximumAmount() {
    issued += 1
    return 100 + (issued % 1_000_000)
  },
  currency: 'USD',
}

/** One cent, so that no wallet is ever empty. */
export const purchase = { amount: 1, currency: 'USD', merchant: { name: 'Books' } } as const

/** Has the card's one purchase authorized by the service in this process. */
export async function authorize(sandbox: Sandbox, cardId: string, key?: string): Promise<void> {
  const path = `/simulations/agent-cards/${cardId}/authorize`
  const response = await sandbox.service.fetch(sandbox.request('POST', path, purchase, key))
  const text = await response.text()
  if (!text.includes('"status":"authorized"')) throw new Error(text)
}

/** Calls `work` for each item with at most `limit` calls running at a time. */
export async function inFlight<Item>(
  limit: number,
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < items.length) await work(items[next++] as Item)
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
}

/** How many of `count` were done per second. */
export async function perSecond(count: number, work: () => Promise<void> | void): Promise<number> {
  const startedAt = performance.now()
  await work()
  return count / ((performance.now() - startedAt) / 1000)
}

/** How many items a second get done by so many at a time: as many of them as begin within the time, or all. */
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
