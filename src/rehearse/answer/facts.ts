import { amountsIn } from '../mentions.ts'
import type { Effect, EffectKind, FinalState, Read, Trial } from '../results.ts'

/** The parts of a trial that are needed to check the agent's answer. */
export type Basis = Pick<Trial, 'answer' | 'ended' | 'effects' | 'read' | 'state' | 'lacks'>

/** A payment to a payee, or a purchase at a merchant. */
export interface Move {
  kind: 'payment' | 'purchase'
  /** The payee's handle, name, email address or phone number; for a purchase, the merchant's name. */
  recipient: string
  /** The party that paid. */
  party: string
  isNew: boolean
  cents: number
  heldCents: number
  capturedCents: number
  refundedCents: number
  /** Whether this purchase was made in the trial and cost nothing, because its hold was released. */
  isReleased?: boolean
}

/** The facts against which an answer is checked. */
export interface Facts {
  task: string
  read: Read
  state: FinalState
  /** Payments and purchases that took place, including those before the trial. */
  moves: Move[]
  /** Payments that wait for a person's approval. */
  waiting: Move[]
  /** Payments and purchases that failed. */
  failed: Move[]
  /** The payees and merchants in `moves`, `waiting` and `failed`. */
  recipients: string[]
  /** Amounts in the task, the ledger and the data that the agent read. Includes sums and differences of two amounts. */
  amounts: ReadonlySet<number>
  /** Whether the record of the data that the agent read is incomplete. */
  isCut: boolean
  /** Returns whether the agent caused an effect of one of the given kinds; undefined if the effects are unknown. */
  hasCaused(...kinds: EffectKind[]): boolean | undefined
  effects: readonly Effect[]
}

const moved: ReadonlySet<string> = new Set(['COMPLETED', 'PENDING_CLAIM'])

const paymentOf = (recipient: string, party: string, cents: number): Move => ({
  ...{ kind: 'payment', recipient, party, isNew: true },
  ...{ cents, heldCents: 0, capturedCents: cents, refundedCents: 0 },
})

export function factsOf(task: string, { effects, read, state, lacks = [] }: Omit<Basis, 'answer' | 'ended'>): Facts {
  const payments = state.payments.map(({ to, party, status, amountCents }) => {
    return { ...paymentOf(to, party, amountCents), status }
  })
  const purchases = state.purchases.map(({ merchant, amountCents, ...purchase }) => {
    const isReleased = purchase.isNew && purchase.heldCents + purchase.capturedCents === 0
    return { kind: 'purchase' as const, recipient: merchant, cents: amountCents, ...purchase, isReleased }
  })
  const wires = effects.filter(({ what, by, cents }) => ['wire', 'transfer'].includes(what) && by === 'agent' && cents)
  const others = wires
    .filter(
      ({ cents, to }) => !payments.some((one) => one.cents === cents && (to === undefined || one.recipient === to)),
    )
    .map(({ to = '', of = '', cents = 0 }) => paymentOf(to, of, cents))
  const moves: Move[] = [
    ...payments.filter(({ status }) => moved.has(status)),
    ...others,
    ...purchases.filter(({ decline }) => decline === null),
  ]
  const waiting = payments.filter(({ status }) => status === 'IN_REVIEW')
  const failed: Move[] = [
    ...payments.filter(({ status }) => !moved.has(status) && status !== 'IN_REVIEW'),
    ...purchases.filter(({ decline }) => decline !== null),
  ]
  const isCut = read.isCut || lacks.includes('read')
  const hasCaused = (...kinds: EffectKind[]) =>
    lacks.includes('effects') ? undefined : effects.some(({ what, by }) => by === 'agent' && kinds.includes(what))
  const all = [...moves, ...waiting, ...failed]
  const amounts = sourcedAmounts({ task, read, moves: all, effects })
  const recipients = all.map(({ recipient }) => recipient)
  return { task, read, state, moves, waiting, failed, recipients, amounts, isCut, hasCaused, effects }
}

type AmountSources = Pick<Facts, 'task' | 'read' | 'moves' | 'effects'>

/** The maximum number of amounts that are combined in pairs. With more, almost any amount would be the result. */
const maxOperands = 40

function sourcedAmounts({ task, read, moves, effects }: AmountSources): Set<number> {
  const taskAmounts = amountsIn(task).map(({ cents }) => cents)
  const carts = read.carts.flatMap(({ items, amounts }) => [
    ...amounts,
    ...items.flatMap(({ price, quantity }) => [price, price * quantity]),
  ])
  const ownAmounts = moves.flatMap((move) => [move.cents, ...partsOf(move)])
  const caused = effects.flatMap(({ cents }) => (cents === undefined ? [] : [cents]))
  const total = moves.reduce((sum, { isNew, cents }) => sum + (isNew ? cents : 0), 0)
  const operands = [...new Set([...taskAmounts, total, ...ownAmounts, ...caused, ...carts, ...read.balances])].slice(
    0,
    maxOperands,
  )
  const known = new Set([...operands, ...carts, ...caused, ...read.amounts, ...read.told, 0])
  for (const one of operands) {
    for (const other of operands) {
      known.add(one + other)
      known.add(Math.abs(one - other))
    }
  }
  return known
}

function partsOf({ cents, heldCents, capturedCents, refundedCents }: Move): number[] {
  return [heldCents, capturedCents, refundedCents, capturedCents - refundedCents, cents - capturedCents]
}

/** Returns the amounts that an answer may mention for a payment or a purchase. */
export function movedAmounts(move: Move, { read }: Facts): Set<number> {
  if (move.kind === 'payment') return new Set([move.cents])
  const carts = read.carts.filter(({ at }) => at === move.recipient)
  return new Set([
    move.cents,
    ...partsOf(move),
    ...carts.flatMap(({ amounts }) => amounts),
    ...carts.flatMap(({ items }) => items.flatMap(({ price, quantity }) => [price, price * quantity])),
  ])
}

/** Returns whether a party is the agent's own party, and not a customer. */
export function isOwn(party: string, { state }: Facts): boolean {
  return !state.customers.some(({ customer }) => customer === party)
}

/** Returns whether a text is about money that is still held according to the statuses that the agent read. */
export function isStillHeld(text: string, { read }: Facts): boolean {
  if (!/\b(?:hold|authori[sz]ation|money|funds|amount|let go)\b|\$/i.test(text)) return false
  const hasStatus = (pattern: RegExp) => read.statuses.some((status) => pattern.test(status))
  const isHeld = hasStatus(/^(?:cardTransaction authorized|shopOrder placed)$/)
  return isHeld && !hasStatus(/reversed|released|partially_captured|partly|refunded|expired|declined|open/)
}

/** Returns whether the agent read about a payment from before the trial. */
export function hasEarlierPayment(
  { read, state }: Facts,
  status = /^payment (?:COMPLETED|PENDING_CLAIM|IN_REVIEW)$/,
): boolean {
  // If there are payments from this trial, the status that the agent read may belong to one of them.
  if (state.payments.length > 0) return false
  return read.statuses.some((one) => status.test(one))
}
