/** A world file says something that cannot be: where, in what was read of it (`pathInFile`), and what. */
export class WorldMistakeError extends Error {
  readonly path: readonly PropertyKey[]
  constructor(path: readonly PropertyKey[], message: string) {
    super(message)
    this.name = 'WorldMistakeError'
    this.path = path
  }
}

/** @throws WorldMistakeError */
export function mistake(path: readonly PropertyKey[], message: string): never {
  throw new WorldMistakeError(path, message)
}
