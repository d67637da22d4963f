import type { Finish, Transaction } from './store.ts'

interface DeferredItem {
  finish: Finish<unknown>
  item: unknown
}

/** The items a transaction has deferred to its end, in order. */
export class DeferredItems {
  #left: DeferredItem[] = []

  /** Returns the number of deferred items, as a position for `truncate`. */
  get count(): number {
    return this.#left.length
  }

  add<Item>(finish: Finish<Item>, item: Item): void {
    this.#left.push({ finish: finish as Finish<unknown>, item })
  }

  /** Returns the items that have been deferred to one `finish` function so far. */
  for<Item>(finish: Finish<Item>): Item[] {
    return this.#left.filter((one) => one.finish === finish).map(({ item }) => item as Item)
  }

  /** Drops all but the first `count` items. */
  truncate(count: number): void {
    this.#left.length = count
  }

  async run(tx: Transaction): Promise<void> {
    if (this.#left.length === 0) return
    const left = Map.groupBy(this.#left, ({ finish }) => finish)
    this.#left = []
    for (const [finish, of] of left)
      await finish(
        tx,
        of.map(({ item }) => item),
      )
  }
}
