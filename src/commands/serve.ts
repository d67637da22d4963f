import { resolve } from 'node:path'
import { ConfigError } from '../config/load.ts'
import { createLogger, type Logger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import { realSystem } from '../core/system.ts'
import { listen } from '../service/listen.ts'
import type { SeededCredentials } from '../service/seed.ts'
import { configured, type Flags } from './configured.ts'
import { openEmbedded } from './embedded.ts'
import { orExplain } from './explain.ts'
import { createSite, type Site } from './site.ts'

/** The service as one HTTP process, until SIGINT or SIGTERM. */
export async function serve(flags: Flags): Promise<void> {
  await orExplain(async () => {
    const config = configured('serve', flags)
    const log = createLogger({ level: config.logLevel })
    let url = ''
    const publicUrl = () => config.publicUrl ?? url
    const { service, store, close } = await openEmbedded(config, realSystem, log, publicUrl)
    const credentials = await service.seed({ apiKey: config.sandboxApiKey, agentKey: config.sandboxAgentKey })
    const owner = await service.seedPassword(config.sandboxPassword)
    const site = await createSite({ config, service, store, publicUrl, system: realSystem, log })
    const listener = await listenOrExplain(config, site, log)
    url = listener.url
    process.stdout.write(welcome(config, { url, publicUrl: publicUrl() }, credentials, owner))
    const stop = async () => {
      await site.close()
      await listener.close()
      await close()
    }
    process.once('SIGINT', stop)
    process.once('SIGTERM', stop)
  })
}

async function listenOrExplain(config: Config, { fetch, corsPaths }: Site, log: Logger) {
  const { host, port, publicUrl, allowedOrigins, trustedProxies } = config
  const reached = { publicUrl, allowedOrigins, trustedProxies, corsPaths }
  try {
    return await listen({ fetch, host, port, ...reached, system: realSystem, log })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = { EADDRINUSE: 'is in use', EACCES: 'is not permitted', EADDRNOTAVAIL: 'is not of this machine' }[
      code ?? ''
    ]
    if (reason === undefined) throw error
    throw new ConfigError(
      `PAYMENTS_PORT (--port) and PAYMENTS_HOST (--host) got ${port} on ${host}, which ${reason}; they accept a free port and an address of this machine.`,
    )
  }
}

function welcome(
  config: Config,
  { url, publicUrl }: { url: string; publicUrl: string },
  { apiKey, agentKey }: SeededCredentials,
  owner: { email: string; password: string | null },
): string {
  const server = hostConfiguration(config, url, agentKey)
  const shownBefore = (variable: string) => `(printed when it was made; set ${variable} to choose another)`
  return `payments-mcp ${config.environment} is listening on ${url}

  MCP        ${publicUrl}/mcp (sign in with OAuth, or send a key as the bearer)
  Sign-in    ${publicUrl}/sign-in as ${owner.email}
  Password   ${owner.password ?? shownBefore('PAYMENTS_SANDBOX_PASSWORD')}
  API key    ${apiKey ?? shownBefore('PAYMENTS_SANDBOX_API_KEY')}
  Agent key  ${agentKey ?? shownBefore('PAYMENTS_SANDBOX_AGENT_KEY')}
  Data       ${config.databaseUrl.replace(/\/\/.*@/s, '//[masked]@')}

Paste this into the configuration of your AI host (Claude Desktop, Cursor and most others):

${JSON.stringify({ mcpServers: { payments: server } }, null, 2)}

or into .vscode/mcp.json for VS Code:

${JSON.stringify({ servers: { payments: { type: 'stdio', ...server } } }, null, 2)}

Stop with Ctrl+C.
`
}

/** How an AI host starts the MCP server. It works as it is: from this checkout or installation, with this Node.js. */
function hostConfiguration({ environment, databaseUrl, secret }: Config, url: string, agentKey: string | null) {
  // A sandbox on disk is opened by the host's own process, which needs no secret in the host's files for it.
  const shareable = environment === 'sandbox' && databaseUrl !== 'sqlite::memory:' && secret === undefined
  const file = /^sqlite:(.+)$/.exec(databaseUrl)?.[1]
  const env: Record<string, string> = shareable
    ? { PAYMENTS_DATABASE_URL: file === undefined ? databaseUrl : `sqlite:${resolve(file)}` }
    : { PAYMENTS_ENVIRONMENT: environment, PAYMENTS_BASE_URL: url, PAYMENTS_KEY: agentKey ?? '<agent key>' }
  const cli = process.argv[1] ?? 'payments-mcp'
  return { command: process.execPath, args: [cli], env }
}
