import type { Kysely } from 'kysely'
import { createTable, type TableDefinition } from './schema.ts'

export interface OAuthTables {
  oauthRecords: OAuthRecordRow
  oauthGrants: OAuthGrantRow
  grantTokens: GrantTokenRow
  signingKeys: SigningKeyRow
  signInSessions: SignInSessionRow
  passwords: PasswordRow
}

/**
 * What the authorization server keeps for a while: sessions, codes, refresh tokens, device codes, registered clients.
 * Nothing that a bearer could present is in it: such ids are hashed, in the key and in the payload.
 */
export interface OAuthRecordRow {
  model: string
  idHash: string
  /** JSON. */
  payload: string
  grantId: string | null
  uid: string | null
  userCodeHash: string | null
  /** On real time, as all of OAuth; null: it does not end by itself. */
  expiresAtMs: number | null
  createdAtMs: number
}

/** What a user allowed an application, acting as an agent or as the user (docs/service.md#oauth-scopes). */
export interface OAuthGrantRow {
  id: string
  userId: string
  partyId: string
  /** Null: it acts as the user. */
  agentId: string | null
  clientId: string
  clientName: string
  /** Names separated by spaces. */
  scopes: string
  /** JSON, as the authorization server keeps it. */
  payload: string
  /** The instants below are of the service's clock, but for the end, which is of real time. */
  createdAtMs: number
  lastUsedAtMs: number | null
  revokedAtMs: number | null
  expiresAtMs: number | null
}

/** A short-lived token that an access token was exchanged for. */
export interface GrantTokenRow {
  id: string
  grantId: string
  scopes: string
  secretHash: string
  expiresAtMs: number
}

/** A key that access tokens are signed with. Its instants are real time. */
export interface SigningKeyRow {
  kid: string
  /** JSON Web Key, the private part included. */
  jwk: string
  createdAtMs: number
}

/** A browser in which a user is signed in. Its instants are real time. */
export interface SignInSessionRow {
  idHash: string
  userId: string
  createdAtMs: number
  expiresAtMs: number
}

export interface PasswordRow {
  userId: string
  /** `scrypt$N$r$p$salt$hash`. */
  hash: string
}

const tables: Record<string, TableDefinition> = {
  oauthRecords: {
    text: 'model idHash payload grantId? uid? userCodeHash?',
    bigint: 'expiresAtMs? createdAtMs',
    key: ['model', 'idHash'],
    indexes: [['grantId'], ['model', 'uid'], ['model', 'userCodeHash'], ['expiresAtMs']],
  },
  oauthGrants: {
    text: 'id userId partyId agentId? clientId clientName scopes payload',
    bigint: 'createdAtMs lastUsedAtMs? revokedAtMs? expiresAtMs?',
    key: ['id'],
    indexes: [['userId', 'clientId']],
  },
  grantTokens: {
    text: 'id grantId scopes secretHash',
    bigint: 'expiresAtMs',
    key: ['id'],
    indexes: [['expiresAtMs']],
    uniqueIndexes: [['secretHash']],
  },
  signingKeys: { text: 'kid jwk', bigint: 'createdAtMs', key: ['kid'] },
  signInSessions: {
    text: 'idHash userId',
    bigint: 'createdAtMs expiresAtMs',
    key: ['idHash'],
    indexes: [['expiresAtMs']],
  },
  passwords: { text: 'userId hash refusedAtMs', key: ['userId'] },
}

/** What signing in and connecting applications needs. */
export async function createOAuthSchema(db: Kysely<unknown>): Promise<void> {
  for (const [name, definition] of Object.entries(tables)) await createTable(db, name, definition)
}
