import { createClient } from '../src/client/client.ts'
import { openRehearsalStage } from '../src/commands/rehearse-stage.ts'
import { realSystem } from '../src/core/system.ts'
import { loadScenarios } from '../src/rehearse/load-scenarios.ts'
import { baselines } from '../src/rehearse/scripted/baselines.ts'
import { runTrial } from '../src/rehearse/trial.ts'
import { createSandbox } from '../src/testing/sandbox.ts'
import { cardAttributes, purchase } from './sandbox.ts'
import { compare, inTurns, judge, measureMs, median, type Row } from './table.ts'

const resetsPerRound = 10

/**
 * Compares the time to reset the default world with the time to create a sandbox and send it one request. Measures this
 * with a database in a file, and again with a database in memory.
 */
export async function measureReset(directory: string): Promise<Row[]> {
  const rows: Row[] = []
  for (const where of ['a file', 'memory'] as const) {
    let count = 0
    const database = () => (where === 'memory' ? 'sqlite::memory:' : `sqlite:${directory}/reset-${count++}.sqlite`)
    await using reused = await createSandbox({ database: database(), port: false })
    const reset = async () => {
      const tookMs: number[] = []
      for (let one = 0; one < resetsPerRound; one++) {
        await createRecords(reused)
        tookMs.push(await measureMs(() => reused.reset()))
      }
      return median(tookMs)
    }
    const [ours = [], other = []] = await inTurns(7, [reset, () => measureMs(() => useNewSandbox(database()))])
    rows.push(rowOf(`reset of the default world in ${where}, against a new sandbox`, ours, other, 20))
  }
  return rows
}

async function useNewSandbox(database: string): Promise<void> {
  await using sandbox = await createSandbox({ database, port: false })
  await sandbox.fetch('/whoami', { headers: { Authorization: `Bearer ${sandbox.keys.api}` } })
}

/** Creates records for the reset to remove: a card and a purchase with that card. */
async function createRecords({ url, fetch, keys }: Awaited<ReturnType<typeof createSandbox>>): Promise<void> {
  const credential = () => keys.agent
  const client = createClient({ baseUrl: url, fetch, credential, instanceId: 'bench', system: realSystem })
  const { data } = await client.operations.issueAgentCard(cardAttributes)
  await client.operations.simulateCardAuthorization({ cardId: data.id, ...purchase })
}

/** Compares the average time of a scripted agent's trial with the time to create a sandbox and send it one request. */
export async function measureRehearsals(): Promise<Row[]> {
  const scenarios = await loadScenarios()
  let number = 0
  const trials = async () => {
    number += 1
    const tookMs = await measureMs(async () => {
      for (const scenario of scenarios) await trial(scenario, number)
    })
    return tookMs / scenarios.length
  }
  const [ours = [], other = []] = await inTurns(5, [trials, () => measureMs(() => useNewSandbox('sqlite::memory:'))])
  const measurement = `average trial of the agent "careful" in ${scenarios.length} scenarios, against a new sandbox`
  return [rowOf(measurement, ours, other, 600)]
}

/** Returns a row that compares two lists of times. The goal: the median of `ours` is at most `atMost` milliseconds. */
function rowOf(measurement: string, ours: number[], other: number[], atMost: number): Row {
  return { ...compare({ measurement, unit: 'ms', ours, other }), ...judge(median(ours), { atMost }, ' ms') }
}

async function trial(scenario: Parameters<typeof runTrial>[0], number: number): Promise<void> {
  const { passed, trouble } = await runTrial(scenario, baselines.careful, {
    openStage: openRehearsalStage,
    seed: 'bench',
    number,
    signal: new AbortController().signal,
    openFolder: () => Promise.reject(new Error('A scripted agent has no folder.')),
    elapsed: () => performance.now(),
  })
  if (!passed) throw new Error(`The scripted agent "careful" failed in ${scenario.id}: ${trouble}`)
}
