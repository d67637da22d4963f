import { lookup as lookUp } from 'node:dns'
import { isPublicAddress } from '../../../core/ip-addresses.ts'
import { isLoopback, isLoopbackHost } from '../../../core/loopback.ts'
import { deadline } from '../../../core/system.ts'
import type { Answer } from '../../rules/webhooks.ts'
import { checkedLookup, type LookUp, type OutgoingProxy } from '../outgoing-connections.ts'
import { addressProblem } from '../webhook-addresses.ts'

/** A message to send to a webhook, and the webhook's URL. */
export interface Outgoing {
  url: string
  headers: Record<string, string>
  body: string
  /** Whether the URL is allowed to lead to this machine. */
  mayStayHere: boolean
}

/** Sends one message. If the signal aborts, throws the signal's reason. Throws nothing else. */
export type Send = (outgoing: Outgoing, signal: AbortSignal) => Promise<Answer>

export interface SenderOptions {
  proxy?: OutgoingProxy
  /** How long an answer may take, including the lookup of the host name. */
  timeoutMs?: number
  /** The function that resolves host names. Default: the machine's resolver. */
  lookup?: LookUp
}

/**
 * The maximum number of bytes to read from an answer. The service does not use these bytes, but a connection can be
 * reused only after the whole answer has been read.
 */
const maxAnswerBytes = 4096

/**
 * Creates the function that sends messages to webhooks. Parties choose the URLs of their webhooks, and a URL could lead
 * into the service's own network. Therefore, the created function resolves the host name, checks every address, and
 * connects to one of the checked addresses. So the check holds even if the name resolves differently a moment later.
 * Redirects are not followed. If a request goes through a proxy, only the proxy resolves the host name.
 */
export function createSender({ proxy, timeoutMs = 15_000, lookup = lookUp }: SenderOptions = {}): Send {
  let loading: ReturnType<typeof load> | undefined
  const load = async () => {
    // In the bundle, named exports of a CommonJS package exist only as properties of its default export.
    const { default: undici } = await import('undici')
    const { httpsProxy = '', noProxy = '' } = proxy ?? {}
    const outside = { lookup: checkedLookup(lookup, isPublicAddress) }
    const loopback = { lookup: checkedLookup(lookup, (address) => isLoopbackHost(asUrlHost(address))) }
    return {
      fetch: undici.fetch,
      outside: new undici.EnvHttpProxyAgent({ httpProxy: '', httpsProxy, noProxy, connect: outside }),
      here: new undici.Agent({ connect: loopback }),
    }
  }
  return async ({ url, headers, body, mayStayHere }, signal) => {
    const stop = new AbortController()
    const late = deadline(timeoutMs, () => stop.abort(new LateError()))
    try {
      loading ??= load()
      const { fetch, outside, here } = await loading
      const problem = addressProblem(url, mayStayHere)
      if (problem !== undefined) return { status: null, error: `It ${problem}` }
      const staysHere = isLoopback(url)
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'User-Agent': 'payments-mcp-webhooks', ...headers },
        body,
        redirect: 'manual',
        dispatcher: staysHere ? here : outside,
        signal: AbortSignal.any([signal, stop.signal]),
      })
      await readSome(response.body)
      return { status: response.status, error: statusProblem(response.status) }
    } catch (error) {
      signal.throwIfAborted()
      return { status: null, error: failureReason(error, timeoutMs) }
    } finally {
      late.clear()
    }
  }
}

class LateError extends Error {
  override readonly name = 'LateError'
}

const asUrlHost = (address: string) => (address.includes(':') ? `[${address}]` : address)

const notPublic = 'It is not an https address on the public internet.'

async function readSome(body: AsyncIterable<Uint8Array> | null): Promise<void> {
  let read = 0
  // Returning early discards the rest.
  for await (const part of body ?? []) {
    read += part.length
    if (read > maxAnswerBytes) return
  }
}

function statusProblem(status: number): string | null {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400) return `It answered ${status}. Redirects are not followed: use the final address.`
  return `It answered ${status}; only a status from 200 to 299 counts as received.`
}

/** Describes an error to the webhook's owner, without revealing anything about the service's own network. */
function failureReason(error: unknown, timeoutMs: number): string {
  const causes: { name?: string; code?: string }[] = []
  for (let cause = error; cause instanceof Error && causes.length < 5; cause = cause.cause) causes.push(cause)
  if (causes.some(({ name }) => name === 'LateError')) return `It did not answer within ${timeoutMs / 1000} s.`
  if (causes.some(({ name }) => name === 'PrivateAddressError')) return notPublic
  const code = causes.find((cause) => typeof cause.code === 'string')?.code
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `Its host name was not found (${code}).`
  if (code === 'ECONNREFUSED') return 'Nothing listens at its address (ECONNREFUSED).'
  return code === undefined ? 'It could not be reached.' : `It could not be reached (${code}).`
}
