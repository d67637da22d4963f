import type { Kysely } from 'kysely'
import { createTable, type TableDefinition } from './schema.ts'

export interface SignInBoundTables {
  refusedPasswords: RefusedPasswordRow
  knownBrowsers: KnownBrowserRow
}

/** A wrong password that was tried. Its instant is real time. */
export interface RefusedPasswordRow {
  id: string
  /** A hash of the email address that was entered, whether anybody has it or not. */
  account: string
  /** Where it was tried: a client's address, or a browser that signed in before. */
  source: string
  refusedAtMs: number
}

/** A browser in which a user signed in once, by the hash of its cookie. Its instants are real time. */
export interface KnownBrowserRow {
  idHash: string
  userId: string
  createdAtMs: number
  expiresAtMs: number
}

const tables: Record<string, TableDefinition> = {
  refusedPasswords: {
    text: 'id account source',
    bigint: 'refusedAtMs',
    key: ['id'],
    indexes: [['account', 'refusedAtMs'], ['refusedAtMs']],
  },
  knownBrowsers: {
    text: 'idHash userId',
    bigint: 'createdAtMs expiresAtMs',
    key: ['idHash'],
    indexes: [['userId'], ['expiresAtMs']],
  },
}

/** Wrong passwords are counted for an account and the place where they are tried together. */
export async function createSignInBoundsSchema(db: Kysely<unknown>): Promise<void> {
  for (const [name, definition] of Object.entries(tables)) await createTable(db, name, definition)
  await db.schema.alterTable('passwords').dropColumn('refusedAtMs').execute()
}
