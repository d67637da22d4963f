import type { ScenarioResults, Trial } from '../results.ts'

/** A trial that the report shows in full. */
export interface SelectedTrial {
  scenario: ScenarioResults['scenario']
  trial: Trial
}

/**
 * Orders the trials that are worth showing in full: the first failed trial of each scenario, then the first passed one,
 * then all other failed trials, taking turns between scenarios.
 */
export function byInterest(scenarios: readonly ScenarioResults[]): SelectedTrial[] {
  const failed = scenarios.map((one) => selectedTrial(one, ({ passed }) => !passed))
  const passed = scenarios.map((one) => selectedTrial(one, (trial) => trial.passed).slice(0, 1))
  const maxFailed = Math.max(0, ...failed.map(({ length }) => length))
  const turns = Array.from({ length: maxFailed }, (_, turn) => failed.flatMap((one) => one[turn] ?? []))
  return [...(turns[0] ?? []), ...passed.flat(), ...turns.slice(1).flat()]
}

function selectedTrial({ scenario, trials }: ScenarioResults, holds: (trial: Trial) => boolean): SelectedTrial[] {
  return trials.filter(holds).map((trial) => ({ scenario, trial }))
}

/** Renders trials until the page's limits are reached. Returns the HTML by trial. */
export function renderWithinLimits(
  selected: readonly SelectedTrial[],
  show: (one: SelectedTrial) => string,
): Map<Trial, string> {
  const rendered = new Map<Trial, string>()
  let characters = 0
  for (const one of selected.slice(0, maxTrials)) {
    const text = show(one)
    characters += text.length
    if (characters > maxCharacters) break
    rendered.set(one.trial, text)
  }
  return rendered
}

/** The limits below which a phone's browser can open the page without delay. */
const maxTrials = 400
const maxCharacters = 6_000_000
