import { sha256 } from '../../core/system.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { CarriedSecretRow } from './schema/carried-secrets.ts'

/** Returns the secrets that retired root keys derived from a string, from the newest key to the oldest. */
export async function secretsOfRetiredKeys(tx: Transaction, text: string): Promise<CarriedSecretRow[]> {
  return (await secretsOfText(tx, { textHash: sha256(text) })).rows
}

const secretsOfText = prepared((db, by: { textHash: string }) =>
  db.selectFrom('carriedSecrets').selectAll().where('textHash', '=', by.textHash).orderBy('keyId', 'desc'),
)

/** Stores secrets, without overwriting secrets that are already stored. */
export async function storeSecretsOfRetiredKeys(tx: Transaction, rows: readonly CarriedSecretRow[]): Promise<void> {
  if (rows.length === 0) return
  const insert = tx.db.insertInto('carriedSecrets').values([...rows])
  await insert.onConflict((conflict) => conflict.columns(['textHash', 'keyId']).doNothing()).execute()
}

/** Returns up to `limit` secrets that are sealed with a root key older than the key `sealedBy`. */
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
