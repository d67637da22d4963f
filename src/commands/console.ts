import { createLogger } from '../config/log.ts'
import { realSystem } from '../core/system.ts'
import { embeddedAddress } from './addresses.ts'
import { commandConfig, type Flags, refuseEmbeddedProduction } from './command-config.ts'
import { openEmbedded } from './embedded-service.ts'
import { explainErrors } from './explain.ts'
import { openBrowser } from './open-browser.ts'
import { endOnSignal, listenOrExplain } from './process-lifecycle.ts'
import { withoutCredentials } from './welcome.ts'

type ConsoleFlags = Flags & { json?: boolean; open?: boolean }

/**
 * Opens the console of the deployed API. If no API is configured, serves the console from this process until SIGINT or
 * SIGTERM, with the same database as the MCP server over stdio.
 */
export async function openConsole(flags: ConsoleFlags): Promise<void> {
  await explainErrors(async () => {
    const config = commandConfig('console', flags)
    refuseEmbeddedProduction(config)
    const { baseUrl, databaseUrl } = config
    if (baseUrl !== undefined) return show(`${baseUrl}/console`, flags)
    const log = createLogger({ level: 'warn' })
    let url = embeddedAddress
    const { service, close } = await openEmbedded(config, realSystem, log, () => url)
    // Fills an empty database with the world. Does not set the owner's password or the secrets of the keys: the first
    // command that shows them sets them.
    await service.localAgentKey()
    // Without --port, uses any free port, because `serve` may be running on the configured one.
    const port = flags.port === undefined ? 0 : config.port
    const { fetch, readiness } = service
    const listening = { fetch, host: '127.0.0.1', port, isEnding: readiness.isEnding, system: realSystem, log }
    const listener = await listenOrExplain('--port', listening).catch(async (error: unknown) => {
      await close()
      throw error
    })
    url = listener.url
    endOnSignal(log, async () => {
      await readiness.end()
      await listener.close()
      await close()
    })
    const link = await service.signInLink('/console')
    show(`${url}/console`, flags, { link, more: `It uses ${withoutCredentials(databaseUrl)}. Stop with Ctrl+C.` })
  })
}

interface ShowOptions {
  /** The one-time link that the browser opens to sign the person in. */
  link?: string | undefined
  /** Further text, which is printed only on a terminal. */
  more?: string
}

/**
 * Prints the console's address, and opens the console in a browser unless `open` is false. The browser opens the
 * one-time link if there is one. This link is printed only on a terminal.
 */
function show(url: string, { json, open }: ConsoleFlags, { link, more }: ShowOptions = {}): void {
  const isTerminal = process.stdout.isTTY && json !== true
  const signIn = link === undefined ? '' : `Sign in with this link, which works once, within 10 minutes: ${link}\n`
  process.stdout.write(json === true ? `${JSON.stringify({ url })}\n` : `The console is at ${url}\n`)
  if (isTerminal) process.stdout.write(`${signIn}${more === undefined ? '' : `${more}\n`}`)
  const none = 'payments-mcp: no browser could be opened here: open the address yourself.\n'
  if (open !== false) openBrowser(new URL(link ?? url), () => process.stderr.write(none))
}
