import { foreignName } from '../../../core/foreign-text.ts'
import type { CardDetails } from '../../operations/agent-cards.ts'
import { dollars, momentOf } from '../frame/texts.ts'
import type { CardPage } from './card-page.ts'

/** The words on a card's page, as plain text, not HTML. */
export interface CardWords {
  heading: string
  lines: string[]
  /** Whether the page still offers to show the number. */
  asks: boolean
  merchant: string
  maximum: string
  status: string
  agent: string
  expires: string
}

export function cardWords({ state, expiresAtMs, card }: CardPage): CardWords {
  return {
    ...states[state](momentOf(expiresAtMs)),
    asks: state === 'ready',
    merchant: foreignName(card.merchant, 'A merchant without a name'),
    maximum: dollars(card.maximumAmountCents),
    status: statuses[card.status],
    agent: foreignName(card.agent, 'An agent without a name'),
    expires: momentOf(card.expiresAtMs),
  }
}

const retry = 'To see the number, ask your agent for a new link.'

const states = {
  ready: (until) => ({
    heading: 'Your card’s number',
    lines: [`You can view it once, until ${until}. Open the merchant’s payment form first.`],
  }),
  shown: () => ({ heading: 'The number was already shown', lines: [`This page shows the number only once. ${retry}`] }),
  expired: (until) => ({
    heading: 'This page has expired',
    lines: [`It expired on ${until} without showing the number. ${retry}`],
  }),
} as const satisfies Record<CardPage['state'], (until: string) => { heading: string; lines: string[] }>

const statuses = {
  active: 'Active',
  frozen: 'Frozen: it can’t be used until it is unfrozen',
  used: 'Used for its only purchase',
  expired: 'Expired',
} as const satisfies Record<CardPage['card']['status'], string>

/** A card's details in the format that payment forms expect. */
export interface DetailsWords {
  /** The digits in groups of four. */
  number: string[]
  expires: string
  cvv: string
}

export function detailsWords({ number, cvv, expirationMonth, expirationYear }: CardDetails): DetailsWords {
  const month = String(expirationMonth).padStart(2, '0')
  return { number: number.match(/.{1,4}/g) ?? [], expires: `${month} / ${expirationYear}`, cvv }
}
