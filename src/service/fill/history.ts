import { Failure } from '../../core/errors.ts'
import { withMoney } from '../../core/money.ts'
import { timestamp } from '../../core/system.ts'
import { mistake } from '../../worlds/mistake.ts'
import { balanceChange, type Posting } from '../rules/ledger.ts'
import type { WalletRow } from '../store/schema/wallets.ts'

/** Where in the world file something stands. */
export type Path = readonly PropertyKey[]

/** Something that happened before the world begins. */
interface Happening {
  atMs: number
  path: Path
  /** The money that it moves. */
  postings: readonly Posting[]
  happen(): Promise<void>
}

/** A wallet, what it is to have when all has happened, and where the file says so. */
export interface Funded {
  wallet: Pick<WalletRow, 'id'>
  balance: number | undefined
  path: Path
}

/** More would take minutes and gigabytes: a weekly subscription of fifty years alone causes 2,600. */
const mostEffects = 100_000

/** What happened before the world begins, in the order of time; at one moment in the order of the file. */
export class History {
  readonly #happenings: Happening[] = []
  #effects = 0

  /** @throws WorldMistakeError for more effects than a world may cause, before any of them is played. */
  add(happening: Happening): void {
    this.#effects += Math.max(1, happening.postings.length)
    if (this.#effects > mostEffects) {
      mistake(
        happening.path,
        `goes beyond the ${mostEffects} effects that may happen before a world begins; date things later, or leave some out`,
      )
    }
    this.#happenings.push(happening)
  }

  #inOrder(): Happening[] {
    return this.#happenings.toSorted((a, b) => a.atMs - b.atMs)
  }

  /**
   * With how much each wallet has to begin, so that it has what the file says in the end; where the file says nothing,
   * with no more than all that is paid from it takes.
   */
  openings(wallets: readonly Funded[]): Map<string, number> {
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
          const least = withMoney(needed + change)
          mistake(
            [...path, 'balance'],
            `must be at least ${least}, which comes of all that the file says of the wallet`,
          )
        }
        return [id, opening]
      }),
    )
  }

  /** Lets all of it happen. What the service's rules refuse is a mistake of the file. */
  async happen(): Promise<void> {
    for (const { path, atMs, happen } of this.#inOrder()) {
      try {
        await happen()
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        mistake(path, `could not happen at ${timestamp(atMs)}: ${error.message}`)
      }
    }
  }
}
