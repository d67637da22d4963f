import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { z } from 'zod'
import type { OperationDefinition } from '../src/core/operation.ts'
import { catalogue } from '../tools/index.ts'
import { growDatabase, whoami } from './growth-database.ts'
import type { Inputs } from './main.ts'
import { startPostgres } from './postgres-server.ts'
import { authorize, issueCard, openSandbox, rateOf, type Sandbox, send } from './sandbox.ts'
import { judge, measureMs, percentile, type Row, single } from './table.ts'

const smallRows = 10_000
/** The maximum number of rows in the large PostgreSQL database. Cloning more rows would take too long. */
const maxRowsOnPostgres = 1_000_000
const goal = { p50: 1.3, p99: 3 } as const
const samples = { write: 150, list: 100 } as const
/**
 * The maximum number of attempts at a comparison. A comparison that misses its goal is repeated, because other work on
 * the machine may have slowed down individual calls.
 */
const maxAttempts = 3

/**
 * Measures how much disk space a purchase takes, and compares how long calls take on a large and on a small database.
 */
export async function measureGrowth({ directory, rows, data }: Omit<Inputs, 'programs'>): Promise<Row[]> {
  const fileOf = async (count: number) => {
    const path = join(data ?? directory, `growth-${count}.sqlite`)
    if (!existsSync(path)) await growDatabase(`sqlite:${path}`, count)
    return `sqlite:${path}`
  }
  const table = await measureBytes(`sqlite:${join(directory, 'bytes.sqlite')}`)
  table.push(...(await measureSizes('SQLite', await fileOf(smallRows), await fileOf(rows), rows)))
  const server = await startPostgres(directory)
  try {
    table.push(...(await measureBytes(await server.createDatabase('bytes'))))
    const count = Math.min(rows, maxRowsOnPostgres)
    const [small, large] = [await server.createDatabase('small'), await server.createDatabase('large')]
    await growDatabase(small, smallRows)
    await growDatabase(large, count)
    table.push(...(await measureSizes('PostgreSQL', small, large, count)))
  } finally {
    await server.stop()
  }
  return table
}

const purchases = 2000
const maxBytes = { purchase: 16_000, authorization: 6_600 } as const

/**
 * Measures how many bytes an authorization takes on disk, and how many a whole purchase takes. A whole purchase means
 * issuing a card, authorizing an amount on it and capturing that amount.
 */
async function measureBytes(url: string): Promise<Row[]> {
  const sandbox = await openSandbox(url)
  const engine = url.startsWith('sqlite:') ? 'SQLite' : 'PostgreSQL'
  const cards: string[] = []
  const held: string[] = []
  const captured = { amount: 1, currency: 'USD' }
  const steps = [
    async () => void cards.push(await issueCard(sandbox)),
    async () => void held.push(await authorize(sandbox, cards.pop() ?? '')),
    () => send(sandbox, 'POST', `/simulations/card-transactions/${held.pop()}/capture`, captured),
  ]
  const bytes: number[] = []
  for (const step of steps) {
    const before = await sizeOf(url)
    await rateOf(purchases, 64, step)
    bytes.push(((await sizeOf(url)) - before) / purchases)
  }
  await sandbox.close()
  const row = (what: string, size: number, atMost: number) =>
    single(`bytes on disk, ${engine}, ${what}`, `${size.toFixed(0)} B`, judge(size, { atMost }, ' B'))
  const parts = bytes.map((size) => size.toFixed(0)).join(' + ')
  return [
    row('an authorization', bytes[1] ?? Number.NaN, maxBytes.authorization),
    row(
      `a purchase (issue, authorize, capture: ${parts})`,
      bytes.reduce((sum, size) => sum + size),
      maxBytes.purchase,
    ),
  ]
}

async function sizeOf(url: string): Promise<number> {
  if (url.startsWith('sqlite:')) {
    const database = new DatabaseSync(url.slice('sqlite:'.length))
    database.exec('pragma wal_checkpoint(truncate)')
    const sizes = database.prepare(
      'select page_size * (page_count - freelist_count) as bytes from pragma_page_size, pragma_page_count, pragma_freelist_count',
    )
    const bytes = Number(sizes.get()?.bytes)
    database.close()
    return bytes
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('vacuum')
    const sizes =
      "select sum(pg_total_relation_size(oid)) as bytes from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"
    return Number((await client.query(sizes)).rows[0].bytes)
  } finally {
    await client.end()
  }
}

interface Grown {
  sandbox: Sandbox
  /** The values for path parameters and filters in requests, by the name of the parameter or filter. */
  values: Readonly<Record<string, string>>
}

async function measureSizes(engine: string, smallUrl: string, largeUrl: string, rows: number): Promise<Row[]> {
  const against = `${engine}, ${rows.toLocaleString('en')} rows against ${smallRows.toLocaleString('en')}`
  const grown = { small: await openGrown(smallUrl), large: await openGrown(largeUrl) }
  try {
    const table = [
      rowOf(`authorize, ${against}`, await compareSizes(samples.write, grown, authorizeOne)),
      rowOf(`pay under a monthly limit, ${against}`, await compareSizes(samples.write, grown, pay)),
    ]
    for (const operation of Object.values(catalogue as Record<string, OperationDefinition>)) {
      if (operation.result === 'page') table.push(await rowOfList(operation, against, grown))
    }
    return table
  } finally {
    await grown.small.sandbox.close()
    await grown.large.sandbox.close()
  }
}

async function openGrown(url: string): Promise<Grown> {
  const sandbox = await openSandbox(url)
  const { agentId } = await whoami(sandbox)
  const limits = { perTransaction: 10_000, perDay: 99_999_999, perMonth: 99_999_999 }
  await send(sandbox, 'PATCH', `/agents/${agentId}`, { limits }, sandbox.apiKey)
  const last = async (path: string) => (await send(sandbox, 'GET', path, undefined, sandbox.apiKey)).data.at(-1)?.id
  const cardId = await last('/agent-cards')
  const values = {
    agentId,
    cardId,
    resourceId: cardId,
    instanceId: 'no such run',
    customerEmail: 'somebody@sandbox.example',
    status: 'PENDING',
    walletId: await last('/wallets?limit=100'),
    subscriptionId: await last('/subscriptions'),
    counterpartyPartyId: await last('/customers'),
  }
  return { sandbox, values }
}

async function authorizeOne({ sandbox }: Grown): Promise<number> {
  const cardId = await issueCard(sandbox)
  return measureMs(() => authorize(sandbox, cardId))
}

function pay({ sandbox, values }: Grown): Promise<number> {
  const counterparty = { type: 'party_id', value: values.counterpartyPartyId }
  return measureMs(() => send(sandbox, 'POST', '/payments', { amount: 1, currency: 'USD', counterparty }))
}

/** The number of records on a page. Even the small database has enough records of each kind to fill a page. */
const pageLength = 10
/**
 * The maximum number of pages to skip, to measure a page far down a list. A short list has fewer full pages to skip.
 */
const maxPagesSkipped = 20
const credentials = { 'the API key': ({ apiKey }: Sandbox) => apiKey, 'the agent key': ({ key }: Sandbox) => key }

/**
 * Compares requests for a list on both databases: with each filter, without a filter, and for a page far down the list.
 * Each request is measured with both credentials, unless it is refused. Returns a row for the request with the worst
 * ratio.
 */
async function rowOfList({ name, path, query }: OperationDefinition, against: string, grown: Sizes<Grown>) {
  const filters = Object.entries(query?.shape ?? {}).flatMap(([filter, schema]) => {
    if (['limit', 'cursor', 'partyId', 'customerPartyId'].includes(filter)) return []
    return (valuesOf(schema as z.ZodType) ?? ['']).map((value) => [filter, value] as const)
  })
  let worst: { request: string; result: Compared } | undefined
  for (const [credential, keyOf] of Object.entries(credentials)) {
    for (const [filter, value] of [['no filter', ''] as const, ['a page far down', ''] as const, ...filters]) {
      const open = async ({ sandbox, values }: Grown, maxPages: number) => {
        const filled = path.replace(/\{(\w+)\}/g, (_, id: string) => values[id] ?? id)
        const search = filters.some(([candidate]) => candidate === filter)
          ? `&${filter}=${value || (values[filter] ?? 'none')}`
          : ''
        const address = `${filled}?limit=${pageLength}${search}`
        const get = async (cursor = '') => {
          const response = await sandbox.service.fetch(
            sandbox.request('GET', address + cursor, undefined, keyOf(sandbox)),
          )
          const text = await response.text()
          if (response.status >= 500) throw new Error(`${address}: ${text}`)
          return response.ok ? JSON.parse(text) : undefined
        }
        let [cursor, pages] = ['', 0]
        for (; filter === 'a page far down' && pages < maxPages; pages++) {
          const next = `&cursor=${(await get(cursor))?.meta?.pagination?.nextCursor}`
          if ((await get(next))?.data.length !== pageLength) break
          cursor = next
        }
        return { pages, isAllowed: (await get(cursor)) !== undefined, get: () => measureMs(() => get(cursor)) }
      }
      const small = await open(grown.small, maxPagesSkipped)
      const requests = { small, large: await open(grown.large, small.pages) }
      if (!requests.small.isAllowed || !requests.large.isAllowed) continue
      const result = await compareSizes(samples.list, requests, ({ get }) => get())
      const request = `${filter}${value && ` ${value}`} and ${credential}`
      if (worst === undefined || excess(result) > excess(worst.result)) worst = { request, result }
    }
  }
  if (worst === undefined) return single(`${name}, ${against}`, 'not measured: every request was refused', judge(0))
  return rowOf(`${name}, ${against}: worst ratio, with ${worst.request}`, worst.result)
}

/** Returns the values that a filter accepts; undefined if the filter is not limited to a fixed set of values. */
function valuesOf(schema: z.ZodType): string[] | undefined {
  const { enum: values, type } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return type === 'boolean' ? ['true', 'false'] : values?.map(String)
}

interface Sizes<T> {
  small: T
  large: T
}

type Figures = Record<'p50' | 'p99', number>
type Compared = Sizes<Figures> & { ratio: Figures }

/**
 * Sends the calls to both databases alternately. If the goal is missed, tries again, because other work may have slowed
 * down the attempt. Returns the best attempt.
 */
async function compareSizes<T>(count: number, sizes: Sizes<T>, call: (item: T) => Promise<number>): Promise<Compared> {
  let best: Compared | undefined
  for (let attempt = 0; attempt < maxAttempts && (best === undefined || excess(best) > 1); attempt++) {
    const [small, large]: [number[], number[]] = [[], []]
    await call(sizes.small)
    await call(sizes.large)
    for (let sample = 0; sample < count; sample++) {
      small.push(await call(sizes.small))
      large.push(await call(sizes.large))
    }
    const figures = (times: number[]) => ({ p50: percentile(times, 0.5), p99: percentile(times, 0.99) })
    const [few, many] = [figures(small), figures(large)]
    const result = { small: few, large: many, ratio: { p50: many.p50 / few.p50, p99: many.p99 / few.p99 } }
    if (best === undefined || excess(result) < excess(best)) best = result
  }
  if (best === undefined) throw new Error('Bug: nothing was measured.')
  return best
}

/**
 * Divides each ratio by its goal and returns the larger quotient. The quotient is at most 1 if both goals are reached.
 */
function excess({ ratio }: Compared): number {
  return Math.max(ratio.p50 / goal.p50, ratio.p99 / goal.p99)
}

function rowOf(measurement: string, result: Compared): Row {
  const text = ({ p50, p99 }: Figures) => `p50 ${p50.toFixed(2)}, p99 ${p99.toFixed(2)} ms`
  return {
    measurement,
    ours: text(result.large),
    other: text(result.small),
    ratio: `${result.ratio.p50.toFixed(2)} / ${result.ratio.p99.toFixed(2)}`,
    goal: `<= ${goal.p50} / <= ${goal.p99}`,
    reached: excess(result) <= 1 ? 'yes' : 'no',
  }
}
