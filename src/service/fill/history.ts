import { Failure } from '../../core/errors.ts'
import { withMoney } from '../../core/money.ts'
import { timestamp } from '../../core/system.ts'
import { refuseWorld } from '../../worlds/invalid-world.ts'
import { balanceChange, type Posting } from '../rules/ledger.ts'
import type { WalletRow } from '../store/schema/wallets.ts'

/** A position in the world file. */
export type Path = readonly PropertyKey[]

/** An event before the world begins. */
interface HistoryEvent {
  atMs: number
  path: Path
  /** The money that the event moves. */
  postings: readonly Posting[]
  apply(): Promise<void>
}

export interface WalletBalance {
  wallet: Pick<WalletRow, 'id'>
  /** The wallet's balance after all events of the history; undefined if the file gives no balance. */
  balance: number | undefined
  /** The wallet's position in the file. */
  path: Path
}

/**
 * The maximum number of effects in a history. Each posting is one effect, and an event without postings is also one
 * effect. More effects would take minutes to apply, and gigabytes of memory. A weekly subscription causes 2,600 effects
 * in fifty years.
 */
const maxEffects = 100_000

/** The events before the world begins, in chronological order. Simultaneous events stay in file order. */
export class History {
  readonly #events: HistoryEvent[] = []
  #effects = 0

  /** Adds an event. @throws InvalidWorldError if the history then has too many effects. */
  add(event: HistoryEvent): void {
    this.#effects += Math.max(1, event.postings.length)
    if (this.#effects > maxEffects) {
      refuseWorld(
        event.path,
        `exceeds the limit of ${maxEffects} effects before the world begins; give events later times, or remove some`,
      )
    }
    this.#events.push(event)
  }

  #inOrder(): HistoryEvent[] {
    return this.#events.toSorted((a, b) => a.atMs - b.atMs)
  }

  /**
   * Returns each wallet's opening balance, computed as the wallet's balance in the file minus all changes in the
   * history. If the file gives no balance, the opening balance is just enough for all payments from the wallet.
   * @throws InvalidWorldError if a balance in the file is too low for the payments in the history.
   */
  openings(wallets: readonly WalletBalance[]): Map<string, number> {
    const [now, lowest] = [new Map<string, number>(), new Map<string, number>()]
    for (const { postings } of this.#inOrder()) {
      for (const posting of postings) {
        for (const id of new Set(posting.entries.flatMap(({ walletId }) => walletId ?? []))) {
          const after = (now.get(id) ?? 0) + balanceChange(posting, id).availableCents
          now.set(id, after)
          lowest.set(id, Math.min(lowest.get(id) ?? 0, after))
        }
      }
    }
    return new Map(
      wallets.map(({ wallet: { id }, balance, path }) => {
        const [change, needed] = [now.get(id) ?? 0, -(lowest.get(id) ?? 0)]
        const opening = balance === undefined ? needed : balance - change
        if (opening < needed) {
          const minimum = withMoney(needed + change)
          refuseWorld([...path, 'balance'], `must be at least ${minimum}, given the events in the file`)
        }
        return [id, opening]
      }),
    )
  }

  /** Applies all events in order. @throws InvalidWorldError if the service's rules refuse an event. */
  async apply(): Promise<void> {
    for (const { path, atMs, apply } of this.#inOrder()) {
      try {
        await apply()
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        refuseWorld(path, `could not happen at ${timestamp(atMs)}: ${error.message}`)
      }
    }
  }
}
