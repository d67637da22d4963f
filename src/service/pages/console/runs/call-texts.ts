import { operationsByName } from '../../../../../tools/index.ts'
import { type ShopDeclineCode, shopDeclines } from '../../../../../tools/shops.ts'
import { foreignName } from '../../../../core/foreign-text.ts'
import { dollars } from '../../frame/texts.ts'
import type { EntrySeen } from './read-runs.ts'
import { stateOf } from './words.ts'

/**
 * For each tool whose effect has an amount: the past-tense phrase for the effect, and the preposition before the name
 * of the merchant, payee or payer.
 */
const effectPhrases: Readonly<Record<string, readonly [verb: string, preposition: string]>> = {
  pay_shop_checkout: ['Paid', 'at'],
  start_shop_checkout: ['Started a checkout of', 'at'],
  return_shop_order: ['Returned an order of', 'at'],
  issue_agent_card: ['Issued a card of up to', 'for'],
  simulate_card_authorization: ['Authorized', 'at'],
  simulate_card_capture: ['Captured a purchase of', 'at'],
  simulate_card_reversal: ['Reversed a purchase of', 'at'],
  simulate_card_expiration: ['Expired a purchase of', 'at'],
  simulate_card_refund: ['Refunded', 'at'],
  create_payment: ['Paid', 'to'],
  cancel_payment: ['Canceled a payment of', 'to'],
  create_wire: ['Wired', 'to'],
  create_payment_request: ['Requested', 'from'],
  create_deposit: ['Deposited', 'from'],
  create_withdrawal: ['Withdrew', 'to'],
  create_internal_transfer: ['Transferred', 'to'],
  create_subscription: ['Created a subscription of', 'for'],
}

const outcomesWithEffect = ['done', 'declined', 'replayed', 'repeated']

/**
 * Describes a call by its effect, such as `Paid $36.00 at Plain Goods`. A declined call is described in the same way.
 * If the call needs approval, the text consists of the tool's title, the amount and the counterparty. For all other
 * calls, the text is only the title.
 */
export function describeCall({ operation, outcome, amountCents, counterparty, fault }: EntrySeen): string {
  const [verb, preposition] = effectPhrases[operation] ?? []
  const isDone = outcomesWithEffect.includes(outcome) || fault?.startsWith('effect_then_') === true
  const title = operationsByName.get(operation)?.title ?? operation
  if (verb === undefined || amountCents === null || !(isDone || outcome === 'review')) return title
  const who =
    counterparty === null ? '' : ` ${preposition} ${foreignName(counterparty, 'someone without a readable name', 80)}`
  return `${isDone ? verb : `${title} of`} ${dollars(amountCents)}${who}`
}

const declineWords = {
  card_not_accepted: 'card not accepted',
  wrong_card_details: 'wrong card details',
  other_merchant: 'the card is for another merchant',
  no_card: 'no card for this shop',
  card_frozen: 'the card is frozen',
  over_agent_limit: 'over a limit of the agent',
  single_use_card_expired: 'the card has expired',
  single_use_card_used: 'the card was already used',
  single_use_amount_over_maximum: "over the card's maximum",
  insufficient_funds: 'insufficient funds',
} as const satisfies Record<ShopDeclineCode, string>

/** Returns the reason why an entry was declined, as text; null if the entry was not declined. */
export function declineText({ outcome, code }: Pick<EntrySeen, 'outcome' | 'code'>): string | null {
  if (outcome !== 'declined' || code === null) return null
  return Object.hasOwn(shopDeclines, code) ? declineWords[code as ShopDeclineCode] : code
}

/** Describes a failed call and its error, such as `Paid $36.00 at Plain Goods: declined, over the card's maximum`. */
export function failureText(entry: EntrySeen): string {
  const why = declineText(entry) ?? entry.code
  return `${describeCall(entry)}: ${stateOf(entry).text.toLowerCase()}${why === null ? '' : `, ${why}`}`
}
