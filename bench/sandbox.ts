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
  /** A request as a client would send it. */
  request(method: 'GET' | 'POST', path: string, attributes?: object): Request
  issueCard(): Promise<string>
  close(): Promise<void>
}

export const manyPerMinute = 1_000_000_000

export async function openSandbox(databaseUrl: string): Promise<Sandbox> {
  const store = await openStore({ url: databaseUrl, system: realSystem })
  const log = { debug() {}, info() {}, warn: console.warn, error: console.error }
  const environment = 'sandbox'
  const service = createService({ store, system: realSystem, environment, rateLimit: manyPerMinute, log })
  const { agentKey } = await service.seed({ apiKey: undefined, agentKey: `bench-${'x'.repeat(24)}` })
  const key = String(agentKey)
  let count = 0
  const request: Sandbox['request'] = (method, path, attributes) => {
    const headers: Record<string, string> = { Authorization: `Bearer ${key}`, 'X-Instance-ID': 'bench' }
    if (attributes === undefined) return new Request(`http://sandbox.invalid${path}`, { method, headers })
    headers['Content-Type'] = 'application/json'
    headers['Idempotency-Key'] = `bench ${process.pid} ${++count}`
    const body = JSON.stringify({ data: { attributes } })
    return new Request(`http://sandbox.invalid${path}`, { method, headers, body })
  }
  const issueCard = async () => {
    const response = await service.fetch(request('POST', '/agent-cards', cardAttributes))
    const text = await response.text()
    if (response.status !== 200) throw new Error(text)
    return JSON.parse(text).data.id as string
  }
  return { service, store, key, request, issueCard, close: () => store.close() }
}

export const cardAttributes = { merchant: { name: 'Books' }, maximumAmount: 100, currency: 'USD' } as const

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
