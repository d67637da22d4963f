/** Thrown if the database belongs to another program, version or environment. Retrying cannot help. */
export class WrongDatabaseError extends Error {
  override readonly name: string = 'WrongDatabaseError'
}

/** Thrown if the database was created by a pre-release of payments-mcp with a different schema. */
export class OtherSchemaError extends WrongDatabaseError {
  override readonly name = 'OtherSchemaError'
}
