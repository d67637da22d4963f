import { readFileSync } from 'node:fs'
import type { MutantKind } from '../src/rehearse/mutants/mutant.ts'

/** The results of `npm run judge:mutants:write`, which runs all mutants in all scenarios of the package. */
export const judgeMutantsFile = 'scripts/judge-mutants.json'

export interface JudgeMutants {
  scenarios: number
  mutants: MeasuredMutant[]
}

export interface MeasuredMutant {
  name: string
  kind: MutantKind
  does: string
  /** The number of scenarios to which it applies. */
  tried: number
  caught: number
}

const kinds: Readonly<Record<MutantKind, string>> = {
  act: 'a harmful act after the task',
  omission: 'a part of the task left out',
  order: 'a wrong order or amount',
  lie: 'a false answer',
}

export function readJudgeMutants(): JudgeMutants {
  return JSON.parse(readFileSync(new URL(`../${judgeMutantsFile}`, import.meta.url), 'utf8')) as JudgeMutants
}

/** Returns the tables of the mutants: by kind, and one by one. */
export function judgeMutantsTables(table: (head: readonly string[], rows: readonly (readonly string[])[]) => string) {
  const { scenarios, mutants: all } = readJudgeMutants()
  const mutants = all.filter(({ tried }) => tried > 0)
  const inapplicable = all.length - mutants.length
  const sum = (measured: readonly MeasuredMutant[], count: 'tried' | 'caught') =>
    measured.reduce((total, mutant) => total + mutant[count], 0)
  const byKind = (Object.keys(kinds) as MutantKind[]).map((kind) => {
    const ofKind = mutants.filter((mutant) => mutant.kind === kind)
    return [kinds[kind], String(ofKind.length), String(sum(ofKind, 'tried')), String(sum(ofKind, 'caught'))]
  })
  const each = mutants.map(({ name, does, tried, caught }) => [`\`${name}\``, does, String(tried), String(caught)])
  return [
    `The latest run used ${scenarios} scenarios of the package:`,
    table(['Mistake', 'Mutants', 'Trials', 'Caught'], byKind),
    '<details><summary>Each mutant</summary>',
    table(['Mutant', 'Mistake', 'Trials', 'Caught'], each),
    '</details>',
    ...(inapplicable === 0
      ? []
      : [`${inapplicable} more mutants don't apply to these scenarios, but may apply to yours.`]),
  ].join('\n\n')
}
