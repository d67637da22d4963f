import { writeFileSync } from 'node:fs'
import { openRehearsalStage } from '../src/commands/rehearse-stage.ts'
import { realSystem } from '../src/core/system.ts'
import { loadScenarios } from '../src/rehearse/load-scenarios.ts'
import { lies } from '../src/rehearse/mutants/lies.ts'
import { mutants } from '../src/rehearse/mutants/mutants.ts'
import { countCaught, type MutantRun, runMutants } from '../src/rehearse/mutants/run.ts'
import { mutantsTable } from '../src/rehearse/mutants/table.ts'
import { type JudgeMutants, judgeMutantsFile, readJudgeMutants } from './judge-mutants-table.ts'

// Runs the mutants named on the command line in all scenarios of the package. If none are named, runs all mutants. A
// mutant is an agent that works like the scripted agent `careful`, but makes one mistake. Prints how many of the
// mistakes the judge detected, and saves the results for docs/rehearse.md.

const names = process.argv.slice(2)
const isChosen = (name: string) => names.length === 0 || names.includes(name)
const chosen = {
  mutants: mutants.filter(({ name }) => isChosen(name)),
  lies: Object.fromEntries(Object.entries(lies).filter(([name]) => isChosen(name))),
}
const scenarios = await loadScenarios()
const results = await runMutants({
  ...{ scenarios, ...chosen, seed: '1', concurrency: 2, signal: new AbortController().signal },
  openStage: openRehearsalStage,
  openFolder: () => Promise.reject(new Error('Bug: a mutant needs no folder.')),
  elapsed: () => realSystem.elapsed(),
})
console.log(mutantsTable(results, '1'))

const byName = Map.groupBy(
  results.flatMap(({ runs }) => runs),
  ({ mutant }) => mutant.name,
)
const newResults = [...byName.values()].flatMap((runs: MutantRun[]) => {
  const [caught, tried] = countCaught(runs)
  const [first] = runs
  return first === undefined ? [] : [{ ...pick(first), tried, caught }]
})
const savedResults = names.length === 0 ? [] : readJudgeMutants().mutants
const measured: JudgeMutants = {
  scenarios: results.filter(({ leftOut }) => leftOut === null).length,
  mutants: [...mutants.map(({ name }) => name), ...Object.keys(lies)].flatMap(
    (name) => [...newResults, ...savedResults].find((mutant) => mutant.name === name) ?? [],
  ),
}
writeFileSync(new URL(`../${judgeMutantsFile}`, import.meta.url), `${JSON.stringify(measured, null, 2)}\n`)
console.log(`Wrote ${judgeMutantsFile}. To update docs/rehearse.md, run: npm run generate`)

function pick({ mutant: { name, kind, does } }: MutantRun) {
  return { name, kind, does }
}
