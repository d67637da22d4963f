import type { Caller } from '../service/request/client-address.ts'
import { type McpOverHttp, mcpOverHttp } from './mcp-over-http.ts'

/** All that `serve` answers: the API, its pages, signing in, and MCP. */
export interface Site {
  fetch(request: Request, caller?: Caller): Promise<Response>
  /** What pages of other sites may use: where an access token or a code says who asks, never a cookie. */
  corsPaths(path: string): boolean
  /** Lets the calls of AI hosts that run finish. */
  close(): Promise<void>
}

export async function createSite(grounds: McpOverHttp): Promise<Site> {
  const mcp = await mcpOverHttp(grounds)
  return {
    fetch: (request, caller) =>
      mcpAddress.test(request.url) ? mcp.fetch(request) : grounds.service.fetch(request, caller),
    corsPaths: (path) => forOtherSites.test(path),
    close: () => mcp.close(),
  }
}

/** The MCP endpoint and what is below it. */
const mcpAddress = /^https?:\/\/[^/]+\/mcp(?:[/?#]|$)/

const forOtherSites =
  /^\/(?:mcp(?:\/|$)|\.well-known\/|oauth\/(?:token|register|revoke|jwks|introspect|device\/authorize)$)/
