import { bigint, filled, flag, type RowOf, table, text } from './table.ts'

/** A browser in which a user is signed in. Its instants are real time. */
export const signInSessions = table({
  '0008_oauth': {
    idHash: text,
    userId: text,
    createdAtMs: bigint,
    expiresAtMs: bigint,
    $key: ['idHash'],
    $indexes: ['expiresAtMs'],
  },
  '0020_lists': {
    $indexes: ['userId'],
  },
  '0028_pending_decisions': {
    /** Begun without a password, as whoever is at the sandbox's machine may. */
    oneClick: filled(flag, '0'),
  },
})

export type SignInSessionRow = RowOf<typeof signInSessions>

/** A one-time link that signs a user in. It is deleted when it is used; its instants are real time. */
export const signInLinks = table({
  '0039_sign_in_links': {
    /** SHA-256 of the code in its address, hexadecimal; the code itself is not stored. */
    codeHash: text,
    userId: text,
    createdAtMs: bigint,
    expiresAtMs: bigint,
    $key: ['codeHash'],
    $indexes: ['userId', 'expiresAtMs'],
  },
})

export type SignInLinkRow = RowOf<typeof signInLinks>

/** A browser in which a user signed in once, by the hash of its cookie. Its instants are real time. */
export const knownBrowsers = table({
  '0015_sign_in_bounds': {
    idHash: text,
    userId: text,
    createdAtMs: bigint,
    expiresAtMs: bigint,
    $key: ['idHash'],
    $indexes: ['userId', 'expiresAtMs'],
  },
})

export type KnownBrowserRow = RowOf<typeof knownBrowsers>
