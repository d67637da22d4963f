import { ConfigError } from '../config/load.ts'
import { WrongDatabaseError } from '../service/store/engine/wrong-database.ts'

/** Returns whether the error means that the database is unsuitable. A retry cannot help in that case. */
export function isWrongDatabase(error: unknown): boolean {
  return error instanceof ConfigError && error.cause instanceof WrongDatabaseError
}
