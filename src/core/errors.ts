import { maskSecrets } from './masking.ts'

/**
 * The only table of public errors (docs/service.md#error-codes). `detail` is the default message. `next` says what the
 * caller should do; agents get `next` together with the message.
 */
export const errorTable = {
  invalid_value: {
    status: 400,
    detail: 'A value is not valid.',
    next: 'Correct the value that source points to and send the request again with a new idempotency key.',
  },
  missing_instance_id: {
    status: 400,
    detail: 'An agent must send the X-Instance-ID header (1 to 1024 characters of its own choice) with this request.',
    next: 'Send the id of the agent run, session or conversation as X-Instance-ID.',
  },
  'wire.beneficiary_address_required': {
    status: 400,
    detail: "A wire needs the beneficiary's address.",
    next: 'Add beneficiary.address and send the request again with the same idempotency key.',
  },
  unauthenticated: {
    status: 401,
    detail: 'The request needs a valid credential: Authorization: Bearer <API key, agent key or access token>.',
    next: 'Check that the key is complete, not revoked and for this environment, or ask its owner for a new one.',
  },
  forbidden: {
    status: 403,
    detail: 'This credential has no permission for the action.',
    next: 'Use a credential that has the permission, or ask the owner of the account to grant it. Do not retry as is.',
  },
  issued_cards_not_enabled: {
    status: 403,
    detail: 'Issued cards are not enabled for the organization.',
    next: 'Ask the organization to enable issued cards. Do not retry as is.',
  },
  not_found: {
    status: 404,
    detail: 'There is no such resource.',
    next: 'Check the id, or list the resources to find the right one. If it belongs to a customer, send customerPartyId.',
  },
  conflict: {
    status: 409,
    detail: 'The request conflicts with the current state.',
    next: 'Read the resource again, then decide how to continue.',
  },
  card_purchase_simulation_not_allowed: {
    status: 409,
    detail: 'The state of the card purchase does not allow this action.',
    next: 'Read the card transaction. An authorized purchase can be captured, reversed or expired, once; a captured purchase can be refunded.',
  },
  mfa_required: {
    status: 428,
    detail: 'The action needs a recent multi-factor verification.',
    next: 'A person must verify with a second factor; then send the request again with a new idempotency key.',
  },
  rate_limited: {
    status: 429,
    detail: 'Too many requests with this credential.',
    next: 'Wait the number of seconds in Retry-After, then send the request again with the same idempotency key.',
  },
  server_error: {
    status: 500,
    detail: 'The service failed unexpectedly.',
    next: 'Send the request again with a new idempotency key; if it fails again, report the support id.',
  },
  not_implemented: {
    status: 501,
    detail: 'The operation is not available.',
    next: 'Use another operation. Do not retry.',
  },
  bad_gateway: {
    status: 502,
    detail: 'An upstream service returned an unexpected response.',
    next: 'Send the request again with the same idempotency key.',
  },
  service_unavailable: {
    status: 503,
    detail: 'The service is temporarily unavailable.',
    next: 'Send the request again with the same idempotency key after a moment.',
  },
} as const satisfies Record<string, { status: number; detail: string; next: string }>

export type ErrorCode = keyof typeof errorTable

/** The location of the invalid value: a JSON Pointer into the body, a query or path parameter, or a header. */
export type ErrorSource = { pointer: string } | { parameter: string } | { header: string }

export interface FailureOptions {
  detail?: string
  source?: ErrorSource
  /** The HTTP status, set only for `invalid_value`: 400 for a malformed request, 422 for an invalid attribute. */
  status?: 400 | 422
  /** The accepted bounds, for programs that do not read the detail. */
  accepts?: Bounds
  /**
   * Set if the caller should repeat the request with the same idempotency key, because the outcome is not known yet or
   * an earlier request with this key is still running (docs/service.md#unresolved-authorizations).
   */
  retryable?: true
  /** The value of the Retry-After header, in seconds. */
  retryAfterSeconds?: number
  /** The state of the connection to a linked bank account; set if linking the account again repairs the connection. */
  connectionStatus?: 'login_required' | 'disconnected'
  /**
   * The OAuth scopes with which the request would be allowed; set if the caller's token lacks one (RFC 6750 section
   * 3.1).
   */
  scopes?: readonly string[]
}

/** The least and the greatest accepted value. */
export interface Bounds {
  minimum?: number
  maximum?: number
}

/**
 * An expected error with a public code: for example, a request was refused, or a call was not sent. `message` gives the
 * reason. If any other error is thrown, the service answers with 500, or with 503 if the database is busy.
 */
export class Failure extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly source: ErrorSource | undefined
  readonly accepts: Bounds | undefined
  readonly retryable: boolean
  readonly retryAfterSeconds: number | undefined
  readonly connectionStatus: FailureOptions['connectionStatus'] | undefined
  readonly scopes: readonly string[] | undefined

  constructor(code: ErrorCode, options: FailureOptions = {}) {
    super(options.detail ?? errorTable[code].detail)
    this.name = 'Failure'
    this.code = code
    this.status = options.status ?? errorTable[code].status
    this.source = options.source
    this.accepts = options.accepts
    this.retryable = options.retryable ?? false
    this.retryAfterSeconds = options.retryAfterSeconds
    this.connectionStatus = options.connectionStatus
    this.scopes = options.scopes
  }
}

export function fail(code: ErrorCode, options?: FailureOptions): never {
  throw new Failure(code, options)
}

/** Refuses a request with 422 because of an invalid attribute. `path` is relative to `attributes`. */
export function failAttribute(path: string, detail: string, accepts?: Bounds): never {
  const source = { pointer: `/data/attributes/${path}` }
  throw new Failure('invalid_value', { status: 422, detail, source, ...(accepts === undefined ? {} : { accepts }) })
}

/**
 * Renders a value for an error message: short, on one line, and with everything masked that may be a card number or a
 * key.
 */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  const text =
    typeof value === 'object' && value !== null
      ? Array.isArray(value)
        ? `an ${value.length === 0 ? 'empty ' : ''}array`
        : 'an object'
      : JSON.stringify(value).replace(unsafeCharacters, escaped)
  return maskSecrets(text.length > 60 ? `${text.slice(0, 57)}…"` : text)
}

/** Characters that end a line, control a terminal or reverse text. `JSON.stringify` escapes only some of them. */
const unsafeCharacters = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
