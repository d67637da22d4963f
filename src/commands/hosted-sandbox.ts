import type { Logger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import type { System } from '../core/system.ts'
import { type Listener, listen } from '../service/listen.ts'
import { openSignals } from '../service/store/engine/open-signals.ts'
import type { Signals } from '../service/store/engine/signals.ts'
import type { ParsedFile } from '../worlds/parse-file.ts'
import type { World } from '../worlds/schema.ts'
import { embeddedAddress } from './addresses.ts'
import { openEmbedded } from './embedded-service.ts'
import type { McpOverHttp } from './mcp-over-http.ts'
import { createSite, type Site } from './site.ts'

interface HostedSandboxOptions extends Pick<McpOverHttp, 'offers'> {
  config: Config
  system: System
  log: Logger
  /** The world file to use instead of the configured one. */
  worldFile: ParsedFile<World> | undefined
  hasUpkeep?: boolean
}

/** The longest time that closing waits for clients that stall during a request or do not read the answer. */
const closeWithinMs = 250

/**
 * Opens a sandbox in this process with everything that `serve` offers. The sandbox listens on no port until `listen` is
 * called.
 */
export async function openHostedSandbox({
  config,
  system,
  log,
  worldFile,
  hasUpkeep = true,
  ...site
}: HostedSandboxOptions) {
  let listener: Listener | undefined
  const publicUrl = () => listener?.url ?? embeddedAddress
  const { service, store, close } = await openEmbedded(config, system, log, publicUrl, { worldFile, hasUpkeep })
  let signals: Signals | undefined
  const closeAll = async () => {
    await signals?.close()
    await close()
  }
  try {
    const credentials = await service.seed({ apiKey: undefined, agentKey: undefined })
    signals = await openSignals({ url: config.databaseUrl, system, log })
    const { isEnding } = service.readiness
    const options = { config, service, store, publicUrl, system, log, signals, ...site }
    const { fetch, corsPaths, publicPaths, ...opened } = await createSite(options)
    return {
      service,
      store,
      credentials,
      publicUrl,
      fetch: (request: Request) => fetch(request),
      /** Starts to listen on a port; `answer` handles the requests. */
      listen: async (port: number, answer: Site['fetch'] = fetch) => {
        const serveOptions = { fetch: answer, host: config.host, port, corsPaths, publicPaths, isEnding, closeWithinMs }
        listener = await listen({ ...serveOptions, system, log })
      },
      close: async () => {
        // Some requests stay open until a record reaches a status. They are ended first, so that they do not delay the
        // closing.
        await service.readiness.end().catch(() => {})
        await Promise.all([opened.close(), listener?.close()])
        await closeAll()
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}
