import { resolve } from 'node:path'
import { ConfigError } from '../config/load.ts'
import { createLogger, type Logger } from '../config/log.ts'
import { type Config, names } from '../config/settings.ts'
import { hostBlock, type Start } from '../core/host-setups.ts'
import { deadline, realSystem } from '../core/system.ts'
import { type Listener, type ListenOptions, listen } from '../service/listen.ts'
import type { Readiness } from '../service/request/readiness.ts'
import type { SeededCredentials } from '../service/seed.ts'
import { openSignals } from '../service/store/engine/open-signals.ts'
import { configured, type Flags } from './configured.ts'
import { openEmbedded } from './embedded.ts'
import { orExplain } from './explain.ts'
import type { Metrics } from './metrics.ts'
import { createSite, metricsAddress, type Site } from './site.ts'

/** The service as one HTTP process, until SIGINT or SIGTERM. */
export async function serve(flags: Flags): Promise<void> {
  await orExplain(async () => {
    const config = configured('serve', flags)
    const log = createLogger({ level: config.logLevel })
    let url = ''
    const publicUrl = () => config.publicUrl ?? url
    const metrics = await metricsOf(config)
    const { service, store, close } = await openEmbedded(config, realSystem, log, publicUrl, metrics?.observe)
    const credentials = await service.seed({ apiKey: config.sandboxApiKey, agentKey: config.sandboxAgentKey })
    const owner = await service.seedPassword(config.sandboxPassword)
    const signals = await openSignals({ url: config.databaseUrl, system: realSystem, log })
    const site = await createSite({ config, service, store, publicUrl, system: realSystem, log, metrics, signals })
    const atOwnPort = await listenForMetrics(config, metrics, log)
    const listening = listenOrExplain(config, site, { readiness: service.readiness, log })
    listening.catch(() => atOwnPort?.close())
    const listener = await listening
    url = listener.url
    process.stdout.write(welcome(config, { url, publicUrl: publicUrl() }, credentials, owner))
    const stop = async () => {
      const late = deadline(stopWithinMs, () => {
        log.error({}, 'it ended before everything was closed')
        process.exit(1)
      })
      await service.readiness.end()
      await Promise.all([site.close(), listener.close(), atOwnPort?.close()])
      await Promise.all([signals.close(), close()])
      late.clear()
    }
    process.once('SIGINT', stop)
    process.once('SIGTERM', stop)
  })
}

/** Who started the process may kill it after that. */
const stopWithinMs = 9_500

async function metricsOf({ metrics, metricsPort }: Config): Promise<Metrics | undefined> {
  if (metrics) return (await import('./metrics.ts')).createMetrics()
  if (metricsPort === undefined) return undefined
  throw new ConfigError(
    `PAYMENTS_METRICS_PORT (--metrics-port) got ${metricsPort} while PAYMENTS_METRICS is false; it accepts a port with PAYMENTS_METRICS=true.`,
  )
}

async function listenForMetrics(config: Config, metrics: Metrics | undefined, log: Logger) {
  const { host, metricsPort: port } = config
  if (metrics === undefined || port === undefined) return undefined
  const fetch = async ({ method, url }: Request) =>
    method === 'GET' && metricsAddress.test(url) ? metrics.answer() : new Response(null, { status: 404 })
  return orExplainPort('metricsPort', { fetch, host, port, system: realSystem, log })
}

async function listenOrExplain(
  config: Config,
  { fetch, corsPaths }: Site,
  { readiness, log }: { readiness: Readiness; log: Logger },
) {
  const { host, port, publicUrl, allowedOrigins, trustedProxies } = config
  const reached = { publicUrl, allowedOrigins, trustedProxies, corsPaths, isEnding: readiness.isEnding }
  return orExplainPort('port', { fetch, host, port, ...reached, system: realSystem, log })
}

async function orExplainPort(setting: 'port' | 'metricsPort', options: ListenOptions): Promise<Listener> {
  try {
    return await listen(options)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const reason = { EADDRINUSE: 'is in use', EACCES: 'is not permitted', EADDRNOTAVAIL: 'is not of this machine' }[
      code ?? ''
    ]
    if (reason === undefined) throw error
    const { host, port } = options
    const { variable, flag } = names(setting)
    throw new ConfigError(
      `${variable} (${flag}) and PAYMENTS_HOST (--host) got ${port} on ${host}, which ${reason}; they accept a free port and an address of this machine.`,
    )
  }
}

function welcome(
  config: Config,
  { url, publicUrl }: { url: string; publicUrl: string },
  { apiKey, agentKey }: SeededCredentials,
  owner: { email: string; password: string | null },
): string {
  const start = hostStart(config, url, agentKey)
  const shownBefore = (variable: string) => `(printed when it was made; set ${variable} to choose another)`
  return `payments-mcp ${config.environment} is listening on ${url}

  MCP        ${publicUrl}/mcp (sign in with OAuth, or send a key as the bearer)
  Sign-in    ${publicUrl}/sign-in as ${owner.email}
  Password   ${owner.password ?? shownBefore('PAYMENTS_SANDBOX_PASSWORD')}
  API key    ${apiKey ?? shownBefore('PAYMENTS_SANDBOX_API_KEY')}
  Agent key  ${agentKey ?? shownBefore('PAYMENTS_SANDBOX_AGENT_KEY')}
  Data       ${config.databaseUrl.replace(/\/\/.*@/s, '//[masked]@')}

Paste this into the configuration of your AI host (Claude Desktop, Cursor and most others):

${hostBlock('cursor', { start })}

or into .vscode/mcp.json for VS Code:

${hostBlock('vscode', { start })}

Stop with Ctrl+C.
`
}

/** How an AI host starts the MCP server. It works as it is: from this checkout or installation, with this Node.js. */
function hostStart({ environment, databaseUrl, secret }: Config, url: string, agentKey: string | null): Start {
  // A sandbox on disk is opened by the host's own process, which needs no secret in the host's files for it.
  const shareable = environment === 'sandbox' && databaseUrl !== 'sqlite::memory:' && secret === undefined
  const file = /^sqlite:(.+)$/.exec(databaseUrl)?.[1]
  const env: Record<string, string> = shareable
    ? { PAYMENTS_DATABASE_URL: file === undefined ? databaseUrl : `sqlite:${resolve(file)}` }
    : { PAYMENTS_ENVIRONMENT: environment, PAYMENTS_BASE_URL: url, PAYMENTS_KEY: agentKey ?? '<agent key>' }
  const cli = process.argv[1] ?? 'payments-mcp'
  return { command: process.execPath, args: [cli], env }
}
