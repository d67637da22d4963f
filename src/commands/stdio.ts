import { type Config, ConfigError, type ConfigSources, loadConfig } from '../config.ts'
import { createLogger, type Logger } from '../log.ts'
import { actorOf, createMcpServer } from '../mcp/server.ts'
import { serveOverStdio } from '../mcp/stdio.ts'
import { realSystem } from '../system.ts'
import type { Connection } from './connection.ts'
import { orExplain } from './explain.ts'
import { version } from './version.ts'

/** The MCP server on this process's stdin and stdout, until stdin ends. */
export async function stdio(flags: NonNullable<ConfigSources['flags']>): Promise<void> {
  await orExplain(async () => {
    const config = loadConfig({ flags })
    refuseEmbeddedProduction(config)
    const log = createLogger({ level: config.logLevel })
    const connection = connectWhenAsked(config, log)
    const { environment, toolsets, baseUrl, key } = config
    // Without a key the embedded sandbox is used as its agent; of another connection only a key tells.
    const actor = key === undefined ? (baseUrl === undefined ? 'agent' : undefined) : actorOf(key)
    const client = async () => (await connection.get()).client
    serveOverStdio({
      createServer: () => createMcpServer({ client, environment, toolsets, actor, version, log }),
      onClose: connection.close,
      log,
      system: realSystem,
      stdin: process.stdin,
      stdout: process.stdout,
    })
  })
}

/** The client and the sandbox are loaded when they are first needed: the answer to `initialize` comes before. */
function connectWhenAsked(config: Config, log: Logger) {
  let connecting: Promise<Connection> | undefined
  const connectNow = async () => (await import('./connection.ts')).connect(config, realSystem, log)
  return {
    get: () => {
      connecting ??= connectNow()
      return connecting
    },
    close: async () => {
      await (await connecting)?.close()
    },
  }
}

function refuseEmbeddedProduction({ environment, baseUrl }: Config): void {
  if (environment === 'sandbox' || baseUrl !== undefined) return
  throw new ConfigError(
    'PAYMENTS_BASE_URL (--base-url) got nothing; with PAYMENTS_ENVIRONMENT=production it accepts the https address of the payments API.',
  )
}
