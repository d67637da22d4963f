import type { CardBehavior } from '../../src/service/rules/card-behaviors.ts'
import { dayMs } from './merchant.ts'

/**
 * A command to one subscription. A `card` command sets how the card behaves, beginning `ahead` payments after the next
 * payment (by default, with the next payment).
 */
export type Command =
  | { do: 'card'; behavior: CardBehavior; ahead: number | undefined }
  | { do: 'resume' }
  | { do: 'cancel' }
  | { do: 'mark'; which: 'missed' | 'next' }

/**
 * A slow model of billing that follows the specification literally: it goes through every midnight and checks whether a
 * charge is due on that day. The service must give the same results.
 */
export class DayByDay {
  nowMs: number
  status: 'active' | 'past_due' | 'needs_attention' | 'canceled' | 'completed' = 'active'
  missed: number[] = []
  attention: { reason: string; sinceMs: number } | null = null
  readonly charged: [paymentNumber: number, atMs: number][]
  readonly #count: number
  readonly #due: (paymentNumber: number) => number
  /** The behaviors of the payer's card, each with the number of the first payment that it applies to. */
  readonly #rules: { from: number; behavior: CardBehavior }[]
  readonly #settled = new Set<number>([1])
  readonly #tried = new Map<number, number>()

  constructor(startMs: number, count: number | null, behavior: CardBehavior, due: (paymentNumber: number) => number) {
    this.nowMs = startMs
    this.#count = count ?? 1000
    this.#due = due
    this.charged = [[1, startMs]]
    this.#rules = [{ from: 2, behavior }]
  }

  /** The number of the first payment that is not paid, marked paid or missed; null if there is none. */
  get next(): number | null {
    for (let number = 1; number <= this.#count; number++) {
      if (!this.#settled.has(number) && !this.missed.includes(number)) return number
    }
    return null
  }

  /** Returns the due day of a payment as `YYYY-MM-DD`. */
  dueOn(paymentNumber: number): string {
    return new Date(this.#due(paymentNumber)).toISOString().slice(0, 10)
  }

  passTo(toMs: number): void {
    for (let midnight = this.nowMs - (this.nowMs % dayMs) + dayMs; midnight <= toMs; midnight += dayMs) {
      this.nowMs = midnight
      this.#midnight()
    }
    this.nowMs = toMs
  }

  take(command: Command): string {
    if (command.do === 'cancel') {
      if (this.status === 'completed') return 'conflict'
      this.status = 'canceled'
      this.attention = null
      return 'done'
    }
    if (command.do === 'mark') return this.#mark(command.which)
    if (command.do === 'resume') {
      if (this.status !== 'needs_attention') return 'conflict'
      this.attention = null
      this.status = this.missed.length > 0 ? 'past_due' : 'active'
      this.#completeWhenOver()
      const next = this.next
      if (this.#collects && next !== null && this.#due(next) <= this.nowMs) this.#charge(next)
      return 'done'
    }
    if (this.#final) return 'conflict'
    const from = (this.next ?? this.#count + 1) + (command.ahead ?? 0)
    while ((this.#rules.at(-1)?.from ?? 0) >= from) this.#rules.pop()
    this.#rules.push({ from, behavior: command.behavior })
    return 'done'
  }

  get #final(): boolean {
    return this.status === 'canceled' || this.status === 'completed'
  }

  get #collects(): boolean {
    return this.status === 'active' || this.status === 'past_due'
  }

  #midnight(): void {
    const next = this.next
    if (this.#final || next === null) return
    const day = (this.nowMs - this.#due(next)) / dayMs
    if (this.#collects && [0, 1, 3, 5].includes(day)) this.#charge(next)
    // While collection is stopped, a payment is missed seven days after its due day.
    if (this.status === 'needs_attention' && day === 7) this.missed.push(next)
  }

  #charge(number: number): void {
    const tries = this.#tried.get(number) ?? 0
    this.#tried.set(number, tries + 1)
    const behavior = this.#rules.findLast(({ from }) => from <= number)?.behavior ?? 'approves'
    if (behavior === 'approves' || (behavior === 'declines_once' && tries > 0)) {
      this.charged.push([number, this.nowMs])
      this.#settled.add(number)
      this.#completeWhenOver()
    } else if (behavior === 'agreement_fails') {
      this.status = 'canceled'
    } else if (behavior === 'blocked') this.#stop('card_blocked')
    else if (behavior === 'needs_update') this.#stop('card_needs_update')
    else if (behavior === 'removed') this.#stop('card_removed')
    else if (this.nowMs >= this.#due(number) + 5 * dayMs) {
      const isSecondInRow = this.missed.includes(number - 1)
      this.missed.push(number)
      this.status = 'past_due'
      if (isSecondInRow) this.#stop(behavior === 'processor_error' ? 'not_charged' : 'missed_twice')
    }
  }

  #stop(reason: string): void {
    this.status = 'needs_attention'
    this.attention = { reason, sinceMs: this.nowMs }
  }

  #mark(which: 'missed' | 'next'): string {
    const next = this.next ?? this.#count + 1
    const number = which === 'missed' ? (this.missed[0] ?? next) : next
    if (number > this.#count) return 'not_found'
    if (this.#final) return 'conflict'
    this.#settled.add(number)
    this.missed = this.missed.filter((missed) => missed !== number)
    if (this.status === 'past_due' && this.missed.length === 0) this.status = 'active'
    this.#completeWhenOver()
    return 'done'
  }

  #completeWhenOver(): void {
    if (this.#collects && this.next === null && this.missed.length === 0) this.status = 'completed'
  }
}
