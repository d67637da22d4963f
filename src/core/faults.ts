import { type ErrorCode, Failure } from './errors.ts'

/** The faults that the sandbox can inject (docs/sandbox.md#faults). */
export const faultKinds = [
  /** The answer is an error, and nothing is done. */
  'error',
  /** The answer comes late. */
  'slow',
  /** No answer comes, and nothing is done. */
  'hang',
  /** The connection is cut, and nothing is done. */
  'reset',
  /** The change is made, but the connection is cut before the answer. */
  'effect_then_lost',
  /** The change is made, but the answer is a 503. */
  'effect_then_503',
  /** A read returns the state before the last change. */
  'stale',
  /** A list is returned empty. */
  'empty_page',
] as const

export type FaultKind = (typeof faultKinds)[number]

/** The longest duration that can be set for the faults `slow` and `hang`, in milliseconds. */
export const longestFaultMs = 120_000

/** The default durations of the faults that take time, in milliseconds. */
export const defaultFaultMs: { readonly [Kind in FaultKind]?: number } = { slow: 2_000, hang: 60_000 }

/** A fault to inject into a request. */
export interface Fault {
  kind: FaultKind
  /** The error code with which the fault `error` answers. */
  code?: ErrorCode | undefined
  /** The delay of `slow`, or the duration of `hang`, in milliseconds by the real clock. */
  afterMs?: number | undefined
}

/** Returns the failure with which the fault `error` answers. */
export function faultRefusal({ code = 'server_error' }: Pick<Fault, 'code'>): Failure {
  return new Failure(code, {
    ...(code === 'service_unavailable' ? { retryable: true } : {}),
    ...(code === 'rate_limited' ? { retryAfterSeconds: 1 } : {}),
  })
}

/**
 * The error that the sandbox throws if a fault cuts the connection. `inProcessFetch` converts it to the error that a
 * client on a network gets.
 */
export class ConnectionCutError extends Error {
  readonly code = 'ECONNRESET'
  constructor() {
    super('A sandbox fault cut the connection.')
    this.name = 'ConnectionCutError'
  }
}
