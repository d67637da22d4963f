import { ApiError } from '../../client/api-error.ts'
import { Failure } from '../../core/errors.ts'

/** Returns whether the error means that an earlier call with the same key may still be running. */
export function isStillRunning(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 409 && error.outcomeUnknown
}

/**
 * Returns whether the service has recorded the refusal under the key of the call, so that no call with this key can
 * have an effect. The service may refuse a call for lack of access, or because of a rate limit, before it looks up the
 * key. An earlier call with the same key may then have succeeded. A server error may occur after the call had its
 * effect.
 */
export function isRecordedRefusal(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.outcomeUnknown) return false
  return error.status < 500 && error.code !== 'bad_gateway' && ![401, 403, 408, 429].includes(error.status)
}

/**
 * Returns whether the error proves that a call without a key changed nothing. Earlier attempts do not matter: the
 * client retries such a call only after status 429, which proves that the attempt changed nothing.
 */
export function changedNothing(error: unknown): boolean {
  if (error instanceof Failure) return true
  if (!(error instanceof ApiError) || error.outcomeUnknown) return false
  return error.unreached || (error.status < 500 && error.code !== 'bad_gateway')
}
