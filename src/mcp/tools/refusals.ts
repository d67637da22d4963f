import { ApiError } from '../../client/api-error.ts'
import { Failure } from '../../core/errors.ts'

/** Returns whether the error means that an earlier call with the same key may still be running. */
export function isStillRunning(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 409 && error.outcomeUnknown
}

/**
 * Returns whether the service has recorded the refusal, so that no call with the same key can have an effect. Refusals
 * because of access or rate limits are not recorded, so an earlier call may have succeeded. Neither are server errors,
 * which may occur after the effect.
 */
export function isRecordedRefusal(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.outcomeUnknown) return false
  return error.status < 500 && error.code !== 'bad_gateway' && ![401, 403, 408, 429].includes(error.status)
}

/** Returns whether the error proves that a call without a key changed nothing. Such a call has only one attempt. */
export function changedNothing(error: unknown): boolean {
  if (error instanceof Failure) return true
  if (!(error instanceof ApiError) || error.outcomeUnknown) return false
  return error.unreached || (error.status < 500 && error.code !== 'bad_gateway')
}
