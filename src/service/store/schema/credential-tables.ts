/** A short-lived token that a key was exchanged for. */
export interface AccessTokenRow {
  id: string
  /** The key's. */
  credentialId: string
  secretHash: string
  /** On real time: how long a bearer token works is no part of what the sandbox's clock rehearses. */
  expiresAtMs: number
}

/** One thing that was done, or recorded as refused. Rows are only added; each names the hash of the one before. */
export interface ActivityRow {
  id: string
  /** The party whose credential did it: each has a chain of its own. */
  partyId: string
  /** 1 is the chain's first row. */
  sequence: number
  operation: string
  /** `visitor`: somebody without a credential, whom the link of a page let in. */
  actorType: 'user' | 'party' | 'agent' | 'visitor'
  agentId: string | null
  userId: string | null
  keyId: string
  instanceId: string | null
  /** The customer it was done for. */
  customerPartyId: string | null
  /** JSON array. */
  resourceIds: string
  /** The HTTP status it answered. */
  status: number
  /** The error it answered, if it did. */
  code: string | null
  createdAtMs: number
  previousHash: string
  hash: string
}
