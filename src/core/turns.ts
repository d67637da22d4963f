/** Runs jobs one after another, in the order of their arrival. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    return turn
  }
}

/** Runs jobs with the same name one after another. */
export class NamedTurns {
  readonly #named = new Map<string, { turns: Turns; works: number }>()

  async take<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const named = this.#named.get(name) ?? { turns: new Turns(), works: 0 }
    this.#named.set(name, named)
    named.works += 1
    try {
      return await named.turns.take(work)
    } finally {
      named.works -= 1
      if (named.works === 0) this.#named.delete(name)
    }
  }
}
