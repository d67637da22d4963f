import { sql } from 'kysely'
import type { Environment } from '../../../core/operation.ts'
import type { FailedEffectRow } from '../schema/failed-effects.ts'
import { WrongSecretError } from './key-wrapping.ts'
import { type Origin, originOf } from './origin.ts'
import { openReadOnly } from './read-only.ts'
import type { Transaction } from './store.ts'

/** The state of a database, as found by reading the database without changing it. */
export interface Inspection {
  /** Whether the user that reads the database may also write to it. */
  isWritable: boolean
  /** Whether the given secrets decrypt the database's root keys. */
  isOpened: boolean
  /** How far the sandbox clock is ahead of real time. */
  offsetMs: number
  /** The latest real time that is stored in the database. */
  highestMs: number
  /** The time on the database server's clock; null for SQLite, which has no server. */
  databaseNowMs: number | null
  /** The environment that the database belongs to; null if no service has been started with the database yet. */
  environment: Environment | null
  /**
   * The digest of the world in the database; null if the digest is unknown. Undefined if the database was never filled
   * with a world, or was filled by a version that did not yet record worlds.
   */
  world: string | null | undefined
  /** The number of due effects that failed and will be retried, and a few of these effects as examples. */
  failedEffects: { count: number; some: FailedEffect[] }
  /** The key with the requested hash; undefined if there is no such key. */
  key: { revokedAtMs: number | null; expiresAtMs: number | null } | undefined
}

export type FailedEffect = Pick<FailedEffectRow, 'partyId' | 'kind' | 'recordId' | 'attempts' | 'error' | 'retryAtMs'>

interface Inspect {
  url: string
  secrets: readonly string[] | undefined
  /** The hash of a key to look for. */
  keyHash: string
}

/**
 * Inspects a database. Returns the database's state if it has the tables of this version. If not, returns the
 * database's origin: 'empty', 'other', 'newer' or 'foreign'.
 * @throws Error if the database cannot be read.
 */
export async function inspectDatabase({
  url,
  secrets,
  keyHash,
}: Inspect): Promise<Inspection | Exclude<Origin, 'ours'>> {
  const reading = await openReadOnly(url, secrets)
  try {
    return await reading.read(async (tx) => {
      const origin = await originOf(tx.dialect, async (query) => (await sql.raw<object>(query).execute(tx.db)).rows)
      return origin === 'ours' ? inspect(tx, keyHash, await reading.isWritable(tx)) : origin
    })
  } finally {
    await reading.close()
  }
}

async function inspect(tx: Transaction, keyHash: string, isWritable: boolean): Promise<Inspection> {
  const clock = await tx.db.selectFrom('clock').selectAll().executeTakeFirst()
  const world = await tx.db.selectFrom('world').select('digest').executeTakeFirst()
  const deployment = await tx.db.selectFrom('deployment').select('environment').executeTakeFirst()
  const key = tx.db.selectFrom('credentials').select(['revokedAtMs', 'expiresAtMs']).where('secretHash', '=', keyHash)
  return {
    isWritable,
    isOpened: await opensKeys(tx),
    offsetMs: clock?.offsetMs ?? 0,
    highestMs: clock?.highestMs ?? 0,
    databaseNowMs: await serverTime(tx),
    environment: deployment?.environment ?? null,
    world: world?.digest,
    failedEffects: await failedEffects(tx),
    key: await key.executeTakeFirst(),
  }
}

async function serverTime({ dialect, db }: Transaction): Promise<number | null> {
  if (dialect === 'sqlite') return null
  const { rows } = await sql<{ ms: number }>`select extract(epoch from clock_timestamp()) * 1000 as ms`.execute(db)
  return Number(rows[0]?.ms)
}

async function failedEffects({ db }: Transaction): Promise<Inspection['failedEffects']> {
  const all = await db
    .selectFrom('failedEffects')
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow()
  const failedRows = await db.selectFrom('failedEffects').selectAll().orderBy('retryAtMs').limit(3).execute()
  return { count: Number(all.count), some: failedRows }
}

async function opensKeys({ db, wrapping }: Transaction): Promise<boolean> {
  try {
    for (const { secret } of await db.selectFrom('rootKeys').select('secret').execute()) await wrapping.open(secret)
    return true
  } catch (error) {
    if (error instanceof WrongSecretError) return false
    throw error
  }
}
