import type { OperationDefinition } from '../../core/operation.ts'
import type { Told } from '../rules/runs.ts'
import type { Posted } from '../store/engine/journal.ts'
import type { AccessTokenClaims } from '../tokens/signed-tokens.ts'
import type { Actor } from './actor.ts'
import type { Plan } from './faults.ts'
import type { Context, OtherAnswer } from './handler.ts'
import type { Claim } from './idempotency.ts'
import type { Incoming, Parsed, Unread } from './incoming.ts'
import type { RateLimit } from './rate-limit.ts'

/** One request on its way through the pipeline, and what later steps and the log learn on it. */
export interface RequestContext {
  operation: OperationDefinition
  carryOut: (input: never, context: Context) => Promise<unknown>
  incoming: Incoming | Unread
  supportId: string
  claims: AccessTokenClaims | undefined
  /** Who a page knows already that asks; undefined: the request's credential says it. */
  known: Actor | undefined
  /** Set once: a transaction that is run again does not count the request again. */
  limit?: RateLimit
  actor?: Actor
  /** The service's time at which it was looked at. */
  nowMs?: number
  claim?: Claim
  handled?: { context: Context; parsed: Parsed }
  /** The epoch that it was looked at in; of a reset, the one that it began. */
  epoch?: number
  /** What its transaction posts to the ledger. */
  postings?: readonly Posted[]
  /** What of it was its own, once that is committed. */
  posted: readonly Posted[]
  /** What it enters into other runs once it is done. */
  told?: Told[]
  /** The request moved the clock: it is answered when everything has happened that became due. */
  timeMoved?: boolean
  /** How it is answered, where that is not what is recorded, at once. */
  otherwise?: OtherAnswer | undefined
  /** What befalls it, once that is known. */
  plan: Plan
  /** The party and the key that the request will most likely be about; whether it is, shows when it was looked at. */
  expected?: Expected | undefined
}

export interface Expected {
  partyId: string
  key: string
}
