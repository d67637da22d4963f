import type { Finish, Transaction } from './store.ts'

interface DeferredItem {
  finish: Finish<unknown>
  item: unknown
}

/** The items that a transaction has deferred to its end (`Transaction.atEnd`), the earliest deferred first. */
export class DeferredItems {
  #deferred: DeferredItem[] = []

  /** The number of deferred items. Passing it to `truncate` later drops the items that were added in between. */
  get count(): number {
    return this.#deferred.length
  }

  add<Item>(finish: Finish<Item>, item: Item): void {
    this.#deferred.push({ finish: finish as Finish<unknown>, item })
  }

  /** Returns the items that have been deferred to the given `finish` function so far. */
  for<Item>(finish: Finish<Item>): Item[] {
    return this.#deferred.filter((one) => one.finish === finish).map(({ item }) => item as Item)
  }

  /** Drops all but the first `count` items. */
  truncate(count: number): void {
    this.#deferred.length = count
  }

  /** Calls each `finish` function with its items. */
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
