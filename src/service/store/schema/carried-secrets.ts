import { integer, type RowOf, table, text } from './table.ts'

/**
 * A secret that a retired root key derived for an existing record, such as the signing secret of a webhook. The secret
 * stays valid although the key was deleted.
 */
export const carriedSecrets = table({
  /** SHA-256 of the string that the secret was derived from. */
  textHash: text,
  /** The id of the deleted root key that derived the secret. */
  keyId: integer,
  /** The id of the root key that the secret is encrypted with. */
  sealedBy: integer,
  /** The encrypted secret. */
  sealed: text,
  $key: ['textHash', 'keyId'],
  $indexes: ['sealedBy'],
})

export type CarriedSecretRow = RowOf<typeof carriedSecrets>
