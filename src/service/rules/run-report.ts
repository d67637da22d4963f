import type { Environment } from '../../core/operation.ts'
import type { BalanceEffect } from './balance-effects.ts'

/**
 * The summary of a run, which is a party's calls with the same X-Instance-ID (docs/console.md#run-reports). Amounts are
 * integer cents. Times are in RFC 3339 format.
 */
export interface RunReport {
  runId: string
  partyId: string
  instanceId: string | null
  environment: Environment
  agent: { id: string; name: string } | null
  host: string | null
  from: string
  to: string
  calls: number
  refused: number
  /** How many rows the figures were computed from. If `complete` is false, only the first rows of the run were read. */
  evaluated: { entries: number; calls: number; toolReads: number; changes: number; complete: boolean }
  totals: ReportTotals
  cards: ReportCard[]
  merchants: ReportMerchant[]
  declines: ReportDecline[]
  payments: (ReportPayment & { kind: string })[]
  requests: ReportPayment[]
  /** The subscriptions, each with the sum of its successful charges. */
  subscriptions: { id: string; status: string; chargedCents: number; isOwn: boolean }[]
  customers: ReportCustomer[]
  approvals: ReportApproval[]
  questions: { at: string; operation: string; outcome: string; facts: readonly string[]; remark: string | null }[]
  repeats: Counted[]
  faults: Counted[]
  refusals: Counted[]
  /**
   * The changes to the balances of the party's wallets. They come from the payments, payment requests and subscriptions
   * that the run created, and from the purchases with cards that it created.
   */
  wallets: BalanceEffect[]
  /** Figures on the ledger postings that the run's entries list. Entries that were deleted are not counted. */
  postings: { count: number; sumCents: number; unbalanced: number }
  chain: { rows: number; first: ChainPlace | null; last: ChainPlace | null }
}

/** A payment or a payment request. */
export interface ReportPayment {
  id: string
  status: string
  amountCents: number
  description: string | null
  /** True if the run created the record; false if the run only acted on it. */
  isOwn: boolean
}

/** The figures of the calls that were made for one customer. */
export interface ReportCustomer {
  partyId: string
  done: number
  refused: number
  cards: number
  intendedCents: number
  payments: number
  askedCents: number
}

/** A row in the party's activity chain. */
export interface ChainPlace {
  sequence: number
  hash: string
}

export interface ReportTotals {
  intendedCents: number
  authorizedCents: number
  heldCents: number
  capturedCents: number
  refundedCents: number
}

/** A card: its declared terms and the totals of its approved purchases. */
export interface ReportCard {
  id: string
  status: string
  merchant: string
  maximumCents: number
  authorizedCents: number
  heldCents: number
  capturedCents: number
  refundedCents: number
  /** The merchants of the approved purchases. */
  actualMerchants: string[]
  differences: string[]
}

export interface ReportMerchant {
  merchant: string
  purchases: number
  declined: number
  authorizedCents: number
  heldCents: number
  capturedCents: number
  refundedCents: number
}

export interface ReportDecline {
  id: string
  cardId: string
  merchant: string
  amountCents: number
  reason: string | null
  /** The card's terms that the declined purchase violated. */
  against: ('merchant' | 'maximum')[]
}

export interface ReportApproval {
  id: string
  paymentId: string
  status: string
  decidedBy: string | null
  /** Whether the decision was made on a page or through the API; null if no decision is recorded. */
  by: 'page' | 'api' | null
  decidedAt: string | null
}

/** The number of calls of one operation with the same outcome, fault or error code. */
export interface Counted {
  what: string
  operation: string
  count: number
}

export interface Purchase {
  id: string
  cardId: string
  kind: 'purchase' | 'refund'
  merchantName: string
  status: string
  declineCode: string | null
  amountCents: number
  heldCents: number
  capturedCents: number
  refundedCents: number
}

interface Declared {
  id: string
  status: string
  merchantName: string
  maximumAmountCents: number
}

const sumOf = (
  purchases: readonly Purchase[],
  column: 'amountCents' | 'heldCents' | 'capturedCents' | 'refundedCents',
) => purchases.reduce((sum, purchase) => sum + purchase[column], 0)

function sums(purchases: readonly Purchase[]) {
  return {
    authorizedCents: sumOf(purchases, 'amountCents'),
    heldCents: sumOf(purchases, 'heldCents'),
    capturedCents: sumOf(purchases, 'capturedCents'),
    refundedCents: sumOf(purchases, 'refundedCents'),
  }
}

const isApproved = ({ kind, status }: Purchase) => kind === 'purchase' && status !== 'declined'
const isDeclined = ({ kind, status }: Purchase) => kind === 'purchase' && status === 'declined'

/** Returns each card's terms, the sums of its approved purchases, and how these purchases differ from the terms. */
export function cardsFigures(cards: readonly Declared[], purchases: readonly Purchase[]): ReportCard[] {
  const byCard = Map.groupBy(purchases.filter(isApproved), ({ cardId }) => cardId)
  return cards.map((card) => figuresOfCard(card, byCard.get(card.id) ?? []))
}

function figuresOfCard(card: Declared, approved: readonly Purchase[]): ReportCard {
  const figures = sums(approved)
  const actualMerchants = [...new Set(approved.map(({ merchantName }) => merchantName))]
  const differences = [
    ...(approved.length === 0 ? ['nothing was bought'] : []),
    ...actualMerchants.filter((name) => name !== card.merchantName).map(() => 'another merchant'),
    ...(figures.authorizedCents > card.maximumAmountCents ? ['authorized above the maximum'] : []),
    ...(figures.capturedCents > card.maximumAmountCents ? ['captured above the maximum'] : []),
    ...(figures.capturedCents + figures.heldCents < figures.authorizedCents ? ['captured less than authorized'] : []),
  ]
  const { id, status, merchantName: merchant, maximumAmountCents: maximumCents } = card
  return { id, status, merchant, maximumCents, ...figures, actualMerchants, differences }
}

export function merchantFigures(purchases: readonly Purchase[]): ReportMerchant[] {
  const bought = purchases.filter(({ kind }) => kind === 'purchase')
  return [...Map.groupBy(bought, ({ merchantName }) => merchantName)]
    .map(([merchant, attempts]) => {
      const approved = attempts.filter(isApproved)
      return { merchant, purchases: approved.length, declined: attempts.length - approved.length, ...sums(approved) }
    })
    .sort((one, other) => other.capturedCents - one.capturedCents || (one.merchant < other.merchant ? -1 : 1))
}

export function declinesOf(cards: readonly Declared[], purchases: readonly Purchase[]): ReportDecline[] {
  const byId = new Map(cards.map((card) => [card.id, card]))
  return purchases
    .filter(isDeclined)
    .map(({ id, cardId, merchantName: merchant, amountCents, declineCode: reason }) => {
      const card = byId.get(cardId)
      const against: ReportDecline['against'] = []
      if (card !== undefined && card.merchantName !== merchant) against.push('merchant')
      if (card !== undefined && amountCents > card.maximumAmountCents) against.push('maximum')
      return { id, cardId, merchant, amountCents, reason, against }
    })
}

export function totalsOf(cards: readonly Declared[], purchases: readonly Purchase[]): ReportTotals {
  const intendedCents = cards.reduce((sum, { maximumAmountCents }) => sum + maximumAmountCents, 0)
  return { intendedCents, ...sums(purchases.filter(isApproved)) }
}
