import { afterEach, beforeEach, expect, test } from 'vitest'
import { createMetrics } from '../../src/commands/metrics.ts'
import { createSite, type Site } from '../../src/commands/site.ts'
import { loadConfig } from '../../src/config/load.ts'
import { createService } from '../../src/service/service.ts'
import { initializeMessage } from '../mcp-http/hosting.ts'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

const address = 'http://127.0.0.1:4010'
const localCaller = { local: true, address: '127.0.0.1' }
const log = { debug() {}, info() {}, warn() {}, error() {} }
let world: World
let site: Site | undefined

beforeEach(async () => {
  world = await createWorld(sqlite)
})
afterEach(async () => {
  await site?.close()
  site = undefined
  await world.drop()
})

async function open(env: Record<string, string>): Promise<Site> {
  const { system, store } = world
  const config = loadConfig({ env })
  const metrics = config.metrics ? createMetrics() : undefined
  store.load = () => ({ waiting: 7, connections: 3, groups: 11, retries: 2 })
  const service = createService({
    ...{ store, system, environment: 'sandbox', rateLimit: 1e6, log },
    observe: metrics?.observe,
  })
  site = await createSite({ config, service, store, publicUrl: () => address, system, log, metrics })
  return site
}

const request = (path: string, { caller = localCaller, ...init }: RequestInit & { caller?: typeof localCaller } = {}) =>
  site?.fetch(
    new Request(`${address}${path}`, {
      ...init,
      headers: {
        Authorization: `Bearer ${world.agentKey}`,
        Accept: 'application/json, text/event-stream',
        'Content-Type': 'application/json',
        'X-Instance-ID': 'run 1',
        'Idempotency-Key': `key of ${path}`,
      },
    }),
    caller,
  ) as Promise<Response>

test('/metrics shows request counts and load, but nothing about callers and no data from requests', async () => {
  await open({ PAYMENTS_METRICS: 'true' })
  const card = { merchant: { name: 'Books' }, maximumAmount: 5432, currency: 'USD' }
  const issued = await request('/agent-cards', { method: 'POST', body: JSON.stringify({ data: { attributes: card } }) })
  const { data } = (await issued.json()) as { data: { id: string } }
  await request(`/agent-cards/${data.id}`)
  await request('/agent-cards/pcd_missing')
  for (const path of ['/nowhere', `/made-up/${data.id}`, '/healthz', '/constructor']) await request(path)
  await request('/mcp', { method: 'POST', body: JSON.stringify(initializeMessage()) })
  const response = await request('/metrics')
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const text = await response.text()
  const counted = text.match(/^payments_request_duration_seconds_count.*$/gm)
  expect(counted?.sort()).toEqual([
    'payments_request_duration_seconds_count{operation="get_agent_card",status="200"} 1',
    'payments_request_duration_seconds_count{operation="get_agent_card",status="404"} 1',
    'payments_request_duration_seconds_count{operation="issue_agent_card",status="200"} 1',
    'payments_request_duration_seconds_count{operation="mcp",status="200"} 1',
    'payments_request_duration_seconds_count{operation="other",status="200"} 1',
    'payments_request_duration_seconds_count{operation="other",status="404"} 3',
  ])
  for (const line of [
    'mcp_sessions 1',
    'mcp_streams 0',
    'failed_effects 0',
    'store_waiting 7',
    'store_connections 3',
    'store_groups_total 11',
    'store_retries_total 2',
  ]) {
    expect(text).toContain(`\npayments_${line}\n`)
  }
  for (const secret of [data.id, world.agentKey, 'Books', 'run 1', 'made-up']) expect(text).not.toContain(secret)
  // The amount must not appear, but a longer number, such as a memory size, may happen to contain the same digits.
  expect(text).not.toMatch(/(?<!\d)5432(?!\d)/)
})

test('/metrics is open only to local callers, and to nobody if metrics have a separate port or are off', async () => {
  const status = async (caller = localCaller) => (await request('/metrics', { caller })).status
  await open({ PAYMENTS_METRICS: 'true' })
  expect(await status()).toBe(200)
  expect(await status({ local: false, address: '127.0.0.1' })).toBe(404)
  await site?.close()
  await open({ PAYMENTS_METRICS: 'true', PAYMENTS_METRICS_PORT: '9464' })
  expect(await status()).toBe(404)
  await site?.close()
  await open({})
  expect(await status()).toBe(404)
})
