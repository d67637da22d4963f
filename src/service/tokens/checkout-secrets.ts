import type { Transaction } from '../store/engine/store.ts'
import { isSignatureOf, rootKeys, signaturePattern } from '../store/root-keys.ts'
import type { SubscriptionRecord } from '../store/subscriptions.ts'
import { checkoutPageText, clientSecretText, manageText } from './record-texts.ts'

type Subscription = Pick<SubscriptionRecord, 'id' | 'paymentIntentId'>

/**
 * The three secrets of a subscription. Each secret has one purpose, and cannot be computed from the other secrets or
 * from the subscription's id. The secrets are derived from a root key and the subscription. They are stored only when
 * this root key is retired.
 */
export interface CheckoutSecrets {
  /**
   * Returns the secret with which the payer's browser makes payment 1, the first payment
   * (docs/service.md#client-secret).
   */
  clientSecret(subscription: Subscription): string
  /** Returns the token at the end of the checkout page's URL, after the subscription's id. */
  pageToken(subscription: Subscription): string
  /** Returns the token with which the payer of payment 1 can cancel the subscription. */
  manageToken(subscription: Subscription): string
}

export async function checkoutSecrets(tx: Transaction): Promise<CheckoutSecrets> {
  const { sign } = await rootKeys(tx)
  return {
    clientSecret: ({ paymentIntentId }) => `${paymentIntentId}_secret_${sign(clientSecretText(paymentIntentId))}`,
    pageToken: ({ id }) => sign(checkoutPageText(id)),
    manageToken: ({ id }) => `${id}_manage_${sign(manageText(id))}`,
  }
}

/** Returns the id of the payment intent that a client secret belongs to; undefined for an invalid secret. */
export async function intentOfSecret(tx: Transaction, clientSecret: string): Promise<string | undefined> {
  const [, id = '', signature = ''] = clientSecretPattern.exec(clientSecret) ?? []
  return (await isSignatureOf(tx, clientSecretText(id), signature)) ? id : undefined
}

/** Returns the id of the subscription that a manage token belongs to; undefined for an invalid token. */
export async function subscriptionOfToken(tx: Transaction, manageToken: string): Promise<string | undefined> {
  const [, id = '', signature = ''] = manageTokenPattern.exec(manageToken) ?? []
  return (await isSignatureOf(tx, manageText(id), signature)) ? id : undefined
}

/** Returns whether a page token opens the checkout page of this subscription. */
export async function opensPage(tx: Transaction, subscriptionId: string, pageToken: string): Promise<boolean> {
  return await isSignatureOf(tx, checkoutPageText(subscriptionId), pageToken)
}

const clientSecretPattern = new RegExp(`^(pmi_[0-9a-f]{32})_secret_(${signaturePattern})$`)
const manageTokenPattern = new RegExp(`^(sub_[0-9a-f]{32})_manage_(${signaturePattern})$`)
