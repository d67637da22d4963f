import { ConfigError } from '../config/load.ts'
import { WrongDatabaseError } from '../service/store/engine/wrong-database.ts'

/** Returns whether a start was refused because of the database itself, so that a retry cannot help. */
export function isWrongDatabase(error: unknown): boolean {
  return error instanceof ConfigError && error.cause instanceof WrongDatabaseError
}
