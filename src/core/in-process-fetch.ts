import { ConnectionCutError } from './faults.ts'

/** A function like the global `fetch`, except that it also accepts paths. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

interface InProcess {
  serve(request: Request): Promise<Response>
  /** The server's base URL, without a trailing slash. Requests to any other host also go to this server. */
  base: string
  /** Aborts when the server has stopped; requests then reject with the signal's reason. */
  ended: AbortSignal
}

/**
 * Returns a `fetch` that calls a server in this process. The `fetch` rejects if the request is aborted, the server has
 * stopped, or a fault cuts the connection.
 */
export function inProcessFetch({ serve, base, ended }: InProcess): Fetch {
  return async (input, init) => {
    const request = requestTo(base, input, init)
    const signal = AbortSignal.any([request.signal, ended])
    signal.throwIfAborted()
    const { promise: aborted, reject } = Promise.withResolvers<never>()
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([serve(request), aborted])
    } catch (error) {
      throw error instanceof ConnectionCutError ? networkFailure(error) : error
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}

/** Returns the error with which the global `fetch` rejects if the connection fails. */
export function networkFailure(cause: Error): TypeError {
  return new TypeError('fetch failed', { cause })
}

function requestTo(base: string, input: string | URL | Request, init: RequestInit | undefined): Request {
  const isRequest = typeof input === 'object' && 'url' in input
  const request = new Request(isRequest ? input : new URL(input, base), init)
  const { origin, pathname, search } = new URL(request.url)
  return origin === base ? request : new Request(`${base}${pathname}${search}`, request)
}
