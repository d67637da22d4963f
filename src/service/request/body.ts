import { Failure } from '../../core/errors.ts'

/** More than any operation's attributes take. */
export const mostBodyBytes = 1024 * 1024
/** A body that is so small costs less to read than to look up who sent it. */
const smallBodyBytes = 32 * 1024

/** Whether the body may be read before it is known who sent it; what does not say its length is not small. */
export function isSmallBody({ headers }: Request): boolean {
  return !headers.has('transfer-encoding') && Number(headers.get('content-length') ?? 0) <= smallBodyBytes
}

/** The body as text. @throws 400 where it is longer than the service reads, or its sender left before its end. */
export async function readBody(request: Request): Promise<string> {
  if (request.body === null) return ''
  if (Number(request.headers.get('content-length') ?? 0) > mostBodyBytes) throw tooLarge()
  try {
    // Without chunks the length that was declared bounds the body, and a caller in this process has it in memory anyway.
    if (request.headers.has('transfer-encoding')) return await readChunks(request.body)
    const text = await request.text()
    if (Buffer.byteLength(text) > mostBodyBytes) throw tooLarge()
    return text
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure('invalid_value', {
      detail: 'The body broke off before its end. Send the request again.',
      source: { pointer: '' },
    })
  }
}

async function readChunks(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.byteLength
    if (length > mostBodyBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function tooLarge(): Failure {
  const detail = `The body must be at most ${mostBodyBytes} bytes long.`
  return new Failure('invalid_value', { detail, source: { pointer: '' } })
}

/** Whether nobody waits for the answer any more: a client that left within its body makes every reading of it fail. */
export function hasLeft(request: Request): boolean {
  return request.signal.aborted
}
