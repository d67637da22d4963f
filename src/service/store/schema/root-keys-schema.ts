import { type Kysely, sql } from 'kysely'
import { newSecret, realSystem } from '../../../core/system.ts'
import { createTable } from './schema.ts'

/** A key that secrets are derived from. It is never changed or forgotten: what it made is out there. */
export interface RootKeyRow {
  /** Counts from 1. */
  id: number
  secret: string
  /** Real time. */
  createdAtMs: number
}

/** The one key there was becomes the first of several. */
export async function createRootKeysSchema(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'rootKeys', { text: 'secret', integer: 'id', bigint: 'createdAtMs', key: ['id'] })
  const [rootKeys, checkoutKey] = [sql.table('rootKeys'), sql.table('checkoutKey')]
  const columns = sql`${sql.ref('id')}, ${sql.ref('secret')}, ${sql.ref('createdAtMs')}`
  const createdAtMs = sql.lit(realSystem.now())
  await sql`insert into ${rootKeys} (${columns}) select 1, ${sql.ref('secret')}, ${createdAtMs} from ${checkoutKey}`.execute(
    db,
  )
  await sql`insert into ${rootKeys} (${columns}) select 1, ${newSecret(realSystem)}, ${createdAtMs} where not exists (select 1 from ${rootKeys})`.execute(
    db,
  )
  await db.schema.dropTable('checkoutKey').execute()
}
