import type { z } from 'zod'
import { type ErrorSource, Failure } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { maskForeignText, maskSecrets, mayHoldSecret } from '../../core/masking.ts'
import { type OperationDefinition, type Pagination, successStatus } from '../../core/operation.ts'
import { secretFields } from '../../core/secret-fields.ts'
import { StoreBusyError } from '../store/engine/store.ts'

/** An answer to a request. The body is a string, because the answer may be recorded and replayed byte for byte. */
export interface Reply {
  status: number
  body: string
  headers: Readonly<Record<string, string>>
  /** The parsed body. If it is undefined, `replyValue` parses the body. */
  value?: unknown
  /** The result of `mayContainSecret`; undefined until that function is called. */
  mayContainSecret?: boolean
  /**
   * Whether the wallet's available balance covers the maximum amount of a card that the request issued. Only a client
   * in this process gets this value (`ApiAnswer`).
   */
  isCovered?: boolean | undefined
}

/**
 * Returns the parsed body of a reply. The body is parsed only once, although the activity, the run log and the log all
 * need the result.
 */
export function replyValue(reply: Reply): unknown {
  reply.value ??= parseJson(reply.body)
  return reply.value
}

/**
 * Returns whether a reply may contain a secret: its operation declares secret fields, or some text in the body looks
 * like a secret. The result is stored in the reply, because the idempotency record and the run log both need it.
 */
export function mayContainSecret(operation: Pick<OperationDefinition, 'output'>, reply: Reply): boolean {
  reply.mayContainSecret ??= secretFields(operation).length > 0 || mayHoldSecret(reply.body)
  return reply.mayContainSecret
}

/** The result of a handler whose answer has a `meta`. */
export interface WithMeta<Data, Meta> {
  data: Data
  meta: Meta
}

/** Returns whether the request succeeded. */
export function isSuccess({ status }: Pick<Reply, 'status'>): boolean {
  return status < 300
}

/** One page of a list, as returned by a handler. */
export interface Page<Resource> {
  items: Resource[]
  nextCursor: string | null
}

/**
 * Renders a handler's result as an answer. The operation's schema parses the result first, so that only declared fields
 * leave the service.
 */
export function success(operation: OperationDefinition, result: unknown): Reply {
  const { output, meta } = operation
  const { data, meta: metaFields } =
    meta === undefined ? { data: result, meta: undefined } : (result as WithMeta<unknown, unknown>)
  const body: object = operation.result === 'page' ? pageBody(output, data) : { data: dataOf(operation, data) }
  const answered = meta === undefined ? body : { ...body, meta: meta.parse(metaFields) }
  return { status: successStatus(operation), body: JSON.stringify(answered), headers: {}, value: answered }
}

function dataOf({ output, result }: OperationDefinition, data: unknown): unknown {
  if (result === 'oneOrNull' && data === null) return null
  return result === 'several' ? (data as unknown[]).map((item) => output.parse(item)) : output.parse(data)
}

/**
 * Returns the header with the request's id. The same id is in the request's log lines and, if the request fails, in the
 * error's `meta.supportId`.
 */
export function requestId(supportId: string): Record<string, string> {
  return { 'X-Request-Id': supportId }
}

/** Returns the failure with which to answer after an error. The failure does not disclose any internal error. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error
  return new Failure(error instanceof StoreBusyError ? 'service_unavailable' : 'server_error')
}

/** Renders a failure in the uniform error format (docs/service.md#error-format). */
export function refusal(failure: Failure, supportId: string): Reply {
  const { code, message, status, source, accepts, retryable, retryAfterSeconds, connectionStatus } = failure
  const bank = connectionStatus === undefined ? {} : { connectionStatus, provider: { name: 'plaid' } }
  const meta = { supportId, ...(retryable ? { retryable } : {}), ...accepts, ...bank }
  const error: { code: string; detail: string; status: string; source?: ErrorSource; meta: object } = {
    code,
    // The message may quote an invalid value that is a secret. The message is then sent, recorded and shown to a model.
    detail: maskSecrets(message),
    status: String(status),
    ...(source === undefined ? {} : { source: masked(source) }),
    meta,
  }
  // After a 5xx without Retry-After, clients would wait for X-RateLimit-Reset, which may be a minute away.
  const retryAfter = retryAfterSeconds ?? (status >= 500 ? 1 : undefined)
  const value = { errors: [error] }
  return {
    status,
    body: JSON.stringify(value),
    value,
    headers: retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) },
  }
}

function masked(source: ErrorSource): ErrorSource {
  const entries = Object.entries(source).map(([kind, value]) => {
    return [kind, kind === 'pointer' ? value.split('/').map(maskedPart).join('/') : maskForeignText(value)]
  })
  return Object.fromEntries(entries) as ErrorSource
}

/** Masks secrets in one part of a JSON Pointer. Unescapes slashes and tildes first, and escapes them afterwards. */
function maskedPart(part: string): string {
  const name = maskForeignText(part.replaceAll('~1', '/').replaceAll('~0', '~'))
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

function pageBody(output: z.ZodObject, result: unknown): object {
  const { items, nextCursor } = result as Page<unknown>
  const pagination: Pagination = { hasMore: nextCursor !== null, nextCursor }
  return { data: items.map((item) => output.parse(item)), meta: { pagination } }
}
