import type { Context } from 'hono'
import type { Failure } from '../../core/errors.ts'

/** Returns a JSON response that must not be cached, because it may contain a token (RFC 6749 section 5.1). */
export function jsonAnswer(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
  const common = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', Pragma: 'no-cache' }
  return new Response(JSON.stringify(body), { status, headers: { ...common, ...headers } })
}

export function errorAnswer(status: number, error: string, description: string, headers?: Record<string, string>) {
  return jsonAnswer(status, { error, error_description: description }, headers)
}

/** Returns the OAuth error for a request that may succeed later (RFC 6749 section 4.1.2.1). */
export function refusedForNow(_: Context, { status, message, retryAfterSeconds = 1 }: Failure): Response {
  return errorAnswer(status, 'temporarily_unavailable', message, { 'Retry-After': String(retryAfterSeconds) })
}
