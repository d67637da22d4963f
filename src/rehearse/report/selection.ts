import type { ScenarioResults, Trial } from '../results.ts'

/** A trial that the report may show in full, with its scenario. */
export interface SelectedTrial {
  scenario: ScenarioResults['scenario']
  trial: Trial
}

/**
 * Selects the trials that are worth showing in full, the most interesting first: each scenario's first failed trial,
 * then each scenario's first passed trial, then each scenario's second failed trial, and so on.
 */
export function byInterest(scenarios: readonly ScenarioResults[]): SelectedTrial[] {
  const failed = scenarios.map((one) => trialsWhere(one, ({ passed }) => !passed))
  const passed = scenarios.map((one) => trialsWhere(one, (trial) => trial.passed).slice(0, 1))
  const maxFailed = Math.max(0, ...failed.map(({ length }) => length))
  const rounds = Array.from({ length: maxFailed }, (_, round) => failed.flatMap((one) => one[round] ?? []))
  return [...(rounds[0] ?? []), ...passed.flat(), ...rounds.slice(1).flat()]
}

function trialsWhere({ scenario, trials }: ScenarioResults, holds: (trial: Trial) => boolean): SelectedTrial[] {
  return trials.filter(holds).map((trial) => ({ scenario, trial }))
}

/** Renders trials until the page reaches its limits. Returns the HTML of each rendered trial. */
export function renderWithinLimits(
  selected: readonly SelectedTrial[],
  render: (one: SelectedTrial) => string,
): Map<Trial, string> {
  const rendered = new Map<Trial, string>()
  let characters = 0
  for (const one of selected.slice(0, maxTrials)) {
    const text = render(one)
    characters += text.length
    if (characters > maxCharacters) break
    rendered.set(one.trial, text)
  }
  return rendered
}

/** Within these limits, a phone's browser can open the page without delay. */
const maxTrials = 400
const maxCharacters = 6_000_000
