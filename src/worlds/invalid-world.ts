/**
 * The error for an impossible world. `path` is a path in the parsed value; `pathInFile` converts it to the path in the
 * file.
 */
export class InvalidWorldError extends Error {
  readonly path: readonly PropertyKey[]
  readonly reason: string
  constructor(path: readonly PropertyKey[], reason: string) {
    super(`The world is impossible: ${path.join('.')} ${reason.replace(/\.$/, '')}.`)
    this.name = 'InvalidWorldError'
    this.path = path
    this.reason = reason
  }
}

export function refuseWorld(path: readonly PropertyKey[], reason: string): never {
  throw new InvalidWorldError(path, reason)
}
