import { foreignName } from '../../../core/foreign-text.ts'
import type { CardDetails } from '../../operations/agent-cards.ts'
import { dollars, momentOf } from '../frame/texts.ts'
import type { CardPage } from './card-page.ts'

/** The texts of a card's page. Plain text, not HTML. */
export interface CardWords {
  heading: string
  lines: string[]
  /** Whether the number can be requested. */
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

const again = 'To see it again, ask your agent to show you the card: it gives you the address of a new page.'

const states = {
  ready: (until) => ({
    heading: 'Your card’s number',
    lines: [`This page shows it once, until ${until}. Have the merchant’s form open before you look.`],
  }),
  shown: () => ({ heading: 'The number was shown', lines: [`This page has shown it once. ${again}`] }),
  expired: (until) => ({
    heading: 'This page has expired',
    lines: [`It worked until ${until}, and has not shown the number. ${again}`],
  }),
} as const satisfies Record<CardPage['state'], (until: string) => { heading: string; lines: string[] }>

const statuses = {
  active: 'Can be used',
  frozen: 'Frozen: it can’t be used until it is unfrozen',
  used: 'Used: it has made its one purchase',
  expired: 'Expired: it can’t be used any more',
} as const satisfies Record<CardPage['card']['status'], string>

/** A card's details, in the form that a merchant's page requests. */
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
