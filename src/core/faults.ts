import { type ErrorCode, Failure } from './errors.ts'

/** What can go wrong on purpose in the sandbox (docs/sandbox.md#faults). */
export const faultKinds = [
  /** The answer is an error, and nothing was done. */
  'error',
  /** The answer comes late. */
  'slow',
  /** No answer comes, and nothing was done. */
  'hang',
  /** The connection is cut, and nothing was done. */
  'reset',
  /** It was done, and the connection is cut before the answer. */
  'effect_then_lost',
  /** It was done, and the answer is a 503. */
  'effect_then_503',
  /** What is read is as it was before the last change. */
  'stale',
  /** A list has no items. */
  'empty_page',
] as const

export type FaultKind = (typeof faultKinds)[number]

/** The longest that `slow` and `hang` last. */
export const longestFaultMs = 120_000

/** How long they last unless it is said. */
export const usualFaultMs: { readonly [Kind in FaultKind]?: number } = { slow: 2_000, hang: 60_000 }

/** A fault that a request met. */
export interface Fault {
  kind: FaultKind
  /** What `error` answers. */
  code?: ErrorCode | undefined
  /** How late the answer of `slow` is, or how long `hang` lasts, milliseconds of real time. */
  afterMs?: number | undefined
}

/** What the fault `error` answers. */
export function faultRefusal({ code = 'server_error' }: Pick<Fault, 'code'>): Failure {
  return new Failure(code, {
    ...(code === 'service_unavailable' ? { retryable: true } : {}),
    ...(code === 'rate_limited' ? { retryAfterSeconds: 1 } : {}),
  })
}

/** The connection is cut instead of answered: a client in this process learns it as one over a network would. */
export class ConnectionCutError extends Error {
  readonly code = 'ECONNRESET'
  constructor() {
    super('The connection was cut by a fault of the sandbox.')
    this.name = 'ConnectionCutError'
  }
}
