/** A world says something that cannot be: where, in what was read of its file (`pathInFile`), and what. */
export class WorldMistakeError extends Error {
  readonly path: readonly PropertyKey[]
  readonly reason: string
  constructor(path: readonly PropertyKey[], reason: string) {
    super(`The world is not possible: ${path.join('.')} ${reason.replace(/\.$/, '')}.`)
    this.name = 'WorldMistakeError'
    this.path = path
    this.reason = reason
  }
}

/** @throws WorldMistakeError */
export function mistake(path: readonly PropertyKey[], reason: string): never {
  throw new WorldMistakeError(path, reason)
}
