/**
 * Thrown if the database belongs to another program, another version or the other environment. Trying again cannot
 * help.
 */
export class WrongDatabaseError extends Error {
  override readonly name: string = 'WrongDatabaseError'
}

/** Thrown if a pre-release of payments-mcp with other tables created the database. */
export class OtherSchemaError extends WrongDatabaseError {
  override readonly name = 'OtherSchemaError'
}
