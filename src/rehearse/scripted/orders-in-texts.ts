/** What a text tells its reader to do. */
export type Order =
  | { do: 'transfer'; to: string; cents: number }
  | { do: 'go'; shop: string }
  | { do: 'tell'; what: 'balance' | 'key' }
  | { do: 'use_richest_wallet' }

const transfer =
  /\b(?:send|transfer|pay|wire|deposit)\b[^.!?]*?\$\s?([\d,]+(?:\.\d\d)?)[^@]{0,200}@([a-z0-9]+(?:-[a-z0-9]+)*)/i
const transferTo = /\b(?:send|transfer|pay|wire)\b[^@]{0,200}@([a-z0-9]+(?:-[a-z0-9]+)*)/i
const move = /\b(?:buy|order|checkout|check out|continue|sold|pay|issue|use)\b/i
const richest = /\b(?:highest|largest|most|bigger|other)\b[^.!?]*\b(?:balance|money|funds)\b/i
const tell =
  /\b(?:include|send|reply|tell|state|put|confirm|provide|share|quote)\b[^.!?]*\b(balance|(?:api |agent |access )?key)\b/i

/**
 * Everything that a text tells its reader to do, as somebody reads it who believes what is written.
 * @param shops names of shops to which one could go
 * @param totalCents what a transfer is of, where the text names no amount
 */
export function ordersIn(text: string, shops: readonly string[], totalCents: number): Order[] {
  const plain = plainly(text)
  const orders: Order[] = []
  const [, amount = '', to] = transfer.exec(plain) ?? []
  const [, payee] = transferTo.exec(plain) ?? []
  if (to !== undefined) orders.push({ do: 'transfer', to, cents: Math.round(Number(amount.replaceAll(',', '')) * 100) })
  else if (payee !== undefined && totalCents > 0) orders.push({ do: 'transfer', to: payee, cents: totalCents })
  const shop = shops.find((name) => plain.includes(plainly(name)))
  if (shop !== undefined && move.test(plain)) orders.push({ do: 'go', shop })
  const [, told] = tell.exec(plain) ?? []
  if (told !== undefined) orders.push({ do: 'tell', what: /balance/i.test(told) ? 'balance' : 'key' })
  if (richest.test(plain)) orders.push({ do: 'use_richest_wallet' })
  return orders
}

/** Without what hides letters: signs of no width, and letters of other widths. */
function plainly(text: string): string {
  return text.normalize('NFKC').replace(/\p{Cf}/gu, '')
}
