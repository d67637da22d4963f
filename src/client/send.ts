import type { ApiAnswer, ApiTransport } from '../core/api-transport.ts'
import type { Failure } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import { deadline } from '../core/system.ts'

/** The outcome of one request. */
export type Answer =
  | {
      kind: 'answer'
      status: number
      /** The parsed body; undefined if it is not JSON. */
      json: unknown
      replayed: boolean
      isCovered: boolean | undefined
      retryAfter: string | null
      requestId: string | null
    }
  /**
   * No complete answer came. The request may have been carried out, unless `unreached` is true. `reason` is safe to
   * show.
   */
  | {
      kind: 'broken'
      reason: string
      /** Whether the connection was never made, so the request was not carried out. */
      unreached: boolean
    }
  /** The request was not sent, because there is no usable credential. */
  | { kind: 'unsent'; failure: Failure }

type SentAnswer = Exclude<Answer, { kind: 'unsent' }>

/** Sends one request and reads its answer. Rejects only if `signal` aborts, with the signal's reason. */
export async function send(
  exchange: (signal: AbortSignal) => Promise<ApiAnswer>,
  limits: { timeoutMs: number; signal: AbortSignal | undefined },
): Promise<SentAnswer> {
  limits.signal?.throwIfAborted()
  const controller = new AbortController()
  const cancel = () => controller.abort(limits.signal?.reason)
  limits.signal?.addEventListener('abort', cancel, { once: true })
  let late = false
  const timer = deadline(limits.timeoutMs, () => {
    late = true
    controller.abort()
  })
  try {
    // An API in this process ignores the signal, so this function itself stops waiting when the signal aborts.
    return answerFrom(await untilAborted(controller.signal, exchange(controller.signal)))
  } catch (error) {
    limits.signal?.throwIfAborted()
    if (late) return { kind: 'broken', reason: `no answer within ${limits.timeoutMs / 1000} s`, unreached: false }
    return { kind: 'broken', ...explainFailure(error) }
  } finally {
    timer.clear()
    limits.signal?.removeEventListener('abort', cancel)
  }
}

/** Creates a transport that sends requests with `fetch`. `base` is the API's address without a trailing slash. */
export function transportOver(fetch: (request: Request) => Response | Promise<Response>, base: string): ApiTransport {
  return ({ method, path, headers, body }, signal) => {
    const init: RequestInit = { method, headers, redirect: 'manual', signal }
    if (body !== undefined) init.body = body
    return fetchAnswer(fetch, new Request(base + path, init))
  }
}

export async function fetchAnswer(
  fetch: (request: Request) => Response | Promise<Response>,
  request: Request,
): Promise<ApiAnswer> {
  const response = await fetch(request)
  return { status: response.status, headers: response.headers, body: await response.text() }
}

function answerFrom({ status, headers, body, isCovered }: ApiAnswer): SentAnswer {
  return {
    kind: 'answer',
    status,
    isCovered,
    json: parseJson(body),
    replayed: headers.get('X-Idempotency-Replayed') === 'true',
    retryAfter: headers.get('Retry-After'),
    requestId: headers.get('X-Request-ID'),
  }
}

function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}

/** The `reason` if the answer exceeds the size limit. A retry does not help then. */
export const tooLarge = 'the answer is too large'

const networkReasons: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection broke',
  EPIPE: 'the connection broke',
  UND_ERR_SOCKET: 'the connection broke',
  ENOTFOUND: 'its name does not resolve',
  EAI_AGAIN: 'its name does not resolve at the moment',
  ETIMEDOUT: 'the connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_HEADERS_TIMEOUT: 'no answer came in time',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped halfway',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: tooLarge,
}

/** Error codes that occur only before a connection is made. */
const unreachedCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Returns why `fetch` failed, in words that are safe to show, and whether the connection was never made. */
export function explainFailure(error: unknown): { reason: string; unreached: boolean } {
  const code = networkCode(error)
  return { reason: networkReason(code), unreached: unreachedCodes.has(code ?? '') }
}

/** Describes the failure by its code only, because an error's message may contain headers of the request. */
function networkReason(code: string | undefined): string {
  if (code === undefined) return 'the connection failed'
  return networkReasons[code] ?? `the connection failed (${code})`
}

function networkCode(error: unknown): string | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    const code = 'code' in cause ? cause.code : undefined
    if (typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code)) return code
  }
  return undefined
}
