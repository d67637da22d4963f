import { bigint, flag, type RowOf, table, text } from './table.ts'

/** The session of a browser in which a user is signed in. All times are on the real clock. */
export const signInSessions = table({
  idHash: text,
  userId: text,
  createdAtMs: bigint,
  expiresAtMs: bigint,
  /** Whether the user signed in with one click, as any local program can, and has not entered a password since. */
  oneClick: flag,
  $key: ['idHash'],
  $indexes: ['expiresAtMs', 'userId'],
})

export type SignInSessionRow = RowOf<typeof signInSessions>

/** A one-time link that signs a user in. The row is deleted when the link is used. All times are on the real clock. */
export const signInLinks = table({
  /** SHA-256 of the code in the link's URL, in hexadecimal. The code itself is not stored. */
  codeHash: text,
  userId: text,
  createdAtMs: bigint,
  expiresAtMs: bigint,
  $key: ['codeHash'],
  $indexes: ['userId', 'expiresAtMs'],
})

export type SignInLinkRow = RowOf<typeof signInLinks>

/** A browser in which a user has signed in before, identified by a cookie's hash. All times are on the real clock. */
export const knownBrowsers = table({
  idHash: text,
  userId: text,
  createdAtMs: bigint,
  expiresAtMs: bigint,
  $key: ['idHash'],
  $indexes: ['userId', 'expiresAtMs'],
})

export type KnownBrowserRow = RowOf<typeof knownBrowsers>
