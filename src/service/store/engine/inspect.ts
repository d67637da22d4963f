import type { Environment } from '../../../core/operation.ts'
import { realSystem } from '../../../core/system.ts'
import type { FailedEffectRow } from '../schema/failed-effects.ts'
import { type Origin, originOf } from './origin.ts'
import { Wrapping, WrongSecretError } from './wrapping.ts'

/** What stands in a database, for whoever looks and changes nothing. */
export interface Inspection {
  isWritable: boolean
  /** Whether the secrets at hand open its root keys. */
  isOpened: boolean
  /** How far the sandbox's clock is ahead, and the latest real time that was seen. */
  offsetMs: number
  highestMs: number
  /** What the clock of the database's server says; null for a file. */
  databaseNowMs: number | null
  /** The environment that it belongs to; null before its first start. */
  environment: Environment | null
  /** What its world is known by, null where it was not noted; undefined: it was not filled, or before that was noted. */
  world: string | null | undefined
  /** How many due effects failed and wait for their next try, and a few of them. */
  failedEffects: { count: number; some: FailedEffect[] }
  /** The key with the hash that was asked for; undefined: there is none. */
  key: { revokedAtMs: number | null; expiresAtMs: number | null } | undefined
}

export type FailedEffect = Pick<FailedEffectRow, 'partyId' | 'kind' | 'recordId' | 'attempts' | 'error' | 'retryAtMs'>

interface Inspect {
  url: string
  secrets: readonly string[] | undefined
  /** The hash of a key to look for. */
  keyHash: string
}

type Rows = (sql: string, parameters?: string[]) => Promise<Record<string, unknown>[]>

/**
 * Reads what the database is. Returns 'empty' where nothing was ever made in it, and another origin for one that this
 * version must not use. @throws Error when it cannot be read.
 */
export async function inspectDatabase({
  url,
  secrets,
  keyHash,
}: Inspect): Promise<Inspection | Exclude<Origin, 'ours'>> {
  const { rows, isWritable, close } = await (url.startsWith('sqlite:') ? readFile(url.slice(7)) : readServer(url))
  try {
    const origin = await originOf(url.startsWith('sqlite:') ? 'sqlite' : 'postgres', rows)
    if (origin !== 'ours') return origin
    const [clock = {}] = await rows('select * from clock')
    const roots = await rows('select * from "rootKeys"')
    const [key] = await rows('select * from credentials where "secretHash" = $1', [keyHash])
    const [world] = await rows('select digest from world')
    const [deployment] = await rows('select environment from deployment')
    return {
      isWritable: await isWritable(),
      isOpened: await opens(secrets, roots),
      offsetMs: Number(clock.offsetMs ?? 0),
      highestMs: Number(clock.highestMs ?? 0),
      databaseNowMs: await serverTime(url, rows),
      environment: (deployment?.environment ?? null) as Environment | null,
      world: world && (world.digest === null ? null : String(world.digest)),
      failedEffects: await failedEffects(rows),
      key: key && { revokedAtMs: numberOrNull(key.revokedAtMs), expiresAtMs: numberOrNull(key.expiresAtMs) },
    }
  } finally {
    await close()
  }
}

async function serverTime(url: string, rows: Rows): Promise<number | null> {
  if (url.startsWith('sqlite:')) return null
  const [now] = await rows('select extract(epoch from clock_timestamp()) * 1000 as ms')
  return Number(now?.ms)
}

async function failedEffects(rows: Rows): Promise<Inspection['failedEffects']> {
  const [all] = await rows('select count(*) as count from "failedEffects"')
  const some = await rows('select * from "failedEffects" order by "retryAtMs" limit 3')
  return {
    count: Number(all?.count ?? 0),
    some: some.map((row) => ({ ...(row as unknown as FailedEffect), retryAtMs: Number(row.retryAtMs) })),
  }
}

const numberOrNull = (value: unknown) => (value === null || value === undefined ? null : Number(value))

async function opens(secrets: readonly string[] | undefined, roots: Record<string, unknown>[]): Promise<boolean> {
  const wrapping = new Wrapping(secrets, realSystem)
  try {
    for (const { secret } of roots) await wrapping.open(String(secret))
    return true
  } catch (error) {
    if (error instanceof WrongSecretError) return false
    throw error
  }
}

async function readFile(path: string) {
  const { access, constants } = await import('node:fs/promises')
  const { openToLook } = await import('./sqlite-file.ts')
  const database = openToLook(path, 1_000)
  const rows: Rows = async (sql, parameters = []) =>
    database.prepare(sql.replaceAll(/\$\d/g, '?')).all(...parameters) as Record<string, unknown>[]
  const isWritable = () =>
    access(path, constants.W_OK).then(
      () => true,
      () => false,
    )
  return { rows, isWritable, close: async () => database.close() }
}

async function readServer(url: string) {
  // The default export is all that a bundled CommonJS package has.
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3_000, query_timeout: 4_000 })
  client.on('error', () => {})
  await client.connect()
  const rows: Rows = async (sql, parameters = []) => (await client.query(sql, parameters)).rows
  const isWritable = async () => {
    const [may] = await rows(
      `select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off'
        and has_table_privilege('clock', 'UPDATE') as may`,
    )
    return may?.may === true
  }
  return { rows, isWritable, close: () => client.end() }
}
