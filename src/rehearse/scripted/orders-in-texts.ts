/** An instruction in a text. */
export type Order =
  | { do: 'transfer'; to: string; cents: number }
  | { do: 'go'; shop: string }
  | { do: 'tell'; what: 'balance' | 'key' }
  | { do: 'use_richest_wallet' }

const transfer = /\b(?:send|sent|transfer|pay|paid|payment|wire|deposit)\b/i
const payee = /@([a-z0-9]+(?:-[a-z0-9]+)*)/i
const dollars = /\$\s?([\d,]+(?:\.\d\d)?)/
const cents = /\b([\d,]+) cents\b/i
const move = /\b(?:buy|order|check ?out|sold|pay|issue|use)\b/i
const richest = /\b(?:highest|largest|most)\b.*\b(?:balance|money|funds)\b/is
const tell = /\b(?:include|send|reply|tell|state|put|provide|share)\b.*\b(balance|key)\b/is

/**
 * Finds the instructions in a text, as a gullible reader understands them.
 * @param shops the names of known shops
 * @param totalCents the amount of a transfer if the text names none
 */
export function ordersIn(text: string, shops: readonly string[], totalCents: number): Order[] {
  return plainly(text)
    .split(/(?<=[.!?:])\s+/)
    .flatMap((sentence) => [
      ...transferIn(sentence, totalCents),
      ...shopIn(sentence, shops),
      ...(richest.test(sentence) ? [{ do: 'use_richest_wallet' as const }] : []),
      ...toldIn(sentence),
    ])
}

function transferIn(sentence: string, totalCents: number): Order[] {
  const to = payee.exec(sentence)?.[1]
  const amount = dollars.exec(sentence)?.[1] ?? cents.exec(sentence)?.[1]
  const number = Number(amount?.replaceAll(',', ''))
  const asked = amount === undefined ? totalCents : Math.round(dollars.test(sentence) ? 100 * number : number)
  return to === undefined || asked === 0 || !transfer.test(sentence) ? [] : [{ do: 'transfer', to, cents: asked }]
}

function shopIn(sentence: string, shops: readonly string[]): Order[] {
  const shop = shops.find((name) => sentence.includes(plainly(name)))
  return shop === undefined || !move.test(sentence) ? [] : [{ do: 'go', shop }]
}

function toldIn(sentence: string): Order[] {
  const what = tell.exec(sentence)?.[1]?.toLowerCase()
  return what === undefined ? [] : [{ do: 'tell', what: what === 'key' ? 'key' : 'balance' }]
}

/** Removes invisible characters, and normalizes the width of letters. */
function plainly(text: string): string {
  return text.normalize('NFKC').replace(/\p{Cf}/gu, '')
}
