import type { Reply } from '../../request/reply.ts'

interface Refusal {
  detail: string
  source?: { header?: string }
}

/** Returns the error detail of a refused operation. Rewords an error about the idempotency key for a person. */
export function detailOf({ body }: Reply): string {
  const { errors } = JSON.parse(body) as { errors: Refusal[] }
  const [refusal] = errors
  if (refusal?.source?.header === 'Idempotency-Key')
    return 'This form was already sent with different values. Send it again.'
  return refusal?.detail ?? 'Try again in a moment.'
}

const shownStatuses = [403, 404, 409, 422, 429, 503] as const

/**
 * Returns the HTTP status of the page that shows the refusal: the operation's status, or 500 for an unexpected status.
 */
export function statusOf({ status }: Reply): (typeof shownStatuses)[number] | 500 {
  return shownStatuses.find((shownStatus) => shownStatus === status) ?? 500
}
