/** A world that is impossible. `path` is in the parsed value (`pathInFile` converts it). */
export class WorldMistakeError extends Error {
  readonly path: readonly PropertyKey[]
  readonly reason: string
  constructor(path: readonly PropertyKey[], reason: string) {
    super(`The world is impossible: ${path.join('.')} ${reason.replace(/\.$/, '')}.`)
    this.name = 'WorldMistakeError'
    this.path = path
    this.reason = reason
  }
}

/** Refuses a world as impossible. @throws InvalidWorldError */
export function mistake(path: readonly PropertyKey[], reason: string): never {
  throw new WorldMistakeError(path, reason)
}
