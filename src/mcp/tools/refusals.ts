import { ApiError } from '../../client/api-error.ts'
import { Failure } from '../../core/errors.ts'

/** Returns whether the first call with this key has no answer yet. */
export function isStillRunning(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 409 && error.outcomeUnknown
}

/**
 * Returns whether the refusal is recorded, so that a call under the same key never has an effect. Refusals of access or
 * rate are not recorded, so an equal call may have succeeded. A failure inside the service may come after the effect.
 */
export function isRecordedRefusal(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.outcomeUnknown) return false
  return error.status < 500 && error.code !== 'bad_gateway' && ![401, 403, 408, 429].includes(error.status)
}

/** Returns whether a call without a key changed nothing. Such a call is attempted only once. */
export function changedNothing(error: unknown): boolean {
  if (error instanceof Failure) return true
  if (!(error instanceof ApiError) || error.outcomeUnknown) return false
  return error.unreached || (error.status < 500 && error.code !== 'bad_gateway')
}
