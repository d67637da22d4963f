import type { Finish, Transaction } from './store.ts'

interface DeferredItem {
  finish: Finish<unknown>
  item: unknown
}

/**
 * The items that a transaction has deferred to its end (`Transaction.atEnd`), in the order in which they were added.
 */
export class DeferredItems {
  #deferred: DeferredItem[] = []

  /** The number of deferred items. To drop the items that are added from now on, pass this number to `truncate`. */
  get count(): number {
    return this.#deferred.length
  }

  add<Item>(finish: Finish<Item>, item: Item): void {
    this.#deferred.push({ finish: finish as Finish<unknown>, item })
  }

  /** Returns the items that have been added for the given `finish` function so far. */
  for<Item>(finish: Finish<Item>): Item[] {
    return this.#deferred.filter((one) => one.finish === finish).map(({ item }) => item as Item)
  }

  /** Drops all but the first `count` items. */
  truncate(count: number): void {
    this.#deferred.length = count
  }

  /** Calls each `finish` function once, with the items that were added for it. */
  async run(tx: Transaction): Promise<void> {
    if (this.#deferred.length === 0) return
    const byFinish = Map.groupBy(this.#deferred, ({ finish }) => finish)
    this.#deferred = []
    for (const [finish, group] of byFinish)
      await finish(
        tx,
        group.map(({ item }) => item),
      )
  }
}
