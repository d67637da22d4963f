import { type Bounds, type ErrorSource, errorTable, type Failure } from '../core/errors.ts'
import { maskSecrets } from '../core/masking.ts'
import type { OperationDefinition } from '../core/operation.ts'
import { isTooLarge, mayBeCarriedOut, retryAfterMs, transientStatuses } from './retry.ts'
import type { Answer } from './send.ts'

/** The fields of an `ApiError`, besides those of `Error`. */
export interface ApiErrorFields {
  /** The error's code (docs/service.md#error-codes), or a code that only the deployed service uses. */
  code: string
  /** The HTTP status of the answer. If no answer came, the status that usually goes with `code`. */
  status: number
  /** The reason why this call failed. */
  detail: string
  /** The id of the request, `req_…`, to quote to the service's support. */
  supportId: string | undefined
  /** The location of the invalid value: a JSON Pointer into the body (RFC 6901), a parameter or a header. */
  source: ErrorSource | undefined
  /** The smallest and largest accepted values at `source`. */
  accepts: Bounds | undefined
  /**
   * Whether repeating the call later is safe and may succeed. If the call has an idempotency key, repeat it with that
   * key.
   */
  retryable: boolean
  /**
   * Whether the requested change may have been made, or may still be made. To avoid making the change twice, repeat the
   * call unchanged, with the same idempotency key.
   */
  outcomeUnknown: boolean
  /** Whether no connection could be made, for example because the host name does not resolve. */
  unreached: boolean
  /** Whether the answer exceeds the size limit. The answer to a retry would exceed it too. */
  tooLarge: boolean
  /** The delay that the service asks for in Retry-After (RFC 9110), in seconds. */
  retryAfterSeconds: number | undefined
  /** The next step for the caller. */
  next: string
  /** The idempotency key of the call; undefined if the operation takes none. */
  idempotencyKey: string | undefined
  /** The number of attempts, 1 to 4. */
  attempts: number
}

/** `Error`, typed with the fields that the constructor of `ApiError` assigns. */
const ErrorWithFields = Error as unknown as new (message: string) => Error & Readonly<ApiErrorFields>

/**
 * The error for a call that the service refused, or did not answer after all retries. `ApiErrorFields` lists its
 * fields. None of them contains a credential.
 */
export class ApiError extends ErrorWithFields {
  override readonly name = 'ApiError'

  constructor(fields: ApiErrorFields) {
    super(fields.detail)
    Object.assign(this, fields)
  }
}

interface RefusalContext {
  operation: OperationDefinition
  idempotencyKey: string | undefined
  attempts: number
  /** Whether an earlier attempt of this call, or an earlier call with the same key, may have been carried out. */
  earlierOutcomeUnknown: boolean
  host: string
  /** The credential of the call. It is masked if the service's messages repeat it. */
  credential: string
  nowMs: number
}

/** Returns the error for an answer that is not a success. */
export function refusal(answer: Answer, context: RefusalContext): ApiError | Failure {
  const { operation, idempotencyKey, attempts, earlierOutcomeUnknown } = context
  if (answer.kind === 'unsent' && !earlierOutcomeUnknown) return answer.failure
  const found = errorFacts(answer, context.host)
  const transient = isTransient(answer)
  const repeatable = operation.effect === 'read' || idempotencyKey !== undefined
  const waitMs = retryAfterMs(answer, context.nowMs)
  const open = found.retryable || (transient && mayBeCarriedOut(answer)) || (earlierOutcomeUnknown && !settles(answer))
  return new ApiError({
    ...found,
    detail: withoutCredential(found.detail, context.credential),
    retryable: (transient || found.retryable) && (repeatable || found.status === 429) && !isTooLarge(answer),
    outcomeUnknown: operation.effect !== 'read' && open,
    unreached: answer.kind === 'broken' && answer.unreached,
    tooLarge: isTooLarge(answer),
    retryAfterSeconds: waitMs === undefined ? undefined : Math.ceil(waitMs / 1000),
    next: isTooLarge(answer)
      ? afterTooLarge(operation)
      : !repeatable && transient && found.status !== 429
        ? unknownOutcome
        : nextStep(found, transient, idempotencyKey),
    idempotencyKey,
    attempts,
  })
}

/**
 * The codes of errors that can occur before the service looks up the idempotency key, or while an earlier request with
 * the key is still running.
 */
const unsettledCodes: ReadonlySet<unknown> = new Set(['unauthenticated', 'forbidden', 'conflict'])

/**
 * Returns whether the answer proves the outcome of an earlier request with the same key. A replay of the answer to the
 * earlier request proves the outcome. So does a refusal of this request as the first one with the key: then the earlier
 * request was never carried out.
 */
function settles(answer: Answer): boolean {
  if (answer.kind !== 'answer' || isTransient(answer)) return false
  if (answer.replayed) return true
  const error = firstError(answer.json)
  const code = field(error, 'code')
  // An answer without a code comes from a proxy, which does not know whether the API carried out the request.
  if (code === undefined) return false
  if (!unsettledCodes.has(code)) return true
  // If a different request has already used the key, the error points to the Idempotency-Key header. Then this request
  // is never carried out.
  return field(field(error, 'source'), 'header') === 'Idempotency-Key'
}

function firstError(json: unknown): unknown {
  const errors = field(json, 'errors')
  return Array.isArray(errors) ? errors[0] : undefined
}

type ErrorFacts = Pick<ApiErrorFields, 'code' | 'status' | 'detail' | 'supportId' | 'source' | 'accepts' | 'retryable'>

/** The advice if a retry could make the change twice, or could not reveal whether it was made. */
const unknownOutcome = 'The change may have been made: read the current state before you try again.'

/**
 * Returns the advice after an answer that was too large. A retry would get the same answer, and a requested change may
 * have been made.
 */
function afterTooLarge({ effect, result }: OperationDefinition): string {
  if (effect !== 'read') return unknownOutcome
  return result === 'page' ? 'Call again with a smaller limit.' : checkAddress
}

const checkAddress = 'Check the base address of the payments API. Do not retry as is.'

/**
 * Returns whether the failure may be temporary: no answer came, the status asks for a retry, a successful answer has no
 * data, or a proxy answered with a server error.
 */
function isTransient(answer: Answer): boolean {
  if (answer.kind === 'unsent') return false
  if (answer.kind === 'broken' || transientStatuses.has(answer.status)) return true
  return answer.status < 300 || (answer.status >= 500 && field(answer.json, 'errors') === undefined)
}

function errorFacts(answer: Answer, host: string): ErrorFacts {
  const nothing = { supportId: undefined, source: undefined, accepts: undefined, retryable: false }
  if (answer.kind === 'unsent') {
    const { code, status, message, source } = answer.failure
    return { ...nothing, code, status, detail: message, source }
  }
  if (answer.kind === 'broken') {
    const { status } = errorTable.service_unavailable
    return { ...nothing, code: 'service_unavailable', status, detail: `Can't reach ${host}: ${answer.reason}.` }
  }
  const supportId = wellFormed(supportIdPattern, answer.requestId)
  const { status } = answer
  const errors = field(answer.json, 'errors')
  if (status >= 400 && Array.isArray(errors) && errors.length > 0) {
    const code = wellFormed(codePattern, field(errors[0], 'code'))
    if (code !== undefined) {
      const meta = field(errors[0], 'meta')
      return {
        code,
        status,
        detail: details(errors) ?? `${host} answered ${code}.`,
        supportId: wellFormed(supportIdPattern, field(meta, 'supportId')) ?? supportId,
        source: source(field(errors[0], 'source')),
        accepts: bounds(meta),
        retryable: field(meta, 'retryable') === true,
      }
    }
  }
  // According to the API's published client, the answer to a simulation that times out is {code, message}, without
  // `errors`.
  const code = wellFormed(codePattern, field(answer.json, 'code'))
  const message = text(field(answer.json, 'message'))
  if (status === 408 && code !== undefined && message !== undefined) {
    return { ...nothing, code, status, detail: message, supportId }
  }
  return {
    ...nothing,
    code: 'bad_gateway',
    status: status < 400 ? 502 : status,
    detail: unexpectedAnswer(status, host),
    supportId,
  }
}

function unexpectedAnswer(status: number, host: string): string {
  if (status >= 300 && status < 400) {
    return `${host} answered with a redirect (${status}). Following it would send the credential elsewhere.`
  }
  return `${host} answered ${status}, but not in the format of the payments API.`
}

function details(errors: unknown[]): string | undefined {
  const texts = errors.slice(0, 5).map((error) => text(field(error, 'detail')))
  return text(texts.filter((detail) => detail !== undefined).join(' '))
}

function nextStep(found: ErrorFacts, transient: boolean, idempotencyKey: string | undefined): string {
  if (found.code === 'bad_gateway' && !transient) return checkAddress
  const errorKind = Object.hasOwn(errorTable, found.code)
    ? errorTable[found.code as keyof typeof errorTable]
    : undefined
  const sameStatus = Object.values(errorTable).find((entry) => entry.status === found.status)
  const fallback = found.status >= 500 || found.status === 408 ? errorTable.service_unavailable : undefined
  const next = (errorKind ?? sameStatus ?? fallback)?.next ?? 'Correct the request. Do not retry as is.'
  return idempotencyKey === undefined ? next.replace(/ with (?:a new|the same) idempotency key/, '') : next
}

function source(value: unknown): ErrorSource | undefined {
  for (const name of ['pointer', 'parameter', 'header'] as const) {
    const place = wellFormed(sourcePattern, field(value, name))
    if (place !== undefined) return { [name]: place } as ErrorSource
  }
  return undefined
}

function bounds(meta: unknown): Bounds | undefined {
  const found: Bounds = {}
  for (const name of ['minimum', 'maximum'] as const) {
    const value = field(meta, name)
    if (Number.isSafeInteger(value)) found[name] = value as number
  }
  return Object.keys(found).length === 0 ? undefined : found
}

function withoutCredential(detail: string, credential: string): string {
  const masked = credential === '' ? detail : detail.replaceAll(credential, '[masked]')
  return maskSecrets(masked.replace(/\s+/g, ' ').slice(0, 1000))
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
}

// These values may come from any server, and a model reads them. The patterns allow no spaces, so that no value can be
// a sentence that instructs the model.
const codePattern = /^[A-Za-z][A-Za-z0-9_.]{0,63}$/
const supportIdPattern = /^[\w.:-]{1,100}$/
const sourcePattern = /^[\x21-\x7e]{1,200}$/

function wellFormed(form: RegExp, value: unknown): string | undefined {
  // An API key also matches the pattern of a code, so values that contain a secret are dropped.
  return typeof value === 'string' && form.test(value) && maskSecrets(value) === value ? value : undefined
}

/**
 * Returns the value if it is a nonempty string; otherwise undefined. Shortens a long string, because any server may
 * have sent it.
 */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 2000) : undefined
}
