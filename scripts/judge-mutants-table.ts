import { readFileSync } from 'node:fs'
import type { MutantKind } from '../src/rehearse/mutants/mutant.ts'

/** The file with the results of `npm run judge:mutants:write`, which runs all mutants in the package's scenarios. */
export const judgeMutantsFile = 'scripts/judge-mutants.json'

export interface JudgeMutants {
  scenarios: number
  mutants: MeasuredMutant[]
}

export interface MeasuredMutant {
  name: string
  kind: MutantKind
  does: string
  /** The number of scenarios in which the mutant could make its mistake. */
  tried: number
  /** The number of these scenarios in which the judge detected the mistake. */
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

/** Returns two tables of the results: one with a row for each kind of mistake, and one with a row for each mutant. */
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
