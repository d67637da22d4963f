import { ConfigError } from '../config/load.ts'
import { createLogger, type Logger } from '../config/log.ts'
import { type Config, names } from '../config/settings.ts'
import { realSystem } from '../core/system.ts'
import type { Readiness } from '../service/request/readiness.ts'
import { openSignals } from '../service/store/engine/open-signals.ts'
import { servedAddress } from './addresses.ts'
import { commandConfig, configuredFaultRules, type Flags } from './command-config.ts'
import { openEmbedded } from './embedded-service.ts'
import { explainErrors } from './explain.ts'
import { listenForSignIns, refuseIdentityProvider, trustCommand } from './identity-provider.ts'
import type { Metrics } from './metrics.ts'
import { endOnSignal, listenOrExplain } from './process-lifecycle.ts'
import { serveInfo } from './serve-info.ts'
import { createSite, metricsAddress, type Site } from './site.ts'
import { letYoungHeapGrow } from './start-memory.ts'
import { readyLine, shortText, welcomeText } from './welcome.ts'

type ServeFlags = Flags & { json?: boolean }

/** Runs the service as one HTTP process, until SIGINT or SIGTERM. */
export async function serve(flags: ServeFlags): Promise<void> {
  await explainErrors(async () => {
    const config = commandConfig('serve', flags)
    refuseIdentityProvider(config)
    const faults = await configuredFaultRules(config)
    const log = createLogger({ level: config.logLevel, terminal: process.stderr.isTTY === true })
    let url = servedAddress(config)
    const publicUrl = () => config.publicUrl ?? url
    const metrics = await metricsOf(config)
    const { service, store, close } = await openEmbedded(config, realSystem, log, publicUrl, {
      observe: metrics?.observe,
      about: serveInfo(config),
    })
    const credentials = await service.seed({ apiKey: config.sandboxApiKey, agentKey: config.sandboxAgentKey })
    if (config.environment === 'production' && !credentials.hasKeys) refuseKeys(config)
    // Replaces the fault rules that an earlier start loaded from a file, even if this start has no fault rules.
    if (config.environment === 'sandbox') await service.faults.load(faults ?? [])
    const isShown = flags.json !== true && process.stdout.isTTY === true
    const owner = await service.seedPassword(config.sandboxPassword, isShown)
    const signals = await openSignals({ url: config.databaseUrl, system: realSystem, log })
    const site = await createSite({ config, service, store, publicUrl, system: realSystem, log, metrics, signals })
    const metricsListener = await listenForMetrics(config, metrics, log)
    const listeningForSignIns = listenForSignIns(config, { store, publicUrl, log })
    listeningForSignIns.catch(() => metricsListener?.close())
    const idp = await listeningForSignIns
    const listening = listenAt(config, site, { readiness: service.readiness, log })
    listening.catch(() => Promise.all([metricsListener?.close(), idp?.close()]))
    const listener = await listening
    letYoungHeapGrow()
    url = listener.url
    const start = { config, url, publicUrl: publicUrl(), credentials, owner }
    // The link is printed only on a terminal: a program that reads a pipe or a log could use the link to sign in.
    const link = isShown && config.environment === 'sandbox' ? await service.signInLink('/console') : undefined
    const startText = flags.json === true ? readyLine : isShown ? welcomeText : shortText
    const { agentKey } = credentials
    const agentId = agentKey === null ? undefined : (await service.identify(agentKey))?.agentId
    const trustOptions = { publicUrl: publicUrl(), email: owner.email, agentId }
    const identityProvider = idp && { url: idp.url, trust: trustCommand(idp.url, trustOptions) }
    process.stdout.write(startText({ ...start, link, identityProvider }))
    endOnSignal(log, async () => {
      await service.readiness.end()
      await Promise.all([site.close(), listener.close(), metricsListener?.close(), idp?.close()])
      await Promise.all([signals.close(), close()])
    })
  })
}

/** Refuses configured keys, because the first party of the database was created without keys. @throws ConfigError */
function refuseKeys(config: Config): void {
  for (const setting of ['sandboxApiKey', 'sandboxAgentKey'] as const) {
    if (config[setting] === undefined) continue
    const { variable, flag } = names(setting)
    throw new ConfigError(
      `${variable} (${flag}) got a secret, but the first party of the database was created without keys; remove this setting, and create keys with create_api_key and create_agent_key.`,
    )
  }
}

async function metricsOf({ metrics, metricsPort }: Config): Promise<Metrics | undefined> {
  if (metrics) return (await import('./metrics.ts')).createMetrics()
  if (metricsPort === undefined) return undefined
  throw new ConfigError(
    `PAYMENTS_METRICS_PORT (--metrics-port) got ${metricsPort} while PAYMENTS_METRICS is false; it accepts a port only with PAYMENTS_METRICS=true.`,
  )
}

async function listenForMetrics(config: Config, metrics: Metrics | undefined, log: Logger) {
  const { host, metricsPort: port } = config
  if (metrics === undefined || port === undefined) return undefined
  const fetch = async ({ method, url }: Request) =>
    method === 'GET' && metricsAddress.test(url) ? metrics.answer() : new Response(null, { status: 404 })
  return listenOrExplain(settingName('metricsPort'), { fetch, host, port, system: realSystem, log })
}

async function listenAt(
  config: Config,
  { fetch, corsPaths, publicPaths }: Site,
  { readiness, log }: { readiness: Readiness; log: Logger },
) {
  const { host, port, publicUrl, allowedOrigins, trustedProxies } = config
  const access = { publicUrl, allowedOrigins, trustedProxies, corsPaths, publicPaths, isEnding: readiness.isEnding }
  return listenOrExplain(settingName('port'), { fetch, host, port, ...access, system: realSystem, log })
}

function settingName(setting: 'port' | 'metricsPort'): string {
  const { variable, flag } = names(setting)
  return `${variable} (${flag}) and PAYMENTS_HOST (--host)`
}
