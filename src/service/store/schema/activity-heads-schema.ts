import { type Kysely, sql } from 'kysely'
import { hmac } from '../../../core/system.ts'
import { sealedText } from '../activity.ts'
import { createTable } from './schema.ts'

/** How far a party's chain of activity reaches, sealed: rows that are cut off its end are missed. */
export interface ActivityHeadRow {
  partyId: string
  /** Of the last row, which is also how many there are. */
  sequence: number
  hash: string
  /** A root key's signature of the rest. */
  seal: string
}

/** The chains there are reach as far as they do now. */
export async function sealActivityHeads(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'activityHeads', { text: 'partyId hash seal', bigint: 'sequence', key: ['partyId'] })
  const keys = await sql<{ id: number; secret: string }>`select * from ${sql.table('rootKeys')} order by id`.execute(db)
  const key = keys.rows.find(({ id }) => id === 1)
  const last = sql`select max(${sql.ref('sequence')}) from ${sql.table('activity')} b where b.${sql.ref('partyId')} = a.${sql.ref('partyId')}`
  const heads = await sql<Omit<ActivityHeadRow, 'seal'>>`
    select ${sql.ref('partyId')}, ${sql.ref('sequence')}, ${sql.ref('hash')} from ${sql.table('activity')} a
    where ${sql.ref('sequence')} = (${last})`.execute(db)
  for (const { partyId, sequence, hash } of heads.rows) {
    if (key === undefined) throw new Error('Bug: there is no root key.')
    const seal = hmac(key.secret, sealedText({ partyId, sequence: Number(sequence), hash }))
    await sql`insert into ${sql.table('activityHeads')} (${sql.ref('partyId')}, ${sql.ref('sequence')}, ${sql.ref('hash')}, ${sql.ref('seal')})
      values (${partyId}, ${sequence}, ${hash}, ${seal})`.execute(db)
  }
}
