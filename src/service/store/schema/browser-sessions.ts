import { bigint, flag, type RowOf, table, text } from './table.ts'

/** A browser in which a user is signed in. Its times are on the real clock. */
export const signInSessions = table({
  idHash: text,
  userId: text,
  createdAtMs: bigint,
  expiresAtMs: bigint,
  /** Whether the user signed in with one click, which any local program can do, and has entered no password since. */
  oneClick: flag,
  $key: ['idHash'],
  $indexes: ['expiresAtMs', 'userId'],
})

export type SignInSessionRow = RowOf<typeof signInSessions>

/** A one-time link that signs a user in. It is deleted when it is used. Its times are on the real clock. */
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

/** A browser in which a user has signed in before, identified by a cookie's hash. Its times are on the real clock. */
export const knownBrowsers = table({
  idHash: text,
  userId: text,
  createdAtMs: bigint,
  expiresAtMs: bigint,
  $key: ['idHash'],
  $indexes: ['userId', 'expiresAtMs'],
})

export type KnownBrowserRow = RowOf<typeof knownBrowsers>
