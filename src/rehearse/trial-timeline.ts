import { catalogue } from '../../tools/index.ts'
import { nextDueMs, settleDue } from '../service/request/due-effects.ts'
import { faultEntry } from '../service/store/activity.ts'
import type { Store } from '../service/store/engine/store.ts'
import { effectsBetween } from './effects/compare.ts'
import type { Names } from './effects/descriptions.ts'
import type { Moment, TableReader } from './effects/tables.ts'
import { moneyAt, movesBetween } from './ledger-moves.ts'
import type { Person } from './person.ts'
import type { Effect, Entry, LedgerMove, MoneyPoint } from './results.ts'
import type { TrialSystem } from './trial-system.ts'

interface TimelineOptions {
  store: Store
  system: TrialSystem
  person: Person
  names: Names
  /** The id of the agent's party. The timeline records the money of this party. */
  partyId: string
  reader: TableReader
  beginning: Moment
}

/** A step of the timeline before its time, its ledger moves and its faults are added. */
export type Step = Omit<Entry, 'atMs' | 'moves' | 'fault'>

/**
 * The maximum number of stops that `passTo` makes, each at a time when effects or a decision are due. Only a bug can
 * cause so many stops.
 */
const maxDueTimes = 10_000

/** The record of a trial: the time, the steps, the effects of the steps, and the money of the agent's party. */
export class TrialTimeline {
  readonly entries: Entry[] = []
  readonly money: MoneyPoint[]
  readonly effects: Effect[] = []
  readonly #options: TimelineOptions
  #last: Moment
  /** How many milliseconds the sandbox clock is ahead of the clock of the trial's system. */
  #aheadMs: number
  #reportedFaults = new Set<string>()

  constructor(options: TimelineOptions) {
    this.#options = options
    this.#last = options.beginning
    this.#aheadMs = options.beginning.nowMs - options.system.now()
    this.money = [moneyAt(options.beginning, options.partyId)]
  }

  /** Returns the time by the sandbox clock. */
  get nowMs(): number {
    return this.#options.system.now() + this.#aheadMs
  }

  /**
   * Moves the time forward to `untilMs`. On the way, each due effect and each decision of the person happens at its own
   * time.
   */
  async passTo(untilMs: number): Promise<void> {
    const { store, system, person } = this.#options
    for (let count = 0; count < maxDueTimes; count++) {
      const nextMs = Math.min(person.nextMs ?? Number.POSITIVE_INFINITY, (await nextDueMs(store)) ?? untilMs + 1)
      if (nextMs > untilMs) break
      system.move(nextMs - this.nowMs)
      await this.#settle()
      await this.#letPersonAct()
    }
    system.move(untilMs - this.nowMs)
  }

  /** Moves the time forward by `ms`, or only to the person's next decision if that comes earlier. */
  async wait(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms
    await this.passTo(Math.min(this.#options.person.nextMs ?? untilMs, untilMs))
  }

  /** Carries out a step, and records it with its effects. */
  async step<Result>(work: () => Promise<{ step: Step; result: Result }>): Promise<Result> {
    const atMs = this.nowMs
    const { step, result } = await work()
    const moves = await this.#readLedger(causeOf(step), true)
    this.entries.push({ atMs, ...step, moves, fault: await this.#newFault() })
    await this.#options.person.findDecisions()
    // If the step moved the clock, a decision of the person may be due now.
    await this.#letPersonAct()
    return result
  }

  async #settle(): Promise<void> {
    const { store, system } = this.#options
    await settleDue({ store, system })
    const atMs = this.nowMs
    const moves = await this.#readLedger('time', false)
    if (moves.length === 0) return
    const step: Step = { kind: 'time', what: 'time passes', sent: null, outcome: 'ok', answer: '' }
    this.entries.push({ atMs, ...step, moves, fault: null })
  }

  async #letPersonAct(): Promise<void> {
    const { person } = this.#options
    for (let act = await person.act(this.nowMs); act !== undefined; act = await person.act(this.nowMs)) {
      const step: Step = { kind: 'person', what: act.what, sent: null, outcome: act.outcome, answer: '' }
      this.entries.push({ atMs: this.nowMs, ...step, moves: await this.#readLedger('person', true), fault: null })
    }
  }

  /**
   * Returns the ledger moves since the previous call of this method. Also records the effects and any change in the
   * party's money since that call.
   * @param isStep whether the effects belong to the next step of the timeline even if no money moved
   */
  async #readLedger(by: Effect['by'], isStep: boolean): Promise<LedgerMove[]> {
    const { reader, system, names, partyId } = this.#options
    const [before, now] = [this.#last, await reader.read()]
    this.#last = now
    this.#aheadMs = now.nowMs - system.now()
    const point = moneyAt(now, partyId)
    const last = this.money.at(-1)
    const { availableCents, heldCents, spentCents } = point
    const isSame =
      last?.availableCents === availableCents && last.heldCents === heldCents && last.spentCents === spentCents
    if (!isSame) this.money.push(point)
    const moves = movesBetween(before.tables, now.tables, names)
    const step = isStep || moves.length > 0 ? this.entries.length + 1 : null
    this.effects.push(...effectsBetween(before.tables, now.tables, names, { by, step }))
    return moves
  }

  /**
   * Returns the faults that were added to the activity log since the previous step, separated by commas; null if there
   * are none.
   */
  async #newFault(): Promise<string | null> {
    const rows = await this.#options.store.transaction((tx) =>
      tx.db.selectFrom('activity').select(['id', 'code']).where('operation', '=', faultEntry).orderBy('id').execute(),
    )
    const newRows = rows.filter(({ id }) => !this.#reportedFaults.has(id))
    for (const { id } of newRows) this.#reportedFaults.add(id)
    return newRows.length === 0 ? null : newRows.map(({ code }) => code).join(', ')
  }
}

/**
 * The tool and the request that move the sandbox clock. If a step uses one of them, the effects of the step are due
 * effects, with the cause `time`.
 */
const clockOperations: ReadonlySet<string> = new Set([
  catalogue.advanceSandboxClock.name,
  `${catalogue.advanceSandboxClock.method} ${catalogue.advanceSandboxClock.path}`,
])

const causeOf = ({ kind, what }: Step): Effect['by'] =>
  kind === 'person' || kind === 'time' ? kind : clockOperations.has(what) ? 'time' : 'agent'
