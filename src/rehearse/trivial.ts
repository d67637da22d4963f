import type { Agent } from './agent.ts'
import { judge } from './judge.ts'
import { type Rehearsal, type RehearsalOptions, rehearse, resultsOf } from './rehearse.ts'
import type { Results, Trial, TrivialResults } from './results.ts'
import type { Scenario } from './scenario.ts'
import { baselines } from './scripted/baselines.ts'
import { summarize } from './statistics.ts'

const doesNothing: Agent = { name: 'does nothing', isScripted: true, run: async () => '' }

/**
 * Rehearses an agent and, at the same time, trivial agents that do nothing or say nothing. If a trivial agent passes as
 * often as the rehearsed agent, the results say little about the rehearsed agent. If the rehearsal is interrupted, the
 * results of the trivial agents are left out.
 */
export async function rehearseWithTrivial(options: RehearsalOptions): Promise<Rehearsal> {
  const failing = new AbortController()
  const trialOptions = { ...options, signal: AbortSignal.any([options.signal, failing.signal]) }
  const [main, idle, silent] = await Promise.allSettled([
    rehearse(options).catch((error: unknown) => {
      failing.abort()
      throw error
    }),
    trialsOf(doesNothing, options.scenarios, trialOptions),
    // The trivial agent that says nothing is the careful agent without its answers. If the rehearsed agent is the
    // careful agent, the trials of the rehearsal are used again.
    options.agent === baselines.careful
      ? undefined
      : trialsOf(baselines.careful, withGoal(options.scenarios), trialOptions),
  ])
  if (main.status === 'rejected') throw main.reason
  if (main.value.interrupted) return main.value
  if (idle.status === 'rejected') throw idle.reason
  if (silent.status === 'rejected') throw silent.reason
  const trivial = trivialResults(options, idle.value, silent.value ?? firstTrials(main.value.results))
  return { ...main.value, results: { ...main.value.results, trivial } }
}

const withGoal = (scenarios: readonly Scenario[]) => scenarios.filter(({ goal }) => goal !== undefined)

type Trials = ReadonlyMap<string, Trial>

/** Runs one trial of each scenario. Returns the trials, keyed by scenario id. */
async function trialsOf(agent: Agent, scenarios: readonly Scenario[], options: RehearsalOptions): Promise<Trials> {
  const { results } = await rehearse({ ...options, scenarios, agent, trials: 1, concurrency: 1, onTrial: undefined })
  return firstTrials(results)
}

function firstTrials({ scenarios }: Results): Trials {
  return new Map(
    scenarios.flatMap(({ scenario, trials: [first] }) => (first === undefined ? [] : [[scenario.id, first]])),
  )
}

function trivialResults(options: RehearsalOptions, idle: Trials, silent: Trials): TrivialResults[] {
  const { scenarios, isStrict = false } = options
  const agents = [
    ['does nothing', idle, ''],
    ['says done and does nothing', idle, 'Done.'],
    ['does everything and says nothing', silent, ''],
  ] as const
  return agents.flatMap(([agent, trials, answer]) => {
    const judged = scenarios.flatMap((scenario) => {
      const trial = scenario.goal === undefined && trials === silent ? undefined : trials.get(scenario.id)
      return trial === undefined ? [] : [resultsOf(scenario, [trialWithAnswer(answer, scenario, trial, isStrict)])]
    })
    if (judged.length === 0) return []
    const { passed, didRight, toldTruth } = summarize(judged)
    const passes = judged.filter((one) => one.trials.every((trial) => trial.passed)).map(({ scenario }) => scenario.id)
    return [{ agent, passed, didRight, toldTruth, passes }]
  })
}

/** Judges a trial as if the agent had given this answer instead of its own. */
function trialWithAnswer(answer: string, scenario: Scenario, trial: Trial, isStrict: boolean): Trial {
  const answeredTrial = { ...trial, answer, state: { ...trial.state, answer } }
  return { ...answeredTrial, ...judge({ ...scenario, ...trial.asked }, answeredTrial, { isStrict }) }
}
