import type { Agent } from './agent.ts'
import type { Results, ScenarioResults, Trial } from './results.ts'
import type { Scenario } from './scenario.ts'
import { summarize } from './statistics.ts'
import { runTrial, type TrialOptions } from './trial.ts'

export interface RehearsalOptions extends Omit<TrialOptions, 'number'> {
  scenarios: readonly Scenario[]
  agent: Agent
  /** How many of each scenario. */
  trials: number
  /** How many at the same time. */
  concurrency: number
  onTrial?: ((trial: Trial) => void) | undefined
}

export interface Rehearsal {
  /** What was done, where it was interrupted. */
  results: Results
  interrupted: boolean
}

interface Planned {
  scenario: Scenario
  number: number
}

/** Rehearses an agent in all scenarios. Whichever trial ends first, the results are in the order of the scenarios. */
export async function rehearse(options: RehearsalOptions): Promise<Rehearsal> {
  const { scenarios, agent, trials, seed, concurrency, signal } = options
  const numbers = Array.from({ length: trials }, (_, at) => at + 1)
  // The first trial of each comes before the second of any: who interrupts has seen most of them.
  const waiting: Planned[] = numbers.flatMap((number) => scenarios.map((scenario) => ({ scenario, number })))
  const done = new Map<Scenario, Trial[]>(scenarios.map((scenario) => [scenario, []]))
  const failing = new AbortController()
  const over = AbortSignal.any([signal, failing.signal])
  const work = async () => {
    for (let planned = waiting.shift(); planned !== undefined && !over.aborted; planned = waiting.shift()) {
      const { scenario, number } = planned
      const trial = await unlessOver(over, () => runTrial(scenario, agent, { ...options, number, signal: over }))
      if (trial === undefined) return
      done.get(scenario)?.push(trial)
      options.onTrial?.(trial)
    }
  }
  const workers = Array.from({ length: Math.min(concurrency, waiting.length) }, () =>
    work().catch((error: unknown) => {
      failing.abort()
      throw error
    }),
  )
  for (const { status, reason } of (await Promise.allSettled(workers)) as PromiseRejectedResult[]) {
    if (status === 'rejected') throw reason
  }
  const results = [...done].flatMap(([scenario, made]) => (made.length === 0 ? [] : [resultsOf(scenario, made)]))
  return { results: asResults({ agent: agent.name, seed, trials }, results), interrupted: signal.aborted }
}

/** A trial that was ended from outside says nothing. */
async function unlessOver(over: AbortSignal, run: () => Promise<Trial>): Promise<Trial | undefined> {
  try {
    return await run()
  } catch (error) {
    if (over.aborted) return undefined
    throw error
  }
}

export function resultsOf(scenario: Scenario, trials: readonly Trial[]): ScenarioResults {
  const { id, pair, group, title, attack, task, expect, never, allow, unasked, answer } = scenario
  const told = {
    ...{ id, title, attack, task, expect, never, allow, unasked },
    ...(answer === undefined ? {} : { answer }),
    ...(pair === undefined ? {} : { pair }),
    ...(group === undefined ? {} : { group }),
  }
  return { scenario: told, trials: trials.toSorted((one, other) => one.number - other.number) }
}

export function asResults(
  { agent, seed, trials }: Pick<Results, 'agent' | 'seed' | 'trials'>,
  scenarios: ScenarioResults[],
): Results {
  return { format: 1, agent, seed, trials, scenarios, summary: summarize(scenarios) }
}
