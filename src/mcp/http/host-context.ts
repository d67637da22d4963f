import type { RequestId } from '@modelcontextprotocol/server'
import type { Surface } from './surface.ts'

/** The holder of a bearer credential. */
export interface Principal {
  /** The id of the grant or key; sessions are bound to it. */
  id: string
  /** The party: credentials of one party belong together. */
  partyId: string
  actor: 'agent' | 'party' | 'user'
  /** OAuth scopes of the token; undefined for keys, which are not limited this way. */
  scopes: readonly string[] | undefined
  /** OAuth client; undefined for keys. */
  clientId: string | undefined
  /** The credential that the API is called with. */
  credential: string
}

/** One 2025-era session, or one 2026-era request. */
export interface HostContext extends Surface {
  /** The principal of the latest request: a session outlives the tokens it is used with. */
  principal(): Principal
  /** X-Instance-ID of what is caused through it. */
  instanceId: string
  /** Whether the host chose it: a session's own ends with the session, and a host that starts anew repeats calls. */
  isOneRun: boolean
  era: 'legacy' | 'modern'
  /** Cuts the connection of a request, or ends its stream: it is never answered then, nor can it be resumed. */
  cut(id: RequestId): void
}
