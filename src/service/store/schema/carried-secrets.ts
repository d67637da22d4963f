import { integer, type RowOf, table, text } from './table.ts'

/**
 * Secrets that retired root keys derived for existing records, such as a checkout's address or a webhook's secret. They
 * keep working although their keys are gone.
 */
export const carriedSecrets = table({
  /** SHA-256 of the text that the secret was derived from. */
  textHash: text,
  /** The root key that derived the secret. */
  keyId: integer,
  /** The root key that seals the secret now. */
  sealedBy: integer,
  sealed: text,
  $key: ['textHash', 'keyId'],
  $indexes: ['sealedBy'],
})

export type CarriedSecretRow = RowOf<typeof carriedSecrets>
