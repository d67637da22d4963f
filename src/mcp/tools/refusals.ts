import { ApiError } from '../../client/api-error.ts'
import { Failure } from '../../core/errors.ts'

/** Tells whether the call that the key was first sent for has no answer yet. */
export function runsStill(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status === 409 && error.outcomeUnknown
}

/**
 * Tells whether nothing was done under the key, nor ever will be: such an answer is recorded. A refusal of the gates in
 * front is not, so an equal call may have come through; and a failure inside the service may come after the effect.
 */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.outcomeUnknown) return false
  return error.status < 500 && error.code !== 'bad_gateway' && ![401, 403, 408, 429].includes(error.status)
}

/** Tells whether nothing was done, where there is no key and so no other attempt. */
export function isUndone(error: unknown): boolean {
  if (error instanceof Failure) return true
  if (!(error instanceof ApiError) || error.outcomeUnknown) return false
  return error.unreached || (error.status < 500 && error.code !== 'bad_gateway')
}
