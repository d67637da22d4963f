import { boundedText } from '../../core/bounded-text.ts'
import { fail } from '../../core/errors.ts'

/** More than any operation's attributes take. */
export const mostBodyBytes = 1024 * 1024
/** A body that is so small costs less to read than to look up who sent it. */
const smallBodyBytes = 32 * 1024

/** Whether the body may be read before it is known who sent it; what does not say its length is not small. */
export function isSmallBody({ headers }: Request): boolean {
  return !headers.has('transfer-encoding') && Number(headers.get('content-length') ?? 0) <= smallBodyBytes
}

/** Whether the service reads a body that is in this process's memory already. */
export function isReadable(body: string): boolean {
  return Buffer.byteLength(body) <= mostBodyBytes
}

/** The body as text. @throws 400 where it is longer than the service reads, or its sender left before its end. */
export async function readBody(request: Request): Promise<string> {
  const text = await boundedText(request, mostBodyBytes).catch(() => brokenOff())
  return text ?? tooLarge()
}

export function tooLarge(): never {
  fail('invalid_value', { detail: `The body must be at most ${mostBodyBytes} bytes long.`, source: { pointer: '' } })
}

function brokenOff(): never {
  const detail = 'The body broke off before its end. Send the request again.'
  fail('invalid_value', { detail, source: { pointer: '' } })
}

/** Whether nobody waits for the answer any more: a client that left within its body makes every reading of it fail. */
export function hasLeft(request: Request): boolean {
  return request.signal.aborted
}
