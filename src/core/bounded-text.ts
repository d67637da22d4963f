import type { BodyCount } from './body-budget.ts'

/**
 * The body of a request as text; undefined where it is longer than `mostBytes`, of which no more is kept.
 * @param count Counts the bytes while they arrive; undefined: the body is in this process's memory already.
 * @throws where its sender left before its end. Failure where more bytes are arriving than the process reads at one time.
 */
export async function boundedText(request: Request, mostBytes: number, count?: BodyCount): Promise<string | undefined> {
  const { headers } = request
  const announced = Number(headers.get('content-length') ?? 0)
  if (announced > mostBytes) return undefined
  try {
    if (headers.has('transfer-encoding') && request.body !== null) {
      return await readChunks(request.body, mostBytes, count)
    }
    // Without chunks the length that was declared bounds the body, and a caller in this process has it in memory anyway.
    count?.add(announced)
    const text = await request.text()
    return Buffer.byteLength(text) > mostBytes ? undefined : text
  } finally {
    count?.end()
  }
}

async function readChunks(
  body: AsyncIterable<Uint8Array>,
  mostBytes: number,
  count: BodyCount | undefined,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.byteLength
    if (length > mostBytes) return undefined
    count?.add(chunk.byteLength)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
