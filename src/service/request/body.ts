import { type BodyCount, smallBodyBytes } from '../../core/body-budget.ts'
import { boundedText } from '../../core/bounded-text.ts'
import { Failure, fail } from '../../core/errors.ts'

/** The maximum size of a request body in bytes. No operation needs that much. */
export const maxBodyBytes = 1024 * 1024

/**
 * Returns whether the body is small enough to be read before its sender is known. A body of unknown length counts as
 * large.
 */
export function isSmallBody(request: Request): boolean {
  return announcedBytes(request) <= smallBodyBytes
}

/** Returns the length of the body in bytes according to its headers; infinite if the body is chunked. */
export function announcedBytes({ headers }: Request): number {
  return headers.has('transfer-encoding') ? Number.POSITIVE_INFINITY : Number(headers.get('content-length') ?? 0)
}

/** Returns whether a body that is already in memory is within the size limit. */
export function isReadable(body: string): boolean {
  return Buffer.byteLength(body) <= maxBodyBytes
}

/**
 * Reads the body as a string.
 * @throws Failure 400 if the body is too long or the client disconnected before sending all of it; 429 or 503 if too
 * many bytes of bodies are arriving at the same time.
 */
export async function readBody(request: Request, count?: BodyCount): Promise<string> {
  const text = await boundedText(request, maxBodyBytes, count).catch((error: unknown) => {
    if (error instanceof Failure) throw error
    return brokenOff()
  })
  return text ?? tooLarge()
}

export function tooLarge(): never {
  fail('invalid_value', { detail: `The body must be at most ${maxBodyBytes} bytes long.`, source: { pointer: '' } })
}

function brokenOff(): never {
  const detail = 'The request body ended too early. Send the request again.'
  fail('invalid_value', { detail, source: { pointer: '' } })
}

/**
 * Returns whether the client has disconnected. If a client disconnects before it has sent the whole body, every read of
 * the body fails.
 */
export function hasLeft(request: Request): boolean {
  return request.signal.aborted
}
