import { type ConfigSources, loadConfig } from '../config.ts'
import { createLogger } from '../log.ts'
import { createMcpServer } from '../mcp/server.ts'
import { serveOverStdio } from '../mcp/stdio.ts'
import { realSystem } from '../system.ts'
import { connect } from './connection.ts'
import { orExplain } from './explain.ts'
import { version } from './version.ts'

/** The MCP server on this process's stdin and stdout, until stdin ends. */
export async function stdio(flags: NonNullable<ConfigSources['flags']>): Promise<void> {
  await orExplain(async () => {
    const config = loadConfig({ flags })
    const log = createLogger({ level: config.logLevel })
    const connection = connect(config, realSystem, log)
    const { environment, toolsets } = config
    serveOverStdio({
      createServer: () => createMcpServer({ client: connection.client, environment, toolsets, version, log }),
      onClose: () => connection.close(),
      log,
      system: realSystem,
      stdin: process.stdin,
      stdout: process.stdout,
    })
  })
}
