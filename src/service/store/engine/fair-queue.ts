/**
 * A queue that consists of several lines. Items in one line leave in the order in which they were added. The lines take
 * turns, so a long line does not delay the others.
 */
export class FairQueue<Item> {
  /** The lines that are not empty. The line whose turn is next comes first. */
  readonly #lines = new Map<string | undefined, Item[]>()
  readonly #urgent: Item[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  push(line: string | undefined, item: Item): void {
    this.#length += 1
    const items = this.#lines.get(line)
    if (items === undefined) this.#lines.set(line, [item])
    else items.push(item)
  }

  /** Adds an item that leaves before all items in the lines. */
  pushUrgent(item: Item): void {
    this.#length += 1
    this.#urgent.push(item)
  }

  shift(): Item | undefined {
    if (this.#urgent.length > 0) {
      this.#length -= 1
      return this.#urgent.shift()
    }
    for (const [line, items] of this.#lines) {
      const item = items.shift()
      this.#lines.delete(line)
      if (items.length > 0) this.#lines.set(line, items)
      this.#length -= 1
      return item
    }
    return undefined
  }

  /** Removes and returns all items. */
  takeAll(): Item[] {
    const all = [...this.#urgent.splice(0), ...[...this.#lines.values()].flat()]
    this.#lines.clear()
    this.#length = 0
    return all
  }
}
