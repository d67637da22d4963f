import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openRehearsalStage } from '../src/commands/rehearse-stage.ts'
import { loadScenarios } from '../src/rehearse/load-scenarios.ts'
import { baselines } from '../src/rehearse/scripted/baselines.ts'
import { runTrial } from '../src/rehearse/trial.ts'
import { createSandbox } from '../src/testing/sandbox.ts'
import { judged, median, type Row, summary } from './table.ts'

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

const rounds = 5
/** A hundred scripted trials in a minute. */
const goalMs = 600
/** Many trials later the heap is as large as it was after the first ones, but for this. */
const goalRatio = 1.1

/** A trial of a scripted agent, beside a sandbox that is made anew and asked once; and what trials leave behind. */
export async function measureRehearsals(): Promise<Row[]> {
  const scenarios = await loadScenarios()
  let number = 0
  const trials = async () => {
    number += 1
    for (const scenario of scenarios) await trial(scenario, number)
  }
  await trials()
  const [ours, other, heap]: [number[], number[], number[]] = [[], [], []]
  for (let round = 0; round < rounds; round++) {
    ours.push((await timed(trials)) / scenarios.length)
    other.push(await timed(sandboxAskedOnce))
    heap.push(await heapMegabytes())
  }
  const [first = Number.NaN, last = Number.NaN] = [heap[0], heap.at(-1)]
  const ratio = median(ours.map((sample, round) => sample / (other[round] ?? Number.NaN)))
  return [
    {
      measurement: `a trial of each of ${scenarios.length} scenarios by careful, a sandbox made anew beside it`,
      ours: summary(ours, 'ms'),
      other: summary(other, 'ms'),
      ratio: ratio.toFixed(2),
      ...judged(median(ours), { atMost: goalMs }, ' ms'),
    },
    {
      measurement: `heap after ${(rounds + 1) * scenarios.length} trials, after ${2 * scenarios.length} beside it`,
      ours: summary([last], 'MB'),
      other: summary([first], 'MB'),
      ratio: (last / first).toFixed(2),
      ...judged(last / first, { atMost: goalRatio }),
    },
  ]
}

async function trial(scenario: Parameters<typeof runTrial>[0], number: number): Promise<void> {
  const { passed, trouble } = await runTrial(scenario, baselines.careful, {
    ...{ openStage: openRehearsalStage, seed: 'bench', number, signal: new AbortController().signal },
    openFolder: () => Promise.reject(new Error('A scripted agent has no folder.')),
    elapsed: () => performance.now(),
  })
  if (!passed) throw new Error(`careful failed in ${scenario.id}: ${trouble}`)
}

async function sandboxAskedOnce(): Promise<void> {
  await using made = await createSandbox({ port: false })
  await made.fetch('/whoami', { headers: { Authorization: `Bearer ${made.keys.api}` } })
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

async function heapMegabytes(): Promise<number> {
  for (let count = 0; count < 4; count++) {
    collect()
    // What the collector found unused lets go of more only in a later turn.
    await setImmediate()
  }
  return process.memoryUsage().heapUsed / 1e6
}
