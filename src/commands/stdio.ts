import { writeSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import type { Client } from '../client/client.ts'
import { ConfigError } from '../config/load.ts'
import { createLogger, type Logger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import { newSecret, realSystem } from '../core/system.ts'
import {
  type Decisions,
  everyTool,
  noFaults,
  ownChanges,
  type PersonAdvice,
  type RunNote,
} from '../mcp/dependencies.ts'
import { createRequestStates } from '../mcp/people/request-states.ts'
import { actorOf, createMcpServer } from '../mcp/server.ts'
import { serveOverStdio } from '../mcp/stdio.ts'
import { appViews } from '../mcp/ui/apps.ts'
import { commandConfig, configuredFaultRules, type Flags, refuseEmbeddedProduction } from './command-config.ts'
import { explainErrors } from './explain.ts'
import type { LoopbackDecisions } from './loopback-decisions.ts'
import type { ClientConfig, OpenClient } from './open-client.ts'
import { version } from './version.ts'
import { isWrongDatabase } from './wrong-database.ts'

/** Runs the MCP server on this process's stdin and stdout, until stdin ends. */
export async function stdio(flags: Flags): Promise<void> {
  await explainErrors(async () => {
    const config = commandConfig('stdio', flags)
    refuseEmbeddedProduction(config)
    const faults = await configuredFaultRules(config)
    const log = createLogger({ level: config.logLevel })
    const instanceId = instanceIdOf(config)
    const api = openLazily({ ...config, rules: faults }, instanceId, log)
    // Opens the sandbox now, so that a mistake in the world file is reported before a host waits for an answer.
    if (config.world !== undefined) await (await api.get()).ready()
    serveConnection({ config, api, instanceId, log, stdin: process.stdin, stdout: process.stdout })
  })
}

interface Connection {
  config: Config
  /** The client of the API. It is opened on first use and closed after the last answer. */
  api: { get(): Promise<OpenClient>; close(): Promise<void> }
  instanceId: () => string
  log: Logger
  stdin: Readable
  stdout: Writable
}

/** Serves MCP to an AI host on `stdin` and `stdout`, with the settings in `config`. */
export function serveConnection({ config, api, instanceId, log, stdin, stdout }: Connection) {
  const { environment, toolsets, baseUrl, key, readOnly, cardDetails } = config
  // A deployed API serves its pages at its own address.
  const publicUrl = config.publicUrl ?? baseUrl
  const confirm = { mode: config.confirm, aboveCents: config.confirmAbove }
  // Without a key, the embedded sandbox uses its seeded agent as the actor. At a deployed API, the actor is unknown.
  const actor = key === undefined ? (baseUrl === undefined ? 'agent' : undefined) : actorOf(key)
  const client = async () => (await api.get()).client
  const note = (runNote: RunNote) =>
    void api
      .get()
      .then((opened) => opened.note(runNote))
      .catch(() => {})
  const { decisions, close } = decideLazily(config, { client, note, log })
  // Undefined if no id is configured. A generated id is not used here: it changes when the server restarts, so the
  // server would not recognize calls that the host repeats after the restart.
  const run = config.instanceId
  const memory = async () => (await api.get()).memory()
  const repeats = { windowMs: config.repeatWindow * 1000, run, memory }
  return serveOverStdio({
    createServer: (cut) =>
      createMcpServer({
        version,
        log,
        system: realSystem,
        ui: appViews(environment),
        choice: { ...everyTool(environment), toolsets, actor, readOnly, cardDetails },
        api: { client, personAdvice: personAdviceOf(config) },
        people: { confirm, decisions, publicUrl, states: createRequestStates({ system: realSystem }) },
        repeats,
        faults: baseUrl === undefined ? { plan: async (tool) => (await api.get()).plan(tool), cut } : noFaults,
        run: { id: instanceId, note },
        changes: { ...ownChanges, follow: async (onChange) => (await api.get()).follow(onChange) },
      }),
    onClose: async () => {
      await close()
      await api.close()
    },
    log,
    system: realSystem,
    stdin,
    stdout,
  })
}

function personAdviceOf({ environment, baseUrl, key }: Config): PersonAdvice {
  const address = baseUrl ?? 'the sandbox in this process'
  return {
    signIn:
      key === undefined && baseUrl !== undefined
        ? `Have the person sign in by running payments-mcp login --base-url ${baseUrl} in a terminal.`
        : `Have the person set PAYMENTS_KEY (--key) to a complete ${environment} key that is not revoked, and start this server again.`,
    reach: `Have the person check whether the payments API is running at ${address}, and whether that address (PAYMENTS_BASE_URL) is correct.`,
    offer: (toolsets) => `PAYMENTS_TOOLSETS=${toolsets.join()}`,
  }
}

/**
 * Returns a getter of the instance id. If no id is configured, generates one on first use, so that startup is faster.
 */
function instanceIdOf({ instanceId }: Config): () => string {
  let currentId = instanceId
  return () => {
    currentId ??= `run_${newSecret(realSystem, 16)}`
    return currentId
  }
}

interface Deciding {
  client: () => Promise<Client>
  note: (runNote: RunNote) => void
  log: Logger
}

/** Stores calls until a person decides about them on a local page. The code for this is loaded on first use. */
function decideLazily({ environment, baseUrl }: Config, { client, note, log }: Deciding) {
  const elsewhere =
    baseUrl === undefined
      ? 'run payments-mcp serve and connect the host to /mcp at the address that it prints'
      : `connect the host to ${baseUrl}/mcp instead`
  let opening: Promise<LoopbackDecisions> | undefined
  const openNow = async () => {
    const [{ LoopbackDecisions }, { tryOpenBrowser }, { readLimitFacts }] = await Promise.all([
      import('./loopback-decisions.ts'),
      import('./open-browser.ts'),
      import('./local-limits.ts'),
    ])
    return new LoopbackDecisions({
      environment,
      open: tryOpenBrowser,
      elsewhere,
      limits: async (call) => readLimitFacts((await client()).call, call),
      decided: ({ tool: operation, host }, decision) => {
        const outcome = decision === 'yes' ? 'agreed' : 'disagreed'
        note({ kind: 'decision', outcome, operation, host, remark: 'The person at this computer decided on the page.' })
      },
      system: realSystem,
      log,
    })
  }
  const get = () => {
    opening ??= openNow()
    return opening
  }
  const decisions: Decisions = {
    isLocal: true,
    keep: async (call, by) => (await get()).keep(call, by),
    find: async (id) => (await get()).find(id),
    wait: async (id, ms, signal) => (await get()).wait(id, ms, signal),
    countTry: async (held) => (await get()).countTry(held),
    finish: async (id, answer) => (await get()).finish(id, answer),
    inTurn: async (id, call) => (await get()).inTurn(id, call),
  }
  return { decisions, close: async () => (await opening)?.close() }
}

/** Loads the client and the sandbox on first use, so that they do not delay the answer to `initialize`. */
function openLazily(config: ClientConfig, instanceId: () => string, log: Logger) {
  let opening: Promise<OpenClient> | undefined
  const openNow = async () => {
    const { openClient } = await import('./open-client.ts')
    const opened = openClient({ ...config, instanceId: instanceId() }, realSystem, log)
    opened.ready().catch(endIfWrongDatabase)
    return opened
  }
  return {
    get: () => {
      opening ??= openNow()
      return opening
    },
    close: async () => {
      await (await opening)?.close()
    },
  }
}

/** Ends the process if the database is unsuitable. After any other error, each call retries opening the database. */
function endIfWrongDatabase(error: unknown): void {
  if (!(error instanceof ConfigError) || !isWrongDatabase(error)) return
  // Writes and exits synchronously, because otherwise the calls that wait for the database would report the same error.
  writeSync(process.stderr.fd, `payments-mcp: ${error.message}\n`)
  process.exit(2)
}
