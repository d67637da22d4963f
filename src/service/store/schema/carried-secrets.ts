import { integer, type RowOf, table, text } from './table.ts'

/**
 * A secret of a stored record, such as a webhook's signing secret. The secret was derived from a root key, and stays
 * valid although that key was deleted.
 */
export const carriedSecrets = table({
  /** SHA-256 of the string that the secret was derived from. */
  textHash: text,
  /** The id of the deleted root key that the secret was derived from. */
  keyId: integer,
  /** The id of the root key that the secret is encrypted with. */
  sealedBy: integer,
  /** The encrypted secret. */
  sealed: text,
  $key: ['textHash', 'keyId'],
  $indexes: ['sealedBy'],
})

export type CarriedSecretRow = RowOf<typeof carriedSecrets>
