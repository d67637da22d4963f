import { ConfigError } from '../config/load.ts'
import { type System, sha256 } from '../core/system.ts'
import type { Action } from './action.ts'
import type { Mismatch } from './facts.ts'
import { planHistory } from './plan.ts'
import { failureOf, reportText, type Shrunk, type Summary, summaryOf } from './report.ts'
import { emptyResult, type Plan, type RunResult, runHistory, unansweredMismatch } from './run.ts'
import { type Attempt, shrink } from './shrink.ts'
import type { RunOptions, Situation, Target } from './world.ts'

export interface SimulationOptions {
  target: Target
  /** A description of the target, for the report. */
  where: string
  system: System
  agents: number
  /** The number of cards that each agent issues. Each card makes at most one purchase. */
  purchases: number
  seed: string
  clockJumps: boolean
  /** Whether to inject failures. The option has no effect unless the target is `isolated`. */
  faults: boolean
  concurrency: number
  signal?: AbortSignal | undefined
  onStage?: RunOptions['onStage']
  onStep?: RunOptions['onStep']
}

export interface SimulationResult {
  /**
   * 0: everything was as predicted; 1: something differed from the prediction; 130: the run was interrupted (128 plus
   * the number of SIGINT, as in shells).
   */
  exitCode: 0 | 1 | 130
  summary: Summary
  /** The summary as text. */
  report: string
  log: readonly string[]
  mismatch: Mismatch | undefined
  /** The failing history, shortened if possible; empty if nothing failed. */
  history: readonly Action[]
}

/** The limits for shortening a failing history. */
const maxTries = 200
const longestShrinkMs = 60_000

/** Plans a history of calls from the seed and carries it out. If a result is not as predicted, shortens the history. */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { system, target, concurrency, signal } = options
  const agents = Array.from({ length: options.agents }, (_, index) => index + 1)
  const { onStage, onStep } = options
  const runOptions = { target, system, concurrency, faults: faultSeed(options), signal, onStage, onStep }
  const plan = (situation: Situation) => planFor(options, situation)
  const result = await runHistory(plan, agents, runOptions).catch(resultOfFailedStart)
  const { log, mismatch, interrupted } = result
  const summary = summaryOf(result, { ...options, logSha256: sha256(log.join('\n')) })
  if (mismatch === undefined) {
    const report = reportText(summary)
    return { exitCode: interrupted ? 130 : 0, summary, report, log, mismatch, history: [] }
  }
  onStage?.('shortening', maxTries)
  const shrunk = await shortenIfPossible(options, result, mismatch)
  const failed = { ...summary, failure: failureOf(shrunk) }
  const report = reportText(failed)
  return { exitCode: 1, summary: failed, report, log, mismatch: shrunk.mismatch, history: shrunk.history }
}

/** Returns the result of a run whose server could not be started or reached. Rethrows a ConfigError. */
function resultOfFailedStart(error: unknown): RunResult {
  if (error instanceof ConfigError) throw error
  return emptyResult({ ...unansweredMismatch(error), what: 'The agents could not be connected.' })
}

function faultSeed({ faults, target, seed }: SimulationOptions): string | undefined {
  return faults && target.isolated ? seed : undefined
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
      `--concurrency got ${concurrency}; it accepts only 1 if a wallet has less than one cent for each purchase. Reduce --agents or --purchases, or add money.`,
    )
  }
  return planHistory({ seed, agents, purchases, clockJumps: clockJumps && ordered, ordered, start })
}

/**
 * Shortens a failing history. Returns the history unchanged if no further run is possible, for example because the disk
 * is full.
 */
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
  // Every try repeats calls. On a shared database, the repeated calls would move more money in wallets of other users.
  if (!target.isolated) return { history: done, mismatch, tries: 0, again: 'untried' }
  let again: Shrunk['again'] = 'no'
  const startedAt = system.elapsed()
  let tryCount = 0
  const run = async (history: readonly Action[]): Promise<Attempt<Mismatch> | undefined> => {
    options.onStep?.(++tryCount)
    const plan: Plan = () => history
    const agents = [...new Set(history.map(({ agent }) => agent))].sort((one, other) => one - other)
    const repeat = await runHistory(plan, agents, { target, system, concurrency, faults: faultSeed(options), signal })
    if (repeat.mismatch === undefined) return undefined
    again = 'yes'
    return { history: repeat.done, failure: repeat.mismatch }
  }
  const limits = {
    tries: maxTries,
    mayContinue: () => signal?.aborted !== true && system.elapsed() - startedAt < longestShrinkMs,
  }
  const { history, failure, tries } = await shrink(found, mismatch.about, run, limits)
  return { history, mismatch: failure, tries, again }
}
