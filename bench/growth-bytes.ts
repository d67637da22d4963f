import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { send } from './growth-world.ts'
import { inFlight, openSandbox, purchase } from './sandbox.ts'
import { judged, type Row } from './table.ts'

const purchases = 2000
/** Half of what it was before answers were deflated: 8.4 kB a purchase, of which an authorization was 3.2 kB. */
const most = { purchase: 4200, authorization: 1600 } as const

/** What a purchase leaves on the disk: a card is issued, authorized and captured. */
export async function measureBytes(url: string): Promise<Row[]> {
  const sandbox = await openSandbox(url)
  try {
    const size = () => (url.startsWith('sqlite:') ? sqliteSize(url.slice('sqlite:'.length)) : postgresSize(url))
    const sizes = [await size()]
    const cards: string[] = []
    await inFlight(64, Array.from({ length: purchases }), async () => cards.push(await sandbox.issueCard()))
    sizes.push(await size())
    const held: string[] = []
    await inFlight(64, cards, async (cardId) => {
      const { data } = await send(sandbox, 'POST', `/simulations/agent-cards/${cardId}/authorize`, purchase)
      held.push(data.id)
    })
    sizes.push(await size())
    await inFlight(64, held, (id) =>
      send(sandbox, 'POST', `/simulations/card-transactions/${id}/capture`, { amount: 1, currency: 'USD' }),
    )
    sizes.push(await size())
    const [issued = 0, authorized = 0, captured = 0] = sizes
      .slice(1)
      .map((bytes, step) => (bytes - (sizes[step] ?? 0)) / purchases)
    const engine = url.startsWith('sqlite:') ? 'SQLite' : 'PostgreSQL'
    const row = (what: string, bytes: number, atMost: number): Row => ({
      measurement: `bytes on disk, ${engine}, ${what}`,
      ours: `${bytes.toFixed(0)} B`,
      other: '',
      ratio: '',
      ...judged(bytes, { atMost }, ' B'),
    })
    const parts = [issued, authorized, captured].map((bytes) => bytes.toFixed(0)).join(' + ')
    return [
      row('an authorization', authorized, most.authorization),
      row(`a purchase (issue, authorize, capture: ${parts})`, issued + authorized + captured, most.purchase),
    ]
  } finally {
    await sandbox.close()
  }
}

async function sqliteSize(path: string): Promise<number> {
  const database = new DatabaseSync(path)
  database.exec('pragma wal_checkpoint(truncate)')
  const sizes = database.prepare(
    'select page_size * (page_count - freelist_count) as bytes from pragma_page_size, pragma_page_count, pragma_freelist_count',
  )
  const bytes = Number(sizes.get()?.['bytes'])
  database.close()
  return bytes
}

async function postgresSize(url: string): Promise<number> {
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
