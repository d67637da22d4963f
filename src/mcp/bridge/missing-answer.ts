import { isJSONRPCErrorResponse, type JSONRPCRequest } from '@modelcontextprotocol/client'
import { explainFailure } from '../../client/send.ts'
import { foreignText, shortened } from '../../core/foreign-text.ts'
import { maskForeignText } from '../../core/masking.ts'
import { quoted } from '../answers/quoted-text.ts'

interface RpcError {
  code: number
  message: string
  data?: unknown
}

/** A request that got no answer, and the facts about its failure. */
export interface MissingAnswer {
  request: JSONRPCRequest
  url: URL
  /** The HTTP status of the response to the request; undefined if there was no response. */
  status: number | undefined
  /** The reason why the bridge itself gave up; undefined if it did not give up. */
  reason?: string | undefined
  /** Whether the bridge gave up because the answer is too large. */
  isTooLarge?: boolean
  /** The transport's error; undefined if the transport read the whole response and found no answer in it. */
  error?: unknown
}

/** An error code that JSON-RPC 2.0 leaves to implementations. Our own endpoint uses this code too. */
const missingAnswerCode = -32_000

/** The maximum length of an error message in characters. No message of our own endpoint is longer. */
const longestMessage = 1_000
/** The maximum length of error data as JSON. Longer data is left out. Our own endpoint's data is far shorter. */
const longestData = 64 * 1024

/** The HTTP statuses that mean that the request was rejected before it had any effect. */
const refusalStatuses: ReadonlySet<number> = new Set([
  400, 401, 403, 404, 405, 406, 411, 413, 414, 415, 421, 422, 426, 429, 431,
])

/** The methods of requests that change nothing, however often they are sent. */
const readOnlyMethods = /^(initialize|ping|server\/discover|completion\/complete|.+\/(list|read|get))$/

/**
 * Returns the error that the host gets instead of an answer. If the endpoint refused the request with a JSON-RPC error,
 * returns that error. Otherwise the message says why there is no answer, whether the request was carried out, and what
 * to do next.
 */
export function missingAnswerError(missing: MissingAnswer): RpcError {
  const refusal = missing.reason === undefined ? refusalIn(missing.error) : undefined
  if (refusal !== undefined)
    return missing.status === 401 ? { ...refusal, message: `${refusal.message} ${next(missing)}` } : refusal
  return { code: missingAnswerCode, message: `${outcomeText(missing)} ${effectText(missing)} ${next(missing)}` }
}

/**
 * Makes an error of the endpoint safe to show to a host. Masks secrets in the message, shortens the message, and puts
 * it on one line. Leaves out large data.
 */
export function shownError({ code, message, data }: RpcError): RpcError {
  const line = foreignText(message.slice(0, longestMessage * 8))
  const safeError = { code, message: shortened(maskForeignText(line), longestMessage) }
  return isSmall(data) ? { ...safeError, data } : safeError
}

function isSmall(data: unknown): boolean {
  try {
    return (JSON.stringify(data)?.length ?? Number.POSITIVE_INFINITY) <= longestData
  } catch {
    // The data is nested too deeply to be serialized.
    return false
  }
}

/** Returns the JSON-RPC error with which the endpoint refused a request; undefined if there is none. */
function refusalIn(error: unknown): RpcError | undefined {
  try {
    const body = JSON.parse(bodyOf(error) ?? '')
    return isJSONRPCErrorResponse({ ...body, id: 0 }) ? shownError(body.error) : undefined
  } catch {
    return undefined
  }
}

function bodyOf(error: unknown): string | undefined {
  const text = (error as { data?: { text?: unknown } } | undefined)?.data?.text
  return typeof text === 'string' && text.trim() !== '' ? text : undefined
}

function outcomeText({ status, reason, error }: MissingAnswer): string {
  if (reason !== undefined) return noAnswer(reason)
  if (status === undefined) return noAnswer(explainFailure(error).reason)
  if (status === 202) return noAnswer('it accepted the request with status 202, which promises no answer')
  if (status >= 300 && status < 400) return `The endpoint redirects to another address (status ${status}).`
  if (status >= 400) {
    const text = bodyOf(error)
    const words = text === undefined ? '' : `: ${quoted(text.slice(0, 4_000), 300)}`
    return `The endpoint ${status < 500 ? 'refused the request' : 'answered'} with status ${status}${words}.`
  }
  if (error === undefined) return noAnswer('the response ended without an answer')
  return noAnswer(`the response with status ${status} broke off, or is not an MCP message`)
}

function noAnswer(reason: string): string {
  return `No usable answer came from the endpoint (${reason}).`
}

function effectText(missing: MissingAnswer): string {
  if (hadNoEffect(missing)) return 'Nothing was carried out.'
  if (readOnlyMethods.test(missing.request.method)) return 'The request only reads.'
  return 'It is not known whether the call was carried out.'
}

/** Returns whether the request certainly had no effect: it never reached the endpoint, or the endpoint rejected it. */
function hadNoEffect({ status, reason, error }: MissingAnswer): boolean {
  if (reason !== undefined) return false
  if (status === undefined) return explainFailure(error).unreached
  return refusalStatuses.has(status) || (status >= 300 && status < 400)
}

function next(missing: MissingAnswer): string {
  const { url, status, isTooLarge, request } = missing
  if (status === 401) {
    const base = url.origin + url.pathname.replace(/\/mcp(\/.*)?$/, '')
    return `Start the bridge with a PAYMENTS_KEY that this endpoint accepts. To sign in as a person instead, run payments-mcp login --base-url ${base}, and start payments-mcp --base-url ${base} in place of the bridge.`
  }
  if (!hadNoEffect(missing)) {
    const again = readOnlyMethods.test(request.method)
      ? 'Send it again'
      : 'Check the state with a tool that only reads before you call again'
    return isTooLarge === true ? `${again}, and request less, such as fewer records.` : `${again}.`
  }
  if (status === undefined)
    return 'Check that the address is right and that a server listens there, then send the request again.'
  if (status < 400) return 'If that address is the server that you mean, start the bridge with it.'
  return steps[status] ?? 'Check that the address is that of an MCP endpoint.'
}

const steps: Readonly<Record<number, string>> = {
  400: 'Correct the request as the endpoint says.',
  403: 'Use a key with permission for this request.',
  404: 'Check the address. If it worked before, restart this server in the host, so that a new session begins.',
  413: 'Make the request smaller.',
  422: 'Correct the request as the endpoint says.',
  429: 'Wait, then send the request again.',
}
