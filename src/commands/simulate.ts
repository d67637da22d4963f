import { type FileHandle, open } from 'node:fs/promises'
import { ConfigError } from '../config/load.ts'
import { show } from '../core/errors.ts'
import { realSystem } from '../core/system.ts'
import { simulate as runSimulation, type SimulationResult } from '../simulate/simulate.ts'
import type { Stage } from '../simulate/world.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { codeOf, explainErrors } from './explain.ts'
import { integerOption } from './integer-option.ts'
import { interruptible } from './interruption.ts'
import { openWorldFile } from './setting-file.ts'
import { chooseTarget } from './simulate-target.ts'

type SimulateFlags = Flags & {
  agents: string
  purchases: string
  seed: string
  concurrency?: string
  turns?: boolean
  processes?: boolean
  clockJumps?: boolean
  withoutFaults?: boolean
  log?: string
  verbose?: boolean
  json?: boolean
}

/** Runs simulated agents that buy with cards through real MCP connections, and checks every answer. */
export async function simulate(flags: SimulateFlags): Promise<void> {
  await explainErrors(async () => {
    const config = commandConfig('simulate', flags)
    if (config.environment === 'production') {
      throw new ConfigError('PAYMENTS_ENVIRONMENT (--environment) got production; simulate accepts sandbox.')
    }
    const agents = integerOption('--agents', flags.agents, 64)
    const concurrency = concurrencyOf(flags, agents)
    const purchases = integerOption('--purchases', flags.purchases, 100_000)
    await openWorldFile(config)
    const { target, where } = chooseTarget(config, flags.processes === true)
    // Handles Ctrl+C from here on, before anything is created that an interrupted command would have to remove.
    const { signal } = interruptible()
    const logFile = flags.log === undefined ? undefined : await openLog(flags.log)
    const bar = await progressBar()
    const result = await runSimulation({
      target,
      where,
      system: realSystem,
      agents,
      purchases,
      seed: flags.seed,
      clockJumps: flags.clockJumps ?? target.isolated,
      faults: flags.withoutFaults !== true,
      concurrency,
      signal,
      onStage: (stage, steps) => {
        bar?.end()
        if (stage === 'shortening') process.stderr.write(shorteningNotice)
        bar?.stage(stage, steps)
      },
      onStep: (done) => bar?.step(done),
    }).finally(() => bar?.end())
    const log = result.log.map((line) => `${line}\n`).join('')
    process.stdout.write(flags.json === true ? asJson(result, flags) : asText(result, flags, log))
    process.exitCode = result.exitCode
    if (logFile !== undefined) await writeLog(logFile, log)
  })
}

const shorteningNotice = 'The service and the model disagree. Looking for the shortest failing history of actions …\n'

function asText({ report }: SimulationResult, { verbose }: SimulateFlags, log: string): string {
  return `${verbose === true ? `${log}\n` : ''}${report}`
}

/** Renders one JSON document, which includes the log if `verbose` is set. */
function asJson({ summary, exitCode, log }: SimulationResult, { verbose }: SimulateFlags): string {
  return `${JSON.stringify({ exitCode, ...summary, ...(verbose === true ? { log } : {}) }, null, 2)}\n`
}

/** Opens the log file. Call this before the simulation, so that an unusable path is reported early. */
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

/**
 * Returns how many agents may call at the same time. By default, all of them may. With `--turns` or `--clock-jumps`,
 * only one may. A clock jump happens at a predictable time only if the agents take turns.
 */
function concurrencyOf({ turns, clockJumps, concurrency: requested }: SimulateFlags, agents: number): number {
  const concurrency = requested === undefined ? undefined : integerOption('--concurrency', requested, 64)
  const turnsFlag = turns === true ? '--turns' : clockJumps === true ? '--clock-jumps' : undefined
  if (turnsFlag === undefined) return Math.min(agents, concurrency ?? agents)
  if (concurrency === undefined || concurrency === 1) return 1
  throw new ConfigError(`--concurrency got ${concurrency}; with ${turnsFlag} it accepts 1.`)
}

/** Shows a progress bar if stderr is a terminal. */
async function progressBar() {
  if (!process.stderr.isTTY) return undefined
  const { default: progress } = await import('cli-progress')
  const bar = new progress.SingleBar({
    format: '{stage} {bar} {value}/{total}, {duration_formatted}',
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
  })
  return {
    stage: (stage: Stage, steps: number) => bar.start(steps, 0, { stage: stage.padEnd('final check'.length) }),
    step: (done: number) => bar.update(done),
    end: () => bar.stop(),
  }
}
