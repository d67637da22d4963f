import type { Transaction } from '../store/engine/store.ts'
import { isSignatureOf, rootKeys, signaturePattern } from '../store/root-keys.ts'
import { shopPageText } from './record-texts.ts'

/**
 * Returns a function that derives the token in the address of a shop's checkout page. Anyone who has the token can pay
 * on this page with the buyer's card. The token is derived from a root key and the checkout's id. It is stored only
 * when this root key is retired.
 */
export async function shopTokens(tx: Transaction): Promise<(checkoutId: string) => string> {
  const { sign } = await tx.shared(rootKeys)
  return (checkoutId) => `${checkoutId}_${sign(shopPageText(checkoutId))}`
}

/** Returns the id of the checkout that a token belongs to; undefined for an invalid token. */
export async function checkoutOfShopToken(tx: Transaction, token: string): Promise<string | undefined> {
  const [, id = '', signature = ''] = tokenPattern.exec(token) ?? []
  return (await isSignatureOf(tx, shopPageText(id), signature)) ? id : undefined
}

const tokenPattern = new RegExp(`^(sco_[0-9a-f]{32})_(${signaturePattern})$`)
