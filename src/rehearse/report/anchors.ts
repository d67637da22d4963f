import type { Trial } from '../results.ts'

/** The fragment of a scenario's part of the page. */
export function scenarioAnchor(id: string): string {
  return `scenario-${id}`
}

/** The fragment of a trial, which may be sent to somebody: it opens where it is. */
export function trialAnchor(id: string, { number }: Pick<Trial, 'number'>): string {
  return `${id}-${number}`
}

/** The fragment of a step of a trial, counted from 1. */
export function stepAnchor(id: string, trial: Pick<Trial, 'number'>, step: number): string {
  return `${trialAnchor(id, trial)}-step-${step}`
}
