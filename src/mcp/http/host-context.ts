import type { RequestId } from '@modelcontextprotocol/server'
import type { Surface } from './surface.ts'

/** The holder of a bearer credential. */
export interface Principal {
  /** The id of the grant or key. A session belongs to one such id. */
  id: string
  /** The id of the party. It is the same for all credentials of the party. */
  partyId: string
  actor: 'agent' | 'party' | 'user'
  /** The token's OAuth scopes; undefined for a key, because OAuth scopes do not limit keys. */
  scopes: readonly string[] | undefined
  /** The OAuth client's id; undefined for keys. */
  clientId: string | undefined
  /** The credential for calling the API. */
  credential: string
}

/** The context of an MCP server, which serves one MCP 2025 session or one MCP 2026 request. */
export interface HostContext extends Surface {
  /**
   * Returns the principal of the latest request. Its credential may be newer than that of the first request, because a
   * session can outlive an access token.
   */
  principal(): Principal
  /** The value of X-Instance-ID in calls to the API. */
  instanceId: string
  /**
   * Whether the host chose the instance id. Only such an id identifies one run. If the id was generated, a restarted
   * host may get a different id for the same run, and all runs of an MCP 2026 client share one id.
   */
  isOneRun: boolean
  era: 'legacy' | 'modern'
  /**
   * Cuts the connection of a request, or ends its stream. The request gets no answer, and the stream cannot be resumed.
   */
  cut(id: RequestId): void
}
