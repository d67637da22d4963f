import { rmSync } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SingleBar } from 'cli-progress'
import { ConfigError, dataDirectory } from '../config/load.ts'
import type { Config } from '../config/settings.ts'
import { show } from '../core/errors.ts'
import { realSystem } from '../core/system.ts'
import { connectOverStdio } from '../simulate/mcp-caller.ts'
import { simulate as runSimulation } from '../simulate/simulate.ts'
import type { Target } from '../simulate/world.ts'
import { configured, type Flags } from './configured.ts'
import { orExplain } from './explain.ts'
import { openWorldFile } from './given-file.ts'

type SimulateFlags = Flags & {
  agents: string
  purchases: string
  seed: string
  concurrency: string
  clockJumps?: boolean
  log?: string
  verbose?: boolean
}

/** Simulated agents buy with cards through real MCP connections; every answer is checked. */
export async function simulate(flags: SimulateFlags): Promise<void> {
  await orExplain(async () => {
    const config = configured('simulate', flags)
    if (config.environment === 'production') {
      throw new ConfigError('PAYMENTS_ENVIRONMENT (--environment) got production; simulate accepts sandbox.')
    }
    const agents = integer('--agents', flags.agents, 64)
    const concurrency = Math.min(agents, integer('--concurrency', flags.concurrency, 64))
    if (flags.clockJumps === true && concurrency > 1) {
      throw new ConfigError(`--concurrency got ${concurrency}; with --clock-jumps it accepts 1.`)
    }
    const purchases = integer('--purchases', flags.purchases, 100_000)
    await openWorldFile(config)
    const { target, where } = targetOf(config)
    const logFile = flags.log === undefined ? undefined : await openLog(flags.log)
    const interruption = interruptible()
    const bar = await progressBar()
    const result = await runSimulation({
      target,
      where,
      system: realSystem,
      agents,
      purchases,
      seed: flags.seed,
      clockJumps: flags.clockJumps ?? target.isolated,
      concurrency,
      signal: interruption.signal,
      onPlan: (actions) => bar?.start(actions, 0),
      onStep: (done) => bar?.update(done),
      onShrink: () => {
        bar?.stop()
        process.stderr.write('Something was not as predicted; looking for the shortest history that shows it …\n')
      },
    }).finally(() => {
      bar?.stop()
      interruption.end()
    })
    const log = result.log.map((line) => `${line}\n`).join('')
    process.stdout.write(`${flags.verbose === true ? `${log}\n` : ''}${result.report}`)
    process.exitCode = result.exitCode
    if (logFile !== undefined) await writeLog(logFile, log)
  })
}

/** Before the run, which would otherwise be over when its log turns out to have no place. */
async function openLog(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'w')
  } catch (error) {
    throw new ConfigError(`--log got ${show(file)} (${codeOf(error)}); it accepts a file that can be written.`)
  }
}

async function writeLog(file: FileHandle, log: string): Promise<void> {
  try {
    await file.writeFile(log)
    await file.close()
  } catch (error) {
    process.stderr.write(`payments-mcp: The log could not be written (${codeOf(error)}).\n`)
    process.exitCode = 1
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}

function targetOf(config: Config): { target: Target; where: string } {
  const script = process.argv[1] ?? 'payments-mcp'
  const connect = (env: Record<string, string>) => (agent: number) =>
    connectOverStdio({ command: process.execPath, args: [script], env: { ...shared(config), ...env } }, agent)
  if (config.baseUrl !== undefined) {
    const env = { PAYMENTS_BASE_URL: config.baseUrl }
    const open = async () => ({ connect: connect(env), close: async () => {} })
    return { target: { isolated: false, open }, where: config.baseUrl }
  }
  // Config fills the default in, and the sandbox that a person's AI host uses is nothing to experiment on.
  if (config.databaseUrl !== `sqlite:${dataDirectory().file('sandbox.sqlite')}`) {
    if (config.databaseUrl === 'sqlite::memory:') {
      throw new ConfigError(
        'PAYMENTS_DATABASE_URL (--database-url) got sqlite::memory:; simulate accepts what several processes can open.',
      )
    }
    const open = async () => ({
      connect: connect({ PAYMENTS_DATABASE_URL: config.databaseUrl }),
      close: async () => {},
    })
    return { target: { isolated: false, open }, where: config.databaseUrl.replace(/\/\/.*@/s, '//[masked]@') }
  }
  const open = async () => {
    const directory = await mkdtemp(join(tmpdir(), 'payments-mcp-simulate-'))
    // Whatever ends the process, its money was play money.
    const removeNow = () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
    process.once('exit', removeNow)
    const env = { PAYMENTS_DATABASE_URL: `sqlite:${join(directory, 'sandbox.sqlite')}` }
    const close = async () => {
      await rm(directory, { recursive: true, force: true, maxRetries: 5 })
      process.off('exit', removeNow)
    }
    return { connect: connect(env), close }
  }
  return { target: { isolated: true, open }, where: 'a new SQLite database' }
}

/** What every server process gets. By variable, not by flag: other users can read a process's arguments. */
function shared({ key, secret, world, logLevel }: Config): Record<string, string> {
  return {
    ...(key === undefined ? {} : { PAYMENTS_KEY: key }),
    ...(secret === undefined ? {} : { PAYMENTS_SECRET: secret.join(',') }),
    ...(world === undefined ? {} : { PAYMENTS_WORLD: world }),
    // Its agents move the clock too.
    PAYMENTS_TOOLSETS: 'default,sandbox',
    // Thousands of refusals are meant here, and each is a line at the level info.
    PAYMENTS_LOG_LEVEL: logLevel === 'info' ? 'error' : logLevel,
    PAYMENTS_RATE_LIMIT: '1000000000',
    // Equal calls are meant as well.
    PAYMENTS_REPEAT_WINDOW: '0',
  }
}

function integer(flag: string, text: string, most: number): number {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (value >= 1 && value <= most) return value
  throw new ConfigError(`${flag} got ${show(text)}; it accepts an integer from 1 to ${most}.`)
}

/** On a terminal only. */
async function progressBar(): Promise<SingleBar | undefined> {
  if (!process.stderr.isTTY) return undefined
  const { default: progress } = await import('cli-progress')
  return new progress.SingleBar({
    format: '{bar} {value}/{total} actions, {duration_formatted}',
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
  })
}

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The first Ctrl+C ends the run in order, a second one at once. So does a terminal or a reader that went away. */
function interruptible() {
  const controller = new AbortController()
  const stop = () => {
    if (controller.signal.aborted) process.exit(130)
    controller.abort()
  }
  for (const signal of endings) process.on(signal, stop)
  // Each write to what is gone fails; the report, which nobody reads then, may be one of them.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => controller.abort())
  const end = () => {
    for (const signal of endings) process.off(signal, stop)
  }
  return { signal: controller.signal, end }
}
