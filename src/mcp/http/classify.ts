import {
  classifyInboundRequest,
  type InboundClassificationOutcome,
  isJSONRPCRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'
import { modernVersion } from '../../core/mcp-versions.ts'

/** The protocol era of a message, or its rejection, in the terms of the SDK. */
type Route =
  | { kind: 'modern' }
  | { kind: 'legacy'; reason: Extract<InboundClassificationOutcome, { kind: 'legacy' }>['reason'] }
  | Extract<InboundClassificationOutcome, { kind: 'reject' }>

/**
 * Classifies a message. The SDK begins with a slow test of whether the message is an answer. To avoid this test, this
 * function first recognizes the most common message: a request whose header states the protocol version. The handler of
 * MCP 2026 requests classifies each request again.
 */
export function classify({ headers }: Request, body: unknown): Route {
  const protocolVersionHeader = headers.get('mcp-protocol-version')
  if (protocolVersionHeader !== null && isJSONRPCRequest(body)) {
    if (protocolVersionHeader === modernVersion) return { kind: 'modern' }
    const isPlain = body.method !== 'initialize' && body.params?._meta === undefined
    if (isPlain && SUPPORTED_PROTOCOL_VERSIONS.includes(protocolVersionHeader)) {
      return { kind: 'legacy', reason: 'no-claim' }
    }
  }
  const mcpMethodHeader = headers.get('mcp-method')
  const mcpNameHeader = headers.get('mcp-name')
  return classifyInboundRequest({
    httpMethod: 'POST',
    body,
    ...(protocolVersionHeader !== null && { protocolVersionHeader }),
    ...(mcpMethodHeader !== null && { mcpMethodHeader }),
    ...(mcpNameHeader !== null && { mcpNameHeader }),
  })
}
