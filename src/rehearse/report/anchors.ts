import type { Trial } from '../results.ts'

/** Returns the URL fragment of a scenario's section in the report. */
export function scenarioAnchor(id: string): string {
  return `scenario-${id}`
}

/** Returns the URL fragment of a trial. A link to this fragment expands the trial. */
export function trialAnchor(id: string, { number }: Pick<Trial, 'number'>): string {
  return `${id}-${number}`
}

/** Returns the URL fragment of a trial's step. Steps are numbered from 1. */
export function stepAnchor(id: string, trial: Pick<Trial, 'number'>, step: number): string {
  return `${trialAnchor(id, trial)}-step-${step}`
}
