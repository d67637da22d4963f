/** The database belongs to another program, another version or the other environment: trying again cannot help. */
export class WrongDatabaseError extends Error {
  override readonly name: string = 'WrongDatabaseError'
}

/** The database was made by a pre-release of payments-mcp with other tables. */
export class OtherSchemaError extends WrongDatabaseError {
  override readonly name = 'OtherSchemaError'
}
