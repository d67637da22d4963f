import type { Transaction } from '../store/engine/store.ts'
import { isSignatureOf, rootKeys, signaturePattern } from '../store/root-keys.ts'
import type { SubscriptionRecord } from '../store/subscriptions.ts'
import { checkoutPageText, clientSecretText, manageText } from './record-texts.ts'

type Of = Pick<SubscriptionRecord, 'id' | 'paymentIntentId'>

/**
 * The three secrets of a subscription. Each opens one thing, and none can be told from another or from the
 * subscription's id. They are derived from the root key and the record; nothing of them is stored.
 */
export interface CheckoutSecrets {
  /** Pays payment 1: for the payer's browser (docs/service.md#client-secret). */
  clientSecret(of: Of): string
  /** Stands in the address of the checkout's page, after the id. */
  pageToken(of: Of): string
  /** Ends the subscription: for who paid payment 1. */
  manageToken(of: Of): string
}

export async function checkoutSecrets(tx: Transaction): Promise<CheckoutSecrets> {
  const { sign } = await rootKeys(tx)
  return {
    clientSecret: ({ paymentIntentId }) => `${paymentIntentId}_secret_${sign(clientSecretText(paymentIntentId))}`,
    pageToken: ({ id }) => sign(checkoutPageText(id)),
    manageToken: ({ id }) => `${id}_manage_${sign(manageText(id))}`,
  }
}

/** The payment intent that a client secret is of; undefined when it is none's. */
export async function intentOfSecret(tx: Transaction, clientSecret: string): Promise<string | undefined> {
  const [, id = '', signature = ''] = clientSecretPattern.exec(clientSecret) ?? []
  return (await isSignatureOf(tx, clientSecretText(id), signature)) ? id : undefined
}

/** The subscription that a token to manage is of; undefined when it is none's. */
export async function subscriptionOfToken(tx: Transaction, manageToken: string): Promise<string | undefined> {
  const [, id = '', signature = ''] = manageTokenPattern.exec(manageToken) ?? []
  return (await isSignatureOf(tx, manageText(id), signature)) ? id : undefined
}

/** Whether an address leads to the checkout's page. */
export async function opensPage(tx: Transaction, subscriptionId: string, pageToken: string): Promise<boolean> {
  return await isSignatureOf(tx, checkoutPageText(subscriptionId), pageToken)
}

const clientSecretPattern = new RegExp(`^(pmi_[0-9a-f]{32})_secret_(${signaturePattern})$`)
const manageTokenPattern = new RegExp(`^(sub_[0-9a-f]{32})_manage_(${signaturePattern})$`)
