import type { Failure } from '../core/errors.ts'
import { deadline } from '../core/system.ts'

/** What came back for one request. */
export type Answer =
  | {
      kind: 'answer'
      status: number
      /** The parsed body; undefined when it is not JSON. */
      json: unknown
      replayed: boolean
      retryAfter: string | null
      requestId: string | null
    }
  /** Nothing, or not the whole of it: whether the request was carried out is unknown. `reason` is safe to show. */
  | {
      kind: 'broken'
      reason: string
      /** The connection was never made, so the request was not carried out. */
      unreached: boolean
    }
  /** The request was not sent: there is no credential to send it with. */
  | { kind: 'unsent'; failure: Failure }

type SentAnswer = Exclude<Answer, { kind: 'unsent' }>

/** Sends one request and reads its answer. Rejects only when `signal` aborts, with its reason. */
export async function send(
  fetch: (request: Request) => Response | Promise<Response>,
  url: string,
  init: RequestInit,
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
    // An embedded service does not look at the request's signal, so the wait itself ends with it.
    return await until(controller.signal, exchange(fetch, new Request(url, { ...init, signal: controller.signal })))
  } catch (error) {
    limits.signal?.throwIfAborted()
    if (late) return { kind: 'broken', reason: `no answer within ${limits.timeoutMs / 1000} s`, unreached: false }
    const code = networkCode(error)
    return { kind: 'broken', reason: networkReason(code), unreached: unreachedCodes.has(code ?? '') }
  } finally {
    timer.clear()
    limits.signal?.removeEventListener('abort', cancel)
  }
}

async function exchange(
  fetch: (request: Request) => Response | Promise<Response>,
  request: Request,
): Promise<SentAnswer> {
  const response = await fetch(request)
  const text = await response.text()
  return {
    kind: 'answer',
    status: response.status,
    json: parseJson(text),
    replayed: response.headers.get('X-Idempotency-Replayed') === 'true',
    retryAfter: response.headers.get('Retry-After'),
    requestId: response.headers.get('X-Request-ID'),
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function until<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}

/** Why an answer broke off that would be as large the next time. */
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
  UND_ERR_BODY_TIMEOUT: 'the answer stopped half-way',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: tooLarge,
}

/** What can only be said before a connection is there. */
const unreachedCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Only the error's code is shown: its message can quote headers. */
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
