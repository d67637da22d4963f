import { type Bounds, type ErrorSource, errorTable, type Failure } from '../core/errors.ts'
import { maskSecrets } from '../core/masking.ts'
import type { OperationDefinition } from '../core/operation.ts'
import { isTooLarge, mayBeCarriedOut, passingStatuses, retryAfterMs } from './retry.ts'
import type { Answer } from './send.ts'

interface ApiErrorFields {
  /** A code of the table in `errors.ts`, or one that only the deployed service knows. */
  code: string
  /** The HTTP status; that of the code where no answer came. */
  status: number
  detail: string
  /** `req_…`, to quote to the service's support. */
  supportId: string | undefined
  source: ErrorSource | undefined
  /** The bounds of what would be accepted where the source points. */
  accepts: Bounds | undefined
  /** The same call with the same idempotency key may succeed later, and is safe. */
  retryable: boolean
  /** The change may have been made, or still be: only an unchanged repeat with the same key does not make it twice. */
  outcomeUnknown: boolean
  /** Nothing listens at the address, or it has none. */
  unreached: boolean
  /** The answer is longer than is read; that of a repeat would be too. */
  tooLarge: boolean
  retryAfterSeconds: number | undefined
  /** The next step for the caller. */
  next: string
  /** The key that the call was sent with; undefined where the operation takes none. */
  idempotencyKey: string | undefined
  attempts: number
}

/** `Error` with the fields of an API error, which the constructor below assigns. */
const ErrorWithFields = Error as unknown as new (message: string) => Error & Readonly<ApiErrorFields>

/** A refusal of the service, or no answer from it, after all retries. Its texts hold no credential. */
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
  /** An earlier attempt, or the call that this one repeats, may have been carried out. */
  unanswered: boolean
  host: string
  /** Masked should the service repeat it. */
  credential: string
  nowMs: number
}

/** The error that an answer is, when it is not the success that was asked for. */
export function refusal(answer: Answer, context: RefusalContext): ApiError | Failure {
  const { operation, idempotencyKey, attempts, unanswered } = context
  if (answer.kind === 'unsent' && !unanswered) return answer.failure
  const found = read(answer, context.host)
  const passing = isPassing(answer)
  const repeatable = operation.effect === 'read' || idempotencyKey !== undefined
  const waitMs = retryAfterMs(answer, context.nowMs)
  const open = found.retryable || (passing && mayBeCarriedOut(answer)) || (unanswered && !settles(answer))
  return new ApiError({
    ...found,
    detail: safe(found.detail, context.credential),
    retryable: (passing || found.retryable) && (repeatable || found.status === 429) && !isTooLarge(answer),
    outcomeUnknown: operation.effect !== 'read' && open,
    unreached: answer.kind === 'broken' && answer.unreached,
    tooLarge: isTooLarge(answer),
    retryAfterSeconds: waitMs === undefined ? undefined : Math.ceil(waitMs / 1000),
    next: isTooLarge(answer)
      ? afterTooLarge(operation)
      : !repeatable && passing && found.status !== 429
        ? unknownOutcome
        : nextStep(found, passing, idempotencyKey),
    idempotencyKey,
    attempts,
  })
}

/** Refusals that come before the service looks at the key, or that may say that its first request still runs. */
const unsettling: ReadonlySet<unknown> = new Set(['unauthenticated', 'forbidden', 'conflict'])

/** Whether the answer tells what became of an earlier request with the same key: it is its answer, or it runs anew. */
function settles(answer: Answer): boolean {
  if (answer.kind !== 'answer' || isPassing(answer)) return false
  if (answer.replayed) return true
  const error = firstError(answer.json)
  const code = field(error, 'code')
  // Without a code it is the answer of something in front of the API, which knows nothing of the request.
  if (code === undefined) return false
  if (!unsettling.has(code)) return true
  // The key was used for another request: this one was not made under it, and never can be.
  return field(field(error, 'source'), 'header') === 'Idempotency-Key'
}

function firstError(json: unknown): unknown {
  const errors = field(json, 'errors')
  return Array.isArray(errors) ? errors[0] : undefined
}

type Found = Pick<ApiErrorFields, 'code' | 'status' | 'detail' | 'supportId' | 'source' | 'accepts' | 'retryable'>

/** The change takes no idempotency key, so a repeat could make it twice. */
const unknownOutcome = 'The change may have been made: read the current state before you try again.'

/** A repeat brings the same again; what was asked for may have been done. */
function afterTooLarge({ effect, result }: OperationDefinition): string {
  if (effect !== 'read') return unknownOutcome
  return result === 'page' ? 'Call again with a smaller limit.' : checkAddress
}

const checkAddress = 'Check the base address of the payments API. Do not retry as is.'

/** The answer does not settle whether the request was or will be carried out. */
function isPassing(answer: Answer): boolean {
  if (answer.kind === 'unsent') return false
  if (answer.kind === 'broken' || passingStatuses.has(answer.status)) return true
  return answer.status < 300 || (answer.status >= 500 && field(answer.json, 'errors') === undefined)
}

function read(answer: Answer, host: string): Found {
  const nothing = { supportId: undefined, source: undefined, accepts: undefined, retryable: false }
  if (answer.kind === 'unsent') {
    const { code, status, message, source } = answer.failure
    return { ...nothing, code, status, detail: message, source }
  }
  if (answer.kind === 'broken') {
    const { status } = errorTable.service_unavailable
    return { ...nothing, code: 'service_unavailable', status, detail: `Can't reach ${host}: ${answer.reason}.` }
  }
  const supportId = formed(supportIds, answer.requestId)
  const { status } = answer
  const errors = field(answer.json, 'errors')
  if (status >= 400 && Array.isArray(errors) && errors.length > 0) {
    const code = formed(codes, field(errors[0], 'code'))
    if (code !== undefined) {
      const meta = field(errors[0], 'meta')
      return {
        code,
        status,
        detail: details(errors) ?? `${host} answered ${code}.`,
        supportId: formed(supportIds, field(meta, 'supportId')) ?? supportId,
        source: source(field(errors[0], 'source')),
        accepts: bounds(meta),
        retryable: field(meta, 'retryable') === true,
      }
    }
  }
  // The form of a timeout of a simulation: {code, message} without `errors` (the service's published client).
  const code = formed(codes, field(answer.json, 'code'))
  const message = text(field(answer.json, 'message'))
  if (status === 408 && code !== undefined && message !== undefined) {
    return { ...nothing, code, status, detail: message, supportId }
  }
  return {
    ...nothing,
    code: 'bad_gateway',
    status: status < 400 ? 502 : status,
    detail: strange(status, host),
    supportId,
  }
}

function strange(status: number, host: string): string {
  if (status >= 300 && status < 400) {
    return `${host} answered with a redirect (${status}), which is not followed: it would carry the credential elsewhere.`
  }
  return `${host} answered ${status} in a form that is not the payments API's.`
}

function details(errors: unknown[]): string | undefined {
  const texts = errors.slice(0, 5).map((error) => text(field(error, 'detail')))
  return text(texts.filter((detail) => detail !== undefined).join(' '))
}

function nextStep(found: Found, passing: boolean, idempotencyKey: string | undefined): string {
  if (found.code === 'bad_gateway' && !passing) return checkAddress
  const known = Object.hasOwn(errorTable, found.code) ? errorTable[found.code as keyof typeof errorTable] : undefined
  const alike = Object.values(errorTable).find((entry) => entry.status === found.status)
  const fallback = found.status >= 500 || found.status === 408 ? errorTable.service_unavailable : undefined
  const next = (known ?? alike ?? fallback)?.next ?? 'Correct the request. Do not retry as is.'
  return idempotencyKey === undefined ? next.replace(/ with (?:a new|the same) idempotency key/, '') : next
}

function source(value: unknown): ErrorSource | undefined {
  for (const name of ['pointer', 'parameter', 'header'] as const) {
    const place = formed(places, field(value, name))
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

function safe(detail: string, credential: string): string {
  const masked = credential === '' ? detail : detail.replaceAll(credential, '[masked]')
  return maskSecrets(masked.replace(/\s+/g, ' ').slice(0, 1000))
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
}

// The service may be any server, and what it says reaches a model: where a word is due, no sentence passes.
const codes = /^[A-Za-z][A-Za-z0-9_.]{0,63}$/
const supportIds = /^[\w.:-]{1,100}$/
const places = /^[\x21-\x7e]{1,200}$/

function formed(form: RegExp, value: unknown): string | undefined {
  // A key has the form of a code.
  return typeof value === 'string' && form.test(value) && maskSecrets(value) === value ? value : undefined
}

/** A text of the service, unless it is empty; shortened, for the service may be any server. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 2000) : undefined
}
