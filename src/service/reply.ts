import type { z } from 'zod'
import type { ErrorSource, Failure } from '../errors.ts'
import type { OperationDefinition, Pagination } from '../operation.ts'

/** An answer, its body already text: what is recorded is what is replayed, byte for byte. */
export interface Reply {
  status: number
  body: string
  headers: Readonly<Record<string, string>>
}

/** One page of a list, as a handler gives it. */
export interface Page<Resource> {
  items: Resource[]
  nextCursor: string | null
}

/** Renders what a handler gave, held against the operation's schema, so that nothing leaves that is not declared. */
export function success(operation: OperationDefinition, result: unknown): Reply {
  const body =
    operation.result === 'page' ? pageBody(operation.output, result) : { data: operation.output.parse(result) }
  return { status: 200, body: JSON.stringify(body), headers: {} }
}

/** Renders a refusal in the uniform format (spec: Errors). */
export function refusal(failure: Failure, supportId: string): Reply {
  const { code, message, status, source, retryable, retryAfterSeconds } = failure
  const meta = retryable ? { supportId, retryable: true } : { supportId }
  const error: { code: string; detail: string; status: string; source?: ErrorSource; meta: object } = {
    code,
    detail: message,
    status: String(status),
    ...(source === undefined ? {} : { source }),
    meta,
  }
  // Without it, clients that meet a 5xx wait for X-RateLimit-Reset, the end of the whole window.
  const retryAfter = retryAfterSeconds ?? (status >= 500 ? 1 : undefined)
  return {
    status,
    body: JSON.stringify({ errors: [error] }),
    headers: retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) },
  }
}

function pageBody(output: z.ZodObject, result: unknown): object {
  const { items, nextCursor } = result as Page<unknown>
  const pagination: Pagination = { hasMore: nextCursor !== null, nextCursor }
  return { data: items.map((item) => output.parse(item)), meta: { pagination } }
}
