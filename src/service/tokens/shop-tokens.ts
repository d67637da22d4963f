import type { Transaction } from '../store/engine/store.ts'
import { isSignatureOf, rootKeys, signaturePattern } from '../store/root-keys.ts'
import { shopPageText } from './record-texts.ts'

/**
 * What stands in the address of a checkout's page at a shop: whoever has it pays there with the buyer's card. It is derived
 * from the root key and the checkout's id; nothing of it is stored.
 */
export async function shopTokens(tx: Transaction): Promise<(checkoutId: string) => string> {
  const { sign } = await tx.shared(rootKeys)
  return (checkoutId) => `${checkoutId}_${sign(shopPageText(checkoutId))}`
}

/** The checkout that a token is of; undefined when it is none's. */
export async function checkoutOfShopToken(tx: Transaction, token: string): Promise<string | undefined> {
  const [, id = '', signature = ''] = tokenPattern.exec(token) ?? []
  return (await isSignatureOf(tx, shopPageText(id), signature)) ? id : undefined
}

const tokenPattern = new RegExp(`^(sco_[0-9a-f]{32})_(${signaturePattern})$`)
