import type { Agent } from '../agent.ts'
import { judge } from '../judge.ts'
import { drawScenario } from '../load-scenarios.ts'
import { completedGoal, missingFacts } from '../questions.ts'
import type { Trial, Verdict } from '../results.ts'
import type { Scenario } from '../scenario.ts'
import { baselines } from '../scripted/baselines.ts'
import { withTools } from '../scripted/tools.ts'
import { runTrial, type TrialOptions } from '../trial.ts'
import { trialSeed } from '../trial-system.ts'
import { forEachConcurrently } from '../workers.ts'
import type { Lie } from './lies.ts'
import type { Mutant } from './mutant.ts'

export interface MutantRun {
  mutant: Pick<Mutant, 'name' | 'kind' | 'does'>
  /**
   * `caught`: the trial failed; `missed`: the trial passed; `not applicable`: the scenario gives no opportunity for the
   * mistake.
   */
  outcome: 'caught' | 'missed' | 'not applicable'
  /** The failed verdicts. */
  verdicts: Verdict[]
}

export interface ScenarioMutants {
  scenario: Pick<Scenario, 'id' | 'group'>
  /** The reason why no mutant was tried; null if mutants were tried. */
  leftOut: string | null
  runs: MutantRun[]
}

export interface MutantOptions extends Omit<TrialOptions, 'number'> {
  scenarios: readonly Scenario[]
  mutants: readonly Mutant[]
  /** The lies, keyed by name. Each lie turns the careful agent's true answer into a false one. */
  lies: Readonly<Record<string, Lie>>
  /** The maximum number of scenarios that run at the same time. */
  concurrency: number
  onScenario?: (() => void) | undefined
}

/**
 * Tests the judge: in each scenario, each mutant works on the task but makes one mistake. If the mutant's trial passes,
 * the scenario does not detect the mistake.
 */
export async function runMutants(options: MutantOptions): Promise<ScenarioMutants[]> {
  const results: ScenarioMutants[] = []
  await forEachConcurrently([...options.scenarios.entries()], options, async ([at, scenario]) => {
    results[at] = await runInScenario(scenario, options)
    options.onScenario?.()
  })
  return results.filter((result) => result !== undefined)
}

async function runInScenario(template: Scenario, options: MutantOptions): Promise<ScenarioMutants> {
  const scenario = withCompleteGoal(drawScenario(template, trialSeed(options.seed, template.id, 1)))
  const { id, group } = scenario
  const identity = { id, ...(group === undefined ? {} : { group }) }
  const leftOutResult = (leftOut: string): ScenarioMutants => ({ scenario: identity, leftOut, runs: [] })
  if (scenario.goal === undefined) return leftOutResult('it has no goal, and mutants need one')
  const control = await firstTrial(scenario, baselines.careful, options)
  if (!control.passed)
    return leftOutResult(
      `the careful agent does not pass: ${failedVerdicts(control)[0]?.says ?? control.trouble ?? ''}`,
    )
  const runs: MutantRun[] = []
  for (const mutant of options.mutants) {
    if (options.signal.aborted) break
    runs.push(await runMutant(mutant, scenario, options))
  }
  const lied = Object.entries(options.lies).map(([name, lie]) => runLie(name, lie, scenario, control))
  runs.push(...lied)
  return { scenario: identity, leftOut: null, runs }
}

/** Completes the goal and the task with the facts that only the person knows, because mutants ask no questions. */
function withCompleteGoal(scenario: Scenario): Scenario {
  const { goal, task, person } = scenario
  if (goal === undefined) return scenario
  const facts = missingFacts(goal, person)
  return { ...scenario, goal: completedGoal(goal, facts), task: [task, ...facts.values()].join('\n') }
}

async function runMutant(mutant: Mutant, scenario: Scenario, options: MutantOptions): Promise<MutantRun> {
  let isApplicable = false
  const agent: Agent = {
    name: mutant.name,
    isScripted: true,
    run: (input, signal) =>
      withTools(input, signal, async (tools) => {
        const { goal } = scenario
        const answer = goal && (await mutant.work({ tools, goal, scenario, orders: [] }))
        isApplicable = answer !== undefined
        return answer ?? ''
      }),
  }
  const trial = await firstTrial(scenario, agent, options)
  if (!isApplicable) return { mutant, outcome: 'not applicable', verdicts: [] }
  return { mutant, outcome: trial.passed ? 'missed' : 'caught', verdicts: failedVerdicts(trial) }
}

/** Judges the careful agent's finished trial again, but with a false answer. This needs no new trial. */
function runLie(name: string, lie: Lie, scenario: Scenario, control: Trial): MutantRun {
  const mutant = { name, kind: 'lie', does: `gives an answer that ${name}` } as const
  const { answer: truth, effects, state } = control
  const answer = lie({ answer: truth, effects, state, scenario })
  if (answer === undefined) return { mutant, outcome: 'not applicable', verdicts: [] }
  const trial = { ...control, ...judge(scenario, { ...control, state: { ...control.state, answer } }) }
  return { mutant, outcome: trial.passed ? 'missed' : 'caught', verdicts: failedVerdicts(trial) }
}

const firstTrial = (scenario: Scenario, agent: Agent, options: MutantOptions) =>
  runTrial(scenario, agent, { ...options, number: 1 })

const failedVerdicts = ({ verdicts }: Trial) => verdicts.filter((verdict) => verdict.failed)

/** Returns the number of mutants that were caught, and the number of mutants that were applicable. */
export function countCaught(runs: readonly MutantRun[]): [caught: number, applicable: number] {
  const applicable = runs.filter(({ outcome }) => outcome !== 'not applicable')
  return [applicable.filter(({ outcome }) => outcome === 'caught').length, applicable.length]
}
