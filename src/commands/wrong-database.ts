import { ConfigError } from '../config/load.ts'
import { WrongDatabaseError } from '../service/store/engine/wrong-database.ts'

/** Whether a start was refused because of what the database is: trying again cannot help. */
export function isWrongDatabase(error: unknown): boolean {
  return error instanceof ConfigError && error.cause instanceof WrongDatabaseError
}
