import { equalSecrets, hmac, newSecret, type System } from '../../system.ts'
import { prepared } from './prepared.ts'
import type { Transaction } from './store.ts'

/** Gives a payment intent's client secret. It is derived, not stored: the database has only the key it comes from. */
export async function clientSecrets(tx: Transaction, system: System): Promise<(paymentIntentId: string) => string> {
  const key = await checkoutKey(tx, system)
  return (paymentIntentId) => `${paymentIntentId}_secret_${hmac(key, paymentIntentId)}`
}

/** The payment intent that a client secret is of; undefined when it is none's. */
export async function intentOfSecret(tx: Transaction, system: System, secret: string): Promise<string | undefined> {
  const id = /^(pmi_[0-9a-f]{32})_secret_[0-9a-f]{64}$/.exec(secret)?.[1]
  if (id === undefined) return undefined
  const clientSecret = await clientSecrets(tx, system)
  return equalSecrets(secret, clientSecret(id)) ? id : undefined
}

/** A body of an answer as it is recorded: the database keeps no client secret. Quotes in a text are escaped in JSON. */
export function concealClientSecret(body: string): string {
  return body.replace(/"clientSecret":"[^"]*"/, concealed)
}

/** A recorded body as it was answered, byte for byte. */
export async function revealClientSecret(tx: Transaction, system: System, body: string): Promise<string> {
  if (!body.includes(concealed)) return body
  const { data } = JSON.parse(body) as { data: { relationships: { paymentIntent: { data: { id: string } } } } }
  const clientSecret = await clientSecrets(tx, system)
  return body.replace(concealed, `"clientSecret":"${clientSecret(data.relationships.paymentIntent.data.id)}"`)
}

const concealed = '"clientSecret":""'

/** The secret that the service derives others from; each use mixes in what it is for. */
export async function checkoutKey(tx: Transaction, system: System): Promise<string> {
  const [row] = (await read(tx, {})).rows
  if (row !== undefined) return row.secret
  // Two processes that need it first agree on one.
  await tx.lock('checkout key')
  await insertOnce(tx, { id: 1, secret: newSecret(system) })
  const [made] = (await read(tx, {})).rows
  if (made === undefined) throw new Error('Bug: the key of the checkout was not kept.')
  return made.secret
}

const read = prepared((db, _none: object) => db.selectFrom('checkoutKey').select('secret'))

const insertOnce = prepared((db, row: { id: 1; secret: string }) =>
  db
    .insertInto('checkoutKey')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing()),
)
