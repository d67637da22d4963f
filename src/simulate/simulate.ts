import { ConfigError } from '../config/load.ts'
import { type System, sha256 } from '../core/system.ts'
import type { Action } from './action.ts'
import type { Mismatch } from './facts.ts'
import { planHistory } from './plan.ts'
import { failureText, reportText, type Shrunk } from './report.ts'
import { type Plan, type RunResult, runHistory } from './run.ts'
import { type Attempt, shrink } from './shrink.ts'
import type { Situation, Target } from './world.ts'

export interface SimulationOptions {
  target: Target
  /** The target in words, for the report. */
  where: string
  system: System
  agents: number
  /** Cards that each agent issues; each makes one purchase at the most. */
  purchases: number
  seed: string
  clockJumps: boolean
  concurrency: number
  signal?: AbortSignal | undefined
  onPlan?: ((actions: number) => void) | undefined
  onStep?: ((done: number) => void) | undefined
  /** Called when a mismatch is found, before its history is shortened. */
  onShrink?: (() => void) | undefined
}

export interface SimulationResult {
  /** 0: all was as predicted; 1: something was not; 130: interrupted (128 and SIGINT, as shells count). */
  exitCode: 0 | 1 | 130
  report: string
  log: readonly string[]
  mismatch: Mismatch | undefined
  /** The shortest failing history; empty when nothing failed. */
  history: readonly Action[]
}

/** For the shortening of a failing history. */
const mostTries = 200
const longestShrinkMs = 60_000

/** Plans a run by its seed, carries it out, and shortens the history when something was not as predicted. */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { system, target, concurrency, signal } = options
  const agents = Array.from({ length: options.agents }, (_, index) => index + 1)
  const runOptions = { target, system, concurrency, signal }
  const plan = (situation: Situation) => {
    const history = planFor(options, situation)
    options.onPlan?.(history.length)
    return history
  }
  const result = await runHistory(plan, agents, { ...runOptions, onStep: options.onStep })
  const report = reportText(result, { ...options, logSha256: sha256(result.log.join('\n')) })
  const { log, mismatch, interrupted } = result
  if (mismatch === undefined) return { exitCode: interrupted ? 130 : 0, report, log, mismatch, history: [] }
  options.onShrink?.()
  const shrunk = await shortenIfPossible(options, result, mismatch)
  const text = `${report}\n${failureText(shrunk)}`
  return { exitCode: 1, report: text, log, mismatch: shrunk.mismatch, history: shrunk.history }
}

function planFor(
  { seed, agents, purchases, clockJumps, concurrency }: SimulationOptions,
  { start }: Situation,
): Action[] {
  const ordered = concurrency === 1
  if (
    !ordered &&
    Math.min(start.own.available, start.customer?.available ?? Number.MAX_SAFE_INTEGER) < agents * purchases
  ) {
    throw new ConfigError(
      `--concurrency got ${concurrency}; with less than a cent for each purchase simulate accepts 1.`,
    )
  }
  return planHistory({ seed, agents, purchases, clockJumps: clockJumps && ordered, ordered, start })
}

/** A mismatch is reported even where no further run is possible: the disk may be full, or the service gone. */
async function shortenIfPossible(options: SimulationOptions, result: RunResult, mismatch: Mismatch): Promise<Shrunk> {
  try {
    return await shorten(options, result, mismatch)
  } catch {
    return { history: result.done, mismatch, tries: 0, again: 'impossible' }
  }
}

async function shorten(options: SimulationOptions, { done }: RunResult, mismatch: Mismatch): Promise<Shrunk> {
  const { target, system, concurrency, signal } = options
  const found: Attempt<Mismatch> = { history: done, failure: mismatch }
  if (done.length === 0) return { history: done, mismatch, tries: 0, again: 'yes' }
  // On a database that is not this run's own, every try would move more of somebody's money.
  if (!target.isolated) return { history: done, mismatch, tries: 0, again: 'untried' }
  let again: Shrunk['again'] = 'no'
  const startedAt = system.elapsed()
  const run = async (history: readonly Action[]): Promise<Attempt<Mismatch> | undefined> => {
    const plan: Plan = () => history
    const agents = [...new Set(history.map(({ agent }) => agent))].sort((one, other) => one - other)
    const repeat = await runHistory(plan, agents, { target, system, concurrency, signal })
    if (repeat.mismatch === undefined) return undefined
    again = 'yes'
    return { history: repeat.done, failure: repeat.mismatch }
  }
  const limits = {
    tries: mostTries,
    mayGoOn: () => signal?.aborted !== true && system.elapsed() - startedAt < longestShrinkMs,
  }
  const { history, failure, tries } = await shrink(found, mismatch.about, run, limits)
  return { history, mismatch: failure, tries, again }
}
