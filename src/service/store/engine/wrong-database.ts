/** The database belongs to another program, a newer version or the other environment: trying again cannot help. */
export class WrongDatabaseError extends Error {
  override readonly name = 'WrongDatabaseError'
}
