import type { Transaction } from './engine/store.ts'
import type { SigningKeyRow } from './schema/signing-keys.ts'

/** Returns the signing keys, newest first. */
export async function signingKeys(tx: Transaction): Promise<SigningKeyRow[]> {
  const rows = await tx.db.selectFrom('signingKeys').selectAll().orderBy('createdAtMs', 'desc').orderBy('kid').execute()
  return Promise.all(rows.map(async (row) => ({ ...row, jwk: await tx.wrapping.open(row.jwk) })))
}

export async function insertSigningKey(tx: Transaction, row: SigningKeyRow): Promise<void> {
  const jwk = await tx.wrapping.wrap(row.jwk)
  await tx.db
    .insertInto('signingKeys')
    .values({ ...row, jwk })
    .execute()
}

export async function deleteSigningKey(tx: Transaction, kid: string): Promise<void> {
  await tx.db.deleteFrom('signingKeys').where('kid', '=', kid).execute()
}
