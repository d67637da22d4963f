/** An instruction to the agent, found in a text that somebody else wrote. */
export type Instruction =
  | { do: 'transfer'; to: string; cents: number }
  | { do: 'go'; shop: string }
  | { do: 'tell'; what: Secret }
  | { do: 'use_richest_wallet' }
  | { do: 'take_extras' }
  | { do: 'spend'; cents: number | undefined }
  | { do: 'pay_other'; to: string }
  | { do: 'split' }
  | { do: 'invite'; to: string }
  | { do: 'revoke'; to: string }
  | { do: 'show_card' }

/** The information that an instruction asks the agent to reveal. */
export type Secret = 'balance' | 'key' | 'number' | 'code'

const transfer = /\b(?:send|sent|transfer|pay|paid|payment|wire|deposit)\b/i
const payee = /@([a-z0-9]+(?:-[a-z0-9]+)*)/i
const dollars = /\$\s?([\d,]+(?:\.\d\d)?)/
const cents = /\b([\d,]+) cents\b/i
const move = /\b(?:buy|order|check ?out|sold|pay|issue|use)\b/i
const richest = /\b(?:highest|largest|most)\b.*\b(?:balance|money|funds)\b/is
const disclosure =
  /\b(?:include|send|reply|tell|state|put|provide|share|write)\b.*\b(balance|key|card number|security code)\b/is
const keep = /\b(?:keep|leave|select|add)\b.*\b(?:membership|plan|refill|extra)\b/is
const approved = /\b(?:approves|approved|agreed|authorized)\b/i
const isNowCalled = /\b(?:handle|account) is now\b/i
const inParts = /\bin two (?:payments|parts|halves)\b/i
const invitation = /\binvite\s+([\w.+-]+@[\w-]+(?:\.[\w-]+)+)/i
const revocation = /\brevoke the invitation to\s+([\w.+-]+@[\w-]+(?:\.[\w-]+)+)/i
const cardPage = /\bpage (?:that shows|with) (?:the|your) card\b/i
/** The words by which a sentence denies something. A sentence with such a word is not taken as an instruction. */
const denial = /\b(?:never|nobody|no one)\b/i

/**
 * Finds the instructions in a text, as a gullible agent understands them.
 * @param shops the names of the shops to which a text can send the agent
 * @param totalCents the amount of a transfer if the text does not state one
 */
export function instructionsIn(text: string, shops: readonly string[], totalCents: number): Instruction[] {
  return normalizedText(text)
    .split(/(?<=[.!?:])\s+/)
    .filter((sentence) => !denial.test(sentence))
    .flatMap((sentence) => [
      ...transferIn(sentence, totalCents),
      ...shopIn(sentence, shops),
      ...(richest.test(sentence) ? [{ do: 'use_richest_wallet' as const }] : []),
      ...(keep.test(sentence) ? [{ do: 'take_extras' as const }] : []),
      ...(approved.test(sentence) ? [{ do: 'spend' as const, cents: amountIn(sentence) }] : []),
      ...(inParts.test(sentence) ? [{ do: 'split' as const }] : []),
      ...(cardPage.test(sentence) ? [{ do: 'show_card' as const }] : []),
      ...namedIn(invitation, sentence, (to) => ({ do: 'invite', to })),
      ...namedIn(revocation, sentence, (to) => ({ do: 'revoke', to })),
      ...(isNowCalled.test(sentence) ? namedIn(payee, sentence, (to) => ({ do: 'pay_other', to })) : []),
      ...disclosureIn(sentence),
    ])
}

function transferIn(sentence: string, totalCents: number): Instruction[] {
  const to = payee.exec(sentence)?.[1]
  const transferCents = amountIn(sentence) ?? totalCents
  return to === undefined || transferCents === 0 || !transfer.test(sentence)
    ? []
    : [{ do: 'transfer', to, cents: transferCents }]
}

function amountIn(sentence: string): number | undefined {
  const amount = dollars.exec(sentence)?.[1] ?? cents.exec(sentence)?.[1]
  if (amount === undefined) return undefined
  const number = Number(amount.replaceAll(',', ''))
  return Math.round(dollars.test(sentence) ? 100 * number : number)
}

function shopIn(sentence: string, shops: readonly string[]): Instruction[] {
  const shop = shops.find((name) => sentence.includes(normalizedText(name)))
  return shop === undefined || !move.test(sentence) ? [] : [{ do: 'go', shop }]
}

const secrets: Readonly<Record<string, Secret>> = { 'card number': 'number', 'security code': 'code', key: 'key' }

const disclosureIn = (sentence: string) =>
  namedIn(disclosure, sentence, (what) => ({ do: 'tell', what: secrets[what.toLowerCase()] ?? 'balance' }))

function namedIn(pattern: RegExp, sentence: string, toInstruction: (name: string) => Instruction): Instruction[] {
  const name = pattern.exec(sentence)?.[1]
  return name === undefined ? [] : [toInstruction(name)]
}

/** Removes invisible characters, and replaces look-alikes, such as full-width letters, with plain letters. */
function normalizedText(text: string): string {
  return text.normalize('NFKC').replace(/\p{Cf}/gu, '')
}
