import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { openRehearsalStage } from '../src/commands/rehearse-stage.ts'
import { realSystem } from '../src/core/system.ts'
import { loadScenarios } from '../src/rehearse/load-scenarios.ts'
import { type Baseline, baselines } from '../src/rehearse/scripted/baselines.ts'
import { runTrial } from '../src/rehearse/trial.ts'
import { forEachConcurrently } from '../src/rehearse/workers.ts'
import { type BaselineResults, baselinesFile, readBaselines } from './baselines-table.ts'

// Runs every scripted agent (baseline) in the scenarios named on the command line; if none are named, in all of the
// package's scenarios. Prints the result of each trial, and saves the results. `npm run generate` adds the saved
// results to the documents in docs/.

const names = process.argv.slice(2)
const scenarios = await loadScenarios(names)
const agents = Object.keys(baselines) as Baseline[]
const { signal } = new AbortController()
const results: BaselineResults = names.length === 0 ? {} : readBaselines()
const reports: string[] = []

await forEachConcurrently(
  [...scenarios.entries()],
  { concurrency: availableParallelism(), signal },
  async ([index, scenario]) => {
    const passed: string[] = []
    const lines: string[] = []
    for (const agent of agents) {
      const trial = await runTrial(scenario, baselines[agent], {
        ...{ openStage: openRehearsalStage, seed: '1', number: 1, signal },
        openFolder: () => Promise.reject(new Error('Bug: a scripted agent needs no folder.')),
        elapsed: () => realSystem.elapsed(),
      })
      if (trial.passed) passed.push(agent)
      const failures = trial.verdicts.filter(({ failed }) => failed).map(({ says }) => `      ${says}`)
      lines.push(`  ${trial.passed ? 'passed' : 'FAILED'} ${agent}: ${trial.answer}`, ...failures)
      if (trial.trouble !== null) lines.push(`      ${trial.trouble}`)
    }
    reports[index] = [scenario.id, ...lines].join('\n')
    results[scenario.id] = passed as Baseline[]
  },
)
console.log(reports.join('\n'))
const allScenarios = await loadScenarios()
const entries = allScenarios.flatMap(({ id }) =>
  results[id] === undefined ? [] : [`${JSON.stringify(id)}: ${JSON.stringify(results[id]).replaceAll(',', ', ')}`],
)
writeFileSync(new URL(`../${baselinesFile}`, import.meta.url), `{\n  ${entries.join(',\n  ')}\n}\n`)
