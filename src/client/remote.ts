/** The largest answer of the API, a page of 100 resources, is far below. */
const largestAnswerBytes = 8 * 1024 * 1024

/**
 * The fetch function for a deployed API, over kept-alive connections. Redirects are not followed: a credential never
 * goes anywhere but to the base address. undici is loaded by the first request, so an embedded start never loads it.
 */
export function createRemoteFetch() {
  let loading: ReturnType<typeof load> | undefined
  const load = async () => {
    // In the bundle only the default export of a package in CommonJS has its names.
    const { default: undici } = await import('undici')
    const timeouts = { headersTimeout: 60_000, bodyTimeout: 60_000, keepAliveTimeout: 30_000 }
    const agent = new undici.Agent({ ...timeouts, connect: { timeout: 10_000 }, maxResponseSize: largestAnswerBytes })
    return { undici, agent }
  }
  return {
    fetch: async (request: Request) => {
      loading ??= load()
      const { undici, agent } = await loading
      // undici's own fetch does not know Node's Request class, so the parts are handed over.
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
    /** Ends idle connections; waits for those in use. */
    close: async () => {
      if (loading !== undefined) await (await loading).agent.close()
    },
  }
}

/** Reads the whole answer, as far as it is bounded: undici bounds only what comes over the wire, which may be packed. */
async function read(response: Response): Promise<Response> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop by the throw ends the stream, and with it the unpacking.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > largestAnswerBytes) throw new AnswerTooLarge()
    chunks.push(chunk)
  }
  const { status, headers } = response
  // A Response of 204 or 304 takes no body, not even an empty one.
  return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers: [...headers] })
}

/** With undici's own code for what is too large before it is unpacked. */
class AnswerTooLarge extends Error {
  readonly code = 'UND_ERR_RES_EXCEEDED_MAX_SIZE'
}
