import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError, isDefaultDatabase } from '../config/load.ts'
import { createLogger } from '../config/log.ts'
import { type Config, names } from '../config/settings.ts'
import { realSystem } from '../core/system.ts'
import { connectOverStdio } from '../simulate/mcp-caller.ts'
import type { Target } from '../simulate/world.ts'
import { openEmbedded } from './embedded-service.ts'
import { instanceIdOf, openInProcess } from './simulate-in-process.ts'

/** The target of a simulation, and the name of the target in the report. */
export interface NamedTarget {
  target: Target
  where: string
}

const memoryUrl = 'sqlite::memory:'

/**
 * Returns the configured API or database as the target. By default, the target is a new database for this simulation.
 * With `processes`, each agent has its own server process.
 */
export function chooseTarget(config: Config, processes: boolean): NamedTarget {
  const { baseUrl, databaseUrl } = config
  const targetOn = (env: Record<string, string>): Target => {
    const settings = { ...serverSettings(config), ...env }
    return { isolated: false, open: () => (processes ? openProcessesOn(config, settings) : openInProcess(settings)) }
  }
  if (baseUrl !== undefined) return { target: targetOn({ PAYMENTS_BASE_URL: baseUrl }), where: baseUrl }
  if (databaseUrl === memoryUrl && processes) {
    const { variable, flag } = names('databaseUrl')
    throw new ConfigError(
      `${variable} (${flag}) got ${memoryUrl}; with --processes, it accepts a database that several processes can open.`,
    )
  }
  // The default database holds the sandbox of a person's AI host. A simulation must not change that sandbox.
  if (databaseUrl === memoryUrl || isDefaultDatabase(config)) {
    return { target: processes ? ownFile(config) : ownMemory(config), where: 'a new SQLite database' }
  }
  const where = databaseUrl.replace(/\/\/.*@/s, '//[masked]@')
  return { target: targetOn({ PAYMENTS_DATABASE_URL: databaseUrl }), where }
}

/** Uses an in-memory database, which needs no disk writes. Nothing has to outlive the simulation. */
function ownMemory(config: Config): Target {
  const settings = { ...serverSettings(config), PAYMENTS_DATABASE_URL: memoryUrl }
  return { isolated: true, open: () => openInProcess(settings, { isolated: true }) }
}

/** Uses a database file, because several processes must open the database. */
function ownFile(config: Config): Target {
  const open = async () => {
    const { directory, remove } = await ownDirectory()
    const settings = {
      ...serverSettings(config),
      PAYMENTS_DATABASE_URL: `sqlite:${join(directory, 'sandbox.sqlite')}`,
    }
    const { connect, close } = openProcesses(settings, (agent) => ({ PAYMENTS_INSTANCE_ID: instanceIdOf(agent) }))
    return { connect, close: () => Promise.all([close(), remove()]).then(() => {}), instanceIdOf }
  }
  return { isolated: true, open }
}

async function ownDirectory() {
  const directory = await mkdtemp(join(tmpdir(), 'payments-mcp-simulate-'))
  const removeNow = () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
  process.once('exit', removeNow)
  const remove = async () => {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
    process.off('exit', removeNow)
  }
  return { directory, remove }
}

/** Opens a world with one server process for each agent. Refuses an unusable database before any process starts. */
async function openProcessesOn(config: Config, settings: Record<string, string>) {
  if (config.baseUrl === undefined) {
    const log = createLogger({ level: 'error' })
    const { close } = await openEmbedded(config, realSystem, log, undefined, { hasUpkeep: false })
    await close()
  }
  return openProcesses(settings)
}

function openProcesses(env: Record<string, string>, envOf: (agent: number) => Record<string, string> = () => ({})) {
  const started = { command: process.execPath, args: [process.argv[1] ?? 'payments-mcp'] }
  const kills: (() => void)[] = []
  const connect = (agent: number) => {
    const server = { ...started, env: { ...env, ...envOf(agent) } }
    return connectOverStdio(server, agent, (kill) => void kills.push(kill))
  }
  // Kills the processes before the database's folder is removed: a process that is still starting would create the
  // folder again.
  const killAll = () => {
    for (const kill of kills) {
      try {
        kill()
      } catch {
        // The process has ended already.
      }
    }
  }
  process.prependOnceListener('exit', killAll)
  return { connect, close: async () => void process.off('exit', killAll) }
}

/**
 * Returns the environment variables for each MCP server, whether the server runs in this process or in a separate one.
 * Secrets are not passed as arguments, because other users of the machine can read a process's arguments.
 */
function serverSettings({ key, secret, world, logLevel }: Config): Record<string, string> {
  return {
    ...(key === undefined ? {} : { PAYMENTS_KEY: key }),
    ...(secret === undefined ? {} : { PAYMENTS_SECRET: secret.join(',') }),
    ...(world === undefined ? {} : { PAYMENTS_WORLD: world }),
    // These toolsets let the agents also act as the card networks, and advance the sandbox clock.
    PAYMENTS_TOOLSETS: 'default,sandbox,payments',
    // The agents cause thousands of refusals on purpose. At level info, each refusal would be logged.
    PAYMENTS_LOG_LEVEL: logLevel === 'info' ? 'error' : logLevel,
    PAYMENTS_RATE_LIMIT: '1000000000',
    // The agents repeat identical calls on purpose, and each call must be carried out.
    PAYMENTS_REPEAT_WINDOW: '0',
  }
}
