import {
  classifyInboundRequest,
  type InboundClassificationOutcome,
  isJSONRPCRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server'
import { modernVersion } from '../../core/mcp-versions.ts'

/** The handling of a message: as the SDK classifies it, or as it would. */
type Route =
  | { kind: 'modern' }
  | { kind: 'legacy'; reason: Extract<InboundClassificationOutcome, { kind: 'legacy' }>['reason'] }
  | Extract<InboundClassificationOutcome, { kind: 'reject' }>

/**
 * The SDK tries first whether a message is an answer, which takes it longer than all else. So what most messages are, a
 * request whose header says the version, is told before; the handler of the later era classifies its own once more.
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
