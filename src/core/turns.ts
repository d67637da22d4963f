/** A queue that runs jobs one after another, in order of arrival. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  take<Result>(job: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(job)
    this.#last = turn.catch(() => {})
    return turn
  }
}

/** A separate queue for each name. Jobs with the same name run one after another. */
export class NamedTurns {
  readonly #named = new Map<string, { turns: Turns; jobCount: number }>()

  async take<Result>(name: string, job: () => Promise<Result>): Promise<Result> {
    const named = this.#named.get(name) ?? { turns: new Turns(), jobCount: 0 }
    this.#named.set(name, named)
    named.jobCount += 1
    try {
      return await named.turns.take(job)
    } finally {
      named.jobCount -= 1
      if (named.jobCount === 0) this.#named.delete(name)
    }
  }
}
