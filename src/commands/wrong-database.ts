import { ConfigError } from '../config/load.ts'
import { WrongDatabaseError } from '../service/store/engine/wrong-database.ts'

/** Returns whether the program refused to start because the database is unsuitable. A retry cannot help then. */
export function isWrongDatabase(error: unknown): boolean {
  return error instanceof ConfigError && error.cause instanceof WrongDatabaseError
}
