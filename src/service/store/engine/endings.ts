import type { Finish, Transaction } from './store.ts'

interface Ending {
  finish: Finish<unknown>
  item: unknown
}

/** What a work leaves for the end of its transaction, in order. */
export class Endings {
  #left: Ending[] = []

  /** How much was left so far: what to go back to. */
  get count(): number {
    return this.#left.length
  }

  add<Item>(finish: Finish<Item>, item: Item): void {
    this.#left.push({ finish: finish as Finish<unknown>, item })
  }

  /** Returns what was left for one finish so far. */
  for<Item>(finish: Finish<Item>): Item[] {
    return this.#left.filter((one) => one.finish === finish).map(({ item }) => item as Item)
  }

  /** Forgets all but the first so many. */
  backTo(count: number): void {
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
