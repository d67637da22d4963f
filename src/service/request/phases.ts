import type { OperationDefinition } from '../../core/operation.ts'
import type { Posted } from '../store/engine/journal.ts'
import type { Plan } from './faults.ts'
import type { Context } from './handler.ts'
import type { Claim } from './idempotency.ts'
import type { Actor } from './permission-checks.ts'
import type { RateLimit } from './rate-limit.ts'
import type { Reply } from './reply.ts'
import type { Incoming, Unread, Values } from './request-parsing.ts'

/** A request as it arrived, before any database query. */
export interface Arrived {
  operation: OperationDefinition
  carryOut: (input: never, context: Context) => Promise<unknown>
  incoming: Incoming | Unread
  supportId: string
  /** The signed-in user of a page of the service; undefined for an API request, which has a credential. */
  pageActor: Actor | undefined
  /** The decision whether a fault hits the request (docs/sandbox.md#faults). */
  plan: Plan
}

/** A request whose caller is known. */
export interface Known extends Arrived {
  actor: Actor
  /** The time and the epoch that the request's transaction read; undefined until it has read them. */
  at: { nowMs: number; epoch: number } | undefined
}

/** A request that the caller is permitted to send, with its parsed values and the party that it acts on. */
export interface Parsed extends Known {
  values: Values
  context: Context
  /** The claim to the request's Idempotency-Key; undefined if the operation takes no key. */
  claim: Claim | undefined
}

/** A request with its answer. The answer is final once the transaction is committed. */
export interface Done extends Parsed {
  reply: Reply
  /** The request's own postings, without the postings of due effects. */
  posted: readonly Posted[]
}

export type Phase = Arrived | Known | Parsed | Done

/** The progress of a request. The request's run entry and log line are built from the last phase that it reached. */
export interface Progress {
  reached: Phase
  /**
   * The result of counting the request against the rate limit. If the transaction runs again, the request is not
   * counted again.
   */
  limit: RateLimit | undefined
}
