import { readFileSync } from 'node:fs'
import type { Baseline } from '../src/rehearse/scripted/baselines.ts'

export const baselinesFile = 'scripts/baselines.json'

/** The names of the scripted agents (baselines) that passed each scenario, by the scenario's id. */
export type BaselineResults = Record<string, Baseline[]>

export function readBaselines(): BaselineResults {
  return JSON.parse(readFileSync(new URL(`../${baselinesFile}`, import.meta.url), 'utf8'))
}
