import type { OperationDefinition } from '../../core/operation.ts'
import type { Posted } from '../store/engine/journal.ts'
import type { Plan } from './faults.ts'
import type { Context } from './handler.ts'
import type { Claim } from './idempotency.ts'
import type { Actor } from './permission-checks.ts'
import type { RateLimit } from './rate-limit.ts'
import type { Reply } from './reply.ts'
import type { Incoming, Unread, Values } from './request-parsing.ts'

/** A request as it arrived: nothing was asked of the database yet. */
export interface Arrived {
  operation: OperationDefinition
  carryOut: (input: never, context: Context) => Promise<unknown>
  incoming: Incoming | Unread
  supportId: string
  /** The user for whom a page of the service asks; undefined: the request's credential says who asks. */
  pageActor: Actor | undefined
  /** The fault that it meets, once that was found out. */
  plan: Plan
}

/** The caller is known. */
export interface Known extends Arrived {
  actor: Actor
  /** The moment at which the request is looked at; undefined before its transaction. */
  at: { nowMs: number; epoch: number } | undefined
}

/** The caller may ask this, and the party it is about and its values are known. */
export interface Parsed extends Known {
  values: Values
  context: Context
  /** Undefined where the operation takes no idempotency key. */
  claim: Claim | undefined
}

/** The answer is decided; it counts when the transaction is committed. */
export interface Done extends Parsed {
  reply: Reply
  /** The postings that the request itself made. */
  posted: readonly Posted[]
}

export type Phase = Arrived | Known | Parsed | Done

/** How far a request has come: all that its refusal, its run and the log know of it, wherever it ends. */
export interface Progress {
  reached: Phase
  /** Kept while the transaction runs again, so that a request is counted once. */
  limit: RateLimit | undefined
}
