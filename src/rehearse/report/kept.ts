import type { ScenarioResults, Trial } from '../results.ts'

/** A trial that the report tells in full. */
export interface Kept {
  scenario: ScenarioResults['scenario']
  trial: Trial
}

/**
 * The trials to be told in full, those first that tell most: of each scenario the first that failed, then the first that
 * passed, then all others that failed, each scenario in turn.
 */
export function inOrderOfUse(scenarios: readonly ScenarioResults[]): Kept[] {
  const failed = scenarios.map((one) => keptOf(one, ({ passed }) => !passed))
  const passed = scenarios.map((one) => keptOf(one, (trial) => trial.passed).slice(0, 1))
  const most = Math.max(0, ...failed.map(({ length }) => length))
  const turns = Array.from({ length: most }, (_, turn) => failed.flatMap((one) => one[turn] ?? []))
  return [...(turns[0] ?? []), ...passed.flat(), ...turns.slice(1).flat()]
}

function keptOf({ scenario, trials }: ScenarioResults, holds: (trial: Trial) => boolean): Kept[] {
  return trials.filter(holds).map((trial) => ({ scenario, trial }))
}

/** As many of them as a page has room for, as HTML, by their trial. */
export function withinBounds(kept: readonly Kept[], show: (one: Kept) => string): Map<Trial, string> {
  const shown = new Map<Trial, string>()
  let characters = 0
  for (const one of kept.slice(0, mostTrials)) {
    const text = show(one)
    characters += text.length
    if (characters > mostCharacters) break
    shown.set(one.trial, text)
  }
  return shown
}

/** The limits within which a phone's browser opens the page at once. */
const mostTrials = 400
const mostCharacters = 6_000_000
