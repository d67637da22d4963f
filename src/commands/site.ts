import type { Caller } from '../service/request/client-address.ts'
import type { Service } from '../service/service.ts'
import { changesTopic } from '../service/store/engine/signals.ts'
import { type McpOverHttp, mcpOverHttp } from './mcp-over-http.ts'
import type { Metrics } from './metrics.ts'

/** Everything that `serve` offers: the API, the pages, sign-in, and MCP. */
export interface Site {
  fetch(request: Request, caller?: Caller): Promise<Response>
  /**
   * Returns whether web pages of the allowed origins may use a path. On such a path, a token or a code identifies the
   * caller, never a cookie.
   */
  corsPaths(path: string): boolean
  /** Returns whether web pages of any origin may read a path. */
  publicPaths(path: string): boolean
  /** Closes the MCP endpoint. Waits a limited time for running calls. */
  close(): Promise<void>
}

export async function createSite(options: McpOverHttp & { metrics?: Metrics | undefined }): Promise<Site> {
  const { store, system, metrics, config, signals } = options
  const announceChange = () => {
    mcp.wake()
    signals?.send(changesTopic)
  }
  if (signals !== undefined) {
    options.service.waits.connect(signals)
    options.service.deliveries.connect(signals)
  }
  const service = reportChanges(options.service, announceChange)
  const mcp = await mcpOverHttp({ ...options, service })
  metrics?.watch(store, () => mcp.load())
  const observedMcp = async (request: Request, caller: Caller | undefined, { observe }: Metrics) => {
    const beganAtMs = system.elapsed()
    const response = await mcp.fetch(request, caller?.body)
    observe('mcp', response.status, (system.elapsed() - beganAtMs) / 1000)
    return response
  }
  const isMetricsRequest = ({ method, url }: Request, caller: Caller | undefined) =>
    config.metricsPort === undefined && caller?.local === true && method === 'GET' && metricsAddress.test(url)
  return {
    fetch: (request, caller) => {
      if (mcpAddress.test(request.url) && !serverCardAddress.test(request.url))
        return metrics === undefined ? mcp.fetch(request, caller?.body) : observedMcp(request, caller, metrics)
      if (metrics !== undefined && isMetricsRequest(request, caller)) return metrics.answer()
      return service.fetch(request, caller)
    },
    corsPaths: (path) => crossOriginPaths.test(path),
    publicPaths: (path) => publicDocumentPaths.has(path),
    close: () => mcp.close(),
  }
}

/** Wraps the service so that `onChange` runs after each request, over REST or MCP, that may have changed something. */
function reportChanges(service: Service, onChange: () => void): Service {
  return {
    ...service,
    fetch: async (request, caller) => {
      const response = await service.fetch(request, caller)
      if (request.method !== 'GET' && request.method !== 'HEAD') onChange()
      return response
    },
  }
}

export const metricsAddress = /^https?:\/\/[^/]+\/metrics(?:\?|$)/

/** The address of the server card, which describes the MCP endpoint but is not part of it. */
const serverCardAddress = /^https?:\/\/[^/]+\/mcp\/server-card(?:\?|$)/

/** The MCP endpoint and the paths below it. */
const mcpAddress = /^https?:\/\/[^/]+\/mcp(?:[/?#]|$)/

const crossOriginPaths =
  /^\/(?:mcp(?:\/|$)|\.well-known\/|oauth\/(?:token|register|revoke|jwks|introspect|device\/authorize)$)/

/** The paths of the documents that tell a host where to connect. The documents contain no secrets. */
const publicDocumentPaths: ReadonlySet<string> = new Set(['/mcp/server-card', '/.well-known/ai-catalog.json'])
