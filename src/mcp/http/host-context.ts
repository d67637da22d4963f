import type { RequestId } from '@modelcontextprotocol/server'
import type { Surface } from './surface.ts'

/** The holder of a bearer credential. */
export interface Principal {
  /** The id of the grant or key. A session belongs to one such id. */
  id: string
  /** The id of the party. All credentials of a party have the same one. */
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
  /** Returns the principal of the latest request, because a session can outlive an access token. */
  principal(): Principal
  /** The value of X-Instance-ID in calls to the API. */
  instanceId: string
  /**
   * Whether the host chose the instance id, so that the id identifies one run. A generated id does not
   * identify a run: a restarted host may get another one, and all runs of an MCP 2026 client share one.
   */
  isOneRun: boolean
  era: 'legacy' | 'modern'
  /** Cuts the connection of a request, or ends its stream. The request is never answered or resumed. */
  cut(id: RequestId): void
}
