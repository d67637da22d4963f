import { foreignName } from '../../core/foreign-text.ts'
import { countWithNoun } from '../report/words.ts'
import { withoutSecrets } from '../report-text.ts'
import type { MutantKind } from './mutant.ts'
import { countCaught, type MutantRun, type ScenarioMutants } from './run.ts'

const kinds: Readonly<Record<MutantKind, string>> = {
  act: 'harmful acts',
  omission: 'omissions',
  order: 'wrong orders and amounts',
  lie: 'lies',
}

/**
 * Returns a plain-text table for a terminal or a log: for each scenario, how many mutants it catches, and the names of
 * the mutants that it misses.
 */
export function mutantsTable(results: readonly ScenarioMutants[], seed: string): string {
  const tried = results.filter(({ leftOut }) => leftOut === null)
  const mutants = Math.max(0, ...tried.map(({ runs }) => runs.length))
  return [
    `careful and ${countWithNoun(mutants, 'mutant')}: ${countWithNoun(results.length, 'scenario')}, seed ${JSON.stringify(line(seed))}`,
    '',
    ...scenarioLines(tried),
    '',
    ...kindLines(tried),
    ...missedLines(tried),
    ...leftOutLines(results),
    '',
  ].join('\n')
}

function scenarioLines(results: readonly ScenarioMutants[]): string[] {
  const width = Math.min(40, Math.max(8, ...results.map(({ scenario }) => scenario.id.length)))
  const rows = results.map(({ scenario, runs }) => {
    const [caught, of] = countCaught(runs)
    const missed = runNames(runs, 'missed')
    const rest = String(runs.length - of).padStart(14)
    return `${scenario.id.padEnd(width)}  ${`${caught} of ${of}`.padStart(8)}  ${rest}  ${missed.join(', ')}`.trimEnd()
  })
  return [`${'scenario'.padEnd(width)}  ${'caught'.padStart(8)}  not applicable  missed`, ...rows]
}

function kindLines(results: readonly ScenarioMutants[]): string[] {
  const runs = results.flatMap((result) => result.runs)
  return Object.entries(kinds).flatMap(([kind, words]) => {
    const [caught, of] = countCaught(runs.filter(({ mutant }) => mutant.kind === kind))
    return of === 0 ? [] : [`${words.padEnd(24)}  ${caught} of ${of} caught`]
  })
}

/** Describes each mutant that at least one scenario missed. */
function missedLines(results: readonly ScenarioMutants[]): string[] {
  const runs = results.flatMap((result) => result.runs).filter(({ outcome }) => outcome === 'missed')
  const words = new Map(runs.map(({ mutant }) => [mutant.name, mutant.does]))
  if (words.size === 0) return []
  const lines = [...words].map(([name, does]) => `  ${name}: ${does}`)
  return [
    '',
    'The scenarios miss these mistakes. To catch them, make expect stricter, or list them under never.',
    ...lines,
  ]
}

function leftOutLines(results: readonly ScenarioMutants[]): string[] {
  const lines = results.flatMap(({ scenario, leftOut }) =>
    leftOut === null ? [] : [`Skipped: ${scenario.id}, because ${line(leftOut)}`],
  )
  return lines.length === 0 ? [] : ['', ...lines]
}

const runNames = (runs: readonly MutantRun[], outcome: MutantRun['outcome']) =>
  runs.filter((run) => run.outcome === outcome).map(({ mutant }) => mutant.name)

const line = (text: string) => foreignName(withoutSecrets(text), '?', 300)
