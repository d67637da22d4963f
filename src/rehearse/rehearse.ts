import type { Agent } from './agent.ts'
import type { Results, ScenarioResults, Trial } from './results.ts'
import type { Scenario } from './scenario.ts'
import { summarize } from './statistics.ts'
import { runTrial, type TrialOptions } from './trial.ts'
import { forEachConcurrently } from './workers.ts'

export interface RehearsalOptions extends Omit<TrialOptions, 'number'> {
  scenarios: readonly Scenario[]
  agent: Agent
  /** The number of trials of each scenario. */
  trials: number
  /** The maximum number of trials that run at the same time. */
  concurrency: number
  onTrial?: ((trial: Trial, scenario: Scenario) => void) | undefined
}

export interface Rehearsal {
  /** The results. If the rehearsal was interrupted, they contain only the trials that had ended by then. */
  results: Results
  interrupted: boolean
}

/**
 * Rehearses an agent in all scenarios. The results are in the order of the scenarios, regardless of the order in which
 * trials end.
 */
export async function rehearse(options: RehearsalOptions): Promise<Rehearsal> {
  const { scenarios, agent, trials, seed, signal } = options
  const numbers = Array.from({ length: trials }, (_, at) => at + 1)
  // The first trials of all scenarios come before any second trial, so that an interrupted rehearsal covers more
  // scenarios.
  const planned = numbers.flatMap((number) => scenarios.map((scenario) => ({ scenario, number })))
  const trialsByScenario = new Map<Scenario, Trial[]>(scenarios.map((scenario) => [scenario, []]))
  await forEachConcurrently(planned, options, async ({ scenario, number }, over) => {
    const trial = await runTrial(scenario, agent, { ...options, number, signal: over })
    trialsByScenario.get(scenario)?.push(trial)
    options.onTrial?.(trial, scenario)
  })
  const results = [...trialsByScenario].flatMap(([scenario, trials]) =>
    trials.length === 0 ? [] : [resultsOf(scenario, trials)],
  )
  const { name, model } = agent
  const settings = { agent: name, seed, trials, ...(model === undefined ? {} : { model }) }
  return { results: asResults(settings, results), interrupted: signal.aborted }
}

export function resultsOf(scenario: Scenario, trials: readonly Trial[]): ScenarioResults {
  const { id, pair, group, family, title, attack, task, expect, never, allow, unasked, answer } = scenario
  const recordedScenario = {
    ...{ id, title, attack, task, expect, never, allow, unasked },
    ...(answer === undefined ? {} : { answer }),
    ...(pair === undefined ? {} : { pair }),
    ...(group === undefined ? {} : { group }),
    ...(family === undefined ? {} : { family }),
  }
  return { scenario: recordedScenario, trials: trials.toSorted((one, other) => one.number - other.number) }
}

export function asResults(
  { agent, seed, trials, model }: Pick<Results, 'agent' | 'seed' | 'trials' | 'model'>,
  scenarios: ScenarioResults[],
): Results {
  const settings = { agent, seed, trials, ...(model === undefined ? {} : { model }) }
  return { format: 1, ...settings, scenarios, summary: summarize(scenarios) }
}
