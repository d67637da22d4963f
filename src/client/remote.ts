/** The size limit for an answer. The API's largest answer, a page of 100 resources, is far smaller. */
const largestAnswerBytes = 8 * 1024 * 1024

/**
 * Creates a fetch function for a deployed API, and a function that closes the connections of the fetch function.
 * Redirects are not followed, so that credentials are sent only to the address of the request. undici is loaded at the
 * first request, so a process that uses only an embedded API never loads it.
 */
export function createRemoteFetch() {
  let loading: ReturnType<typeof load> | undefined
  const load = async () => {
    // In the bundle, a CommonJS package has only a default export.
    const { default: undici } = await import('undici')
    const timeouts = { headersTimeout: 60_000, bodyTimeout: 60_000, keepAliveTimeout: 30_000 }
    const agent = new undici.Agent({ ...timeouts, connect: { timeout: 10_000 }, maxResponseSize: largestAnswerBytes })
    return { undici, agent }
  }
  return {
    fetch: async (request: Request) => {
      loading ??= load()
      const { undici, agent } = await loading
      // undici's own fetch does not accept Node's Request, so the parts of the request are passed separately.
      const response = await undici.fetch(request.url, {
        method: request.method,
        headers: [...request.headers],
        body: request.body === null ? null : await request.text(),
        redirect: 'manual',
        signal: request.signal,
        dispatcher: agent,
      })
      return await read(response as unknown as Response)
    },
    /** Waits for the requests in progress, then closes all connections. */
    close: async () => {
      if (loading !== undefined) await (await loading).agent.close()
    },
  }
}

/**
 * Reads the answer. Throws if it exceeds the size limit after decompression. undici limits only the size before
 * decompression.
 */
async function read(response: Response): Promise<Response> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Throwing inside the loop closes the stream, and so stops the decompression.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > largestAnswerBytes) throw new AnswerTooLarge()
    chunks.push(chunk)
  }
  const { status, headers } = response
  // A Response with status 204 or 304 must have no body, not even an empty one.
  return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers: [...headers] })
}

/** The error for an answer that is too large after decompression. It has undici's code for an oversized answer. */
class AnswerTooLarge extends Error {
  readonly code = 'UND_ERR_RES_EXCEEDED_MAX_SIZE'
}
