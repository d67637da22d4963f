import type { OperationDefinition } from '../../core/operation.ts'
import type { Posted } from '../store/engine/journal.ts'
import type { Plan } from './faults.ts'
import type { Context } from './handler.ts'
import type { Claim } from './idempotency.ts'
import type { Actor } from './permission-checks.ts'
import type { RateLimit } from './rate-limit.ts'
import type { Reply } from './reply.ts'
import type { Incoming, Unread, Values } from './request-parsing.ts'

/** A request as it arrived, before any query. */
export interface Arrived {
  operation: OperationDefinition
  carryOut: (input: never, context: Context) => Promise<unknown>
  incoming: Incoming | Unread
  supportId: string
  /** The signed-in user of a page of the service; undefined if the caller is identified by a credential. */
  pageActor: Actor | undefined
  /** The planned fault, once it is known. */
  plan: Plan
}

/** A request whose caller is known. */
export interface Known extends Arrived {
  actor: Actor
  /** The time that the request's transaction read; undefined before. */
  at: { nowMs: number; epoch: number } | undefined
}

/** A request that the caller may send, with the party acted on and the parsed values. */
export interface Parsed extends Known {
  values: Values
  context: Context
  /** The claim of the request's key; undefined if the operation takes no key. */
  claim: Claim | undefined
}

/** A request with its answer, which is final once the transaction is committed. */
export interface Done extends Parsed {
  reply: Reply
  /** The request's own postings, without those of due effects. */
  posted: readonly Posted[]
}

export type Phase = Arrived | Known | Parsed | Done

/**
 * The progress of a request. In whatever phase the request ends, its refusal, run entry and log line are built from
 * this.
 */
export interface Progress {
  reached: Phase
  /** Kept if the transaction runs again, so that the request is counted only once. */
  limit: RateLimit | undefined
}
