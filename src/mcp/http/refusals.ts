import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server'
import { type Failure, show } from '../../core/errors.ts'
import { refusalResponse, rpc } from './responses.ts'

export function unsupportedVersion(version: string | null): Response | undefined {
  if (version === null || SUPPORTED_PROTOCOL_VERSIONS.includes(version)) return undefined
  const accepts = SUPPORTED_PROTOCOL_VERSIONS.join(', ')
  const message = `Mcp-Protocol-Version got ${show(version)}; a session accepts ${accepts}.`
  return refusalResponse({ status: 400, code: rpc.server, message })
}

export function tooManyRequests(
  { message, status, retryAfterSeconds = 1 }: Failure,
  limitHeaders: Readonly<Record<string, string>>,
): Response {
  const headers = { ...limitHeaders, 'Retry-After': String(retryAfterSeconds) }
  return refusalResponse({ status, code: rpc.server, message, headers })
}

export function notAcceptable(mediaTypes: string): Response {
  return refusalResponse({ status: 406, code: rpc.server, message: `Send an Accept header with ${mediaTypes}.` })
}

export function methodNotAllowed(allow = 'GET, POST, DELETE'): Response {
  const message = `Method not allowed. Use ${allow}; GET and DELETE need Mcp-Session-Id.`
  return refusalResponse({ status: 405, code: rpc.server, message, headers: { Allow: allow } })
}

export function stoppingResponse(): Response {
  const message = 'The server is stopping. Send the request again in a moment.'
  return refusalResponse({
    status: 503,
    code: rpc.server,
    message,
    headers: { 'Retry-After': '1', Connection: 'close' },
  })
}
