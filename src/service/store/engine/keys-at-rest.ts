import { sql } from 'kysely'
import { keysAtRest } from '../schema/tables.ts'
import type { Store, Transaction } from './store.ts'

/**
 * Encrypts, with the current secret, the keys that are stored in plain text or are encrypted with an old secret.
 * Returns whether there were such keys.
 * @throws WrongSecretError if none of the configured secrets decrypts one of the encrypted keys.
 */
export async function wrapKeys(store: Store): Promise<boolean> {
  if ((await store.read(outdated)).length === 0) return false
  await store.transaction(async (tx) => {
    // If two processes start at the same time, the second waits here, and then finds nothing left to do.
    await tx.lock('keys at rest')
    for (const { table, name, key, row } of await outdated(tx)) {
      const wrapped = await tx.wrapping.wrap(await tx.wrapping.open(row.key))
      await sql`update ${sql.table(table)} set ${sql.ref(key)} = ${wrapped} where ${sql.ref(name)} = ${row.name}`.execute(
        tx.db,
      )
    }
  })
  return true
}

/** Returns the keys that are not encrypted with the current secret. Returns none if no secret is set. */
async function outdated({ db, wrapping }: Transaction) {
  const found = []
  for (const { table, name, key } of keysAtRest) {
    const columns = sql`${sql.ref(name)} as name, ${sql.ref(key)} as key`
    const query = sql<{ name: string | number; key: string }>`select ${columns} from ${sql.table(table)}`
    for (const row of (await query.execute(db)).rows) {
      if (!(await wrapping.isCurrent(row.key))) found.push({ table, name, key, row })
    }
  }
  return found
}
