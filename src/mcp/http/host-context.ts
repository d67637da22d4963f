import type { RequestId } from '@modelcontextprotocol/server'
import type { Surface } from './surface.ts'

/** The holder of a bearer credential. */
export interface Principal {
  /** The id of the grant or key; sessions are bound to it. */
  id: string
  /** The id of the party, which is the same for all of its credentials. */
  partyId: string
  actor: 'agent' | 'party' | 'user'
  /** The token's OAuth scopes; undefined for keys, which are not limited this way. */
  scopes: readonly string[] | undefined
  /** The OAuth client's id; undefined for keys. */
  clientId: string | undefined
  /** The credential for calling the API. */
  credential: string
}

/** One MCP 2025 session, or one MCP 2026 request. */
export interface HostContext extends Surface {
  /** Returns the principal of the latest request: a session outlives the tokens that it is used with. */
  principal(): Principal
  /** The X-Instance-ID of calls to the API. */
  instanceId: string
  /**
   * Whether the host chose the instance id. A generated id ends with its session, so a restarted host repeats calls
   * under another id.
   */
  isOneRun: boolean
  era: 'legacy' | 'modern'
  /** Cuts the connection of a request, or ends its stream, so that it is never answered or resumed. */
  cut(id: RequestId): void
}
