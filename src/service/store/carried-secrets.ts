import { sha256 } from '../../core/system.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { CarriedSecretRow } from './schema/carried-secrets.ts'

/** Returns the secrets that retired root keys derived from a string. The secret of the newest key comes first. */
export async function secretsOfRetiredKeys(tx: Transaction, text: string): Promise<CarriedSecretRow[]> {
  return (await secretsOfText(tx, { textHash: sha256(text) })).rows
}

const secretsOfText = prepared((db, by: { textHash: string }) =>
  db.selectFrom('carriedSecrets').selectAll().where('textHash', '=', by.textHash).orderBy('keyId', 'desc'),
)

/** Stores secrets of retired root keys. A secret that is already stored is not overwritten. */
export async function storeSecretsOfRetiredKeys(tx: Transaction, rows: readonly CarriedSecretRow[]): Promise<void> {
  if (rows.length === 0) return
  const insert = tx.db.insertInto('carriedSecrets').values([...rows])
  await insert.onConflict((conflict) => conflict.columns(['textHash', 'keyId']).doNothing()).execute()
}

/** Returns at most `limit` secrets that are encrypted with a root key older than the key with the id `sealedBy`. */
export async function secretsSealedBefore(
  tx: Transaction,
  sealedBy: number,
  limit: number,
): Promise<CarriedSecretRow[]> {
  return tx.db.selectFrom('carriedSecrets').selectAll().where('sealedBy', '<', sealedBy).limit(limit).execute()
}

export async function updateSealedSecret(tx: Transaction, row: CarriedSecretRow): Promise<void> {
  const { textHash, keyId, sealedBy, sealed } = row
  const change = tx.db.updateTable('carriedSecrets').set({ sealedBy, sealed })
  await change.where('textHash', '=', textHash).where('keyId', '=', keyId).execute()
}
