import { type BodyCount, smallBodyBytes } from './body-budget.ts'

/**
 * Returns the body of a request as text. If the body is longer than `maxBytes`, stops reading and returns undefined.
 * @param count Counts the bytes while they arrive; undefined if the body is already in this process's memory.
 * @throws an error if the client disconnects before the end of the body; a Failure from `count` if too many bytes are
 * being read.
 */
export async function boundedText(request: Request, maxBytes: number, count?: BodyCount): Promise<string | undefined> {
  const { headers } = request
  const isChunked = headers.has('transfer-encoding')
  const announced = Number(headers.get('content-length') ?? 0)
  if (announced > maxBytes) return undefined
  try {
    // The length of a chunked body is known only after it has arrived.
    if (isChunked) return await readParts(request, maxBytes, count?.parts(), (bytes) => count?.add(bytes))
    count?.add(announced)
    if (count !== undefined && announced > smallBodyBytes) return await readParts(request, maxBytes, count.parts())
    const text = await request.text()
    return Buffer.byteLength(text) > maxBytes ? undefined : text
  } finally {
    count?.end()
  }
}

/**
 * Reads a body in parts and decodes it. Returns undefined if the body is longer than `maxBytes`.
 * @param body The parts from the network, whose memory is freed afterwards. If undefined, reads the request's own body
 * and does not free the memory.
 */
async function readParts(
  request: Request,
  maxBytes: number,
  body: AsyncIterable<Uint8Array> | undefined,
  arrived?: (bytes: number) => void,
): Promise<string | undefined> {
  const parts: Uint8Array[] = []
  let length = 0
  try {
    for await (const part of body ?? request.body ?? []) {
      parts.push(part)
      length += part.byteLength
      if (length > maxBytes) return undefined
      arrived?.(part.byteLength)
    }
    const whole = Buffer.concat(parts)
    const text = new TextDecoder().decode(whole)
    release(whole)
    return text
  } finally {
    if (body !== undefined) for (const part of parts) release(part)
  }
}

/**
 * Frees the memory of bytes that are no longer needed, unless the bytes are only a part of a larger buffer. The garbage
 * collector runs only when JavaScript allocates a lot. Until it runs, the bodies from hundreds of clients could fill a
 * hundred megabytes.
 */
export function release({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
