/**
 * The body of a request as text; undefined where it is longer than `mostBytes`, of which no more is kept.
 * @throws where its sender left before its end.
 */
export async function boundedText(request: Request, mostBytes: number): Promise<string | undefined> {
  const { headers } = request
  if (Number(headers.get('content-length') ?? 0) > mostBytes) return undefined
  // Without chunks the length that was declared bounds the body, and a caller in this process has it in memory anyway.
  if (headers.has('transfer-encoding') && request.body !== null) return readChunks(request.body, mostBytes)
  const text = await request.text()
  return Buffer.byteLength(text) > mostBytes ? undefined : text
}

async function readChunks(body: AsyncIterable<Uint8Array>, mostBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.byteLength
    if (length > mostBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
