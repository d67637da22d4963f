import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { openRehearsalStage } from '../../src/commands/rehearse-stage.ts'
import type { Agent, AgentInput } from '../../src/rehearse/agent.ts'
import { loadScenarios } from '../../src/rehearse/load-scenarios.ts'
import { baselines } from '../../src/rehearse/scripted/baselines.ts'
import { agentBy, scenarioWith, trialBy } from './trials.ts'

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

const scenario = scenarioWith({})
/** The signal that all trials share, as in a rehearsal. It must not hold references to objects of finished trials. */
const { signal } = new AbortController()

/** An agent that opens no MCP connection, because the first connections fill caches and enlarge the heap. */
const agent = {
  ...agentBy(async () => ''),
  run: async ({ fetch, key }: AgentInput) => {
    const answer = await fetch('/whoami', { headers: { Authorization: `Bearer ${key}` } })
    return `Answered ${answer.status}.`
  },
}

async function collectAll(): Promise<void> {
  for (let count = 0; count < 4; count++) {
    collect()
    // The garbage collector frees some objects only in a later turn of the event loop.
    await setImmediate()
  }
}

async function heapBytes(): Promise<number> {
  await collectAll()
  return process.memoryUsage().heapUsed
}

async function runTrials(from: number, count: number): Promise<void> {
  for (let number = from; number < from + count; number++) await trialBy(agent, scenario, { number, signal })
}

test('trials leak no memory: after 1,200 of them, the heap is about as large as after 600', async () => {
  await runTrials(1, 600)
  const before = await heapBytes()
  await runTrials(601, 600)
  // The limit is in bytes per trial. A leaked listener exceeds this limit; a leaked world exceeds it a hundredfold.
  expect(((await heapBytes()) - before) / 600).toBeLessThan(1_500)
})

/** Runs trials of built-in scenarios. Returns the parts of their sandboxes that are still reachable afterwards. */
async function findReachableParts(rehearsed: Agent): Promise<string[]> {
  const parts: { name: string; part: WeakRef<object> }[] = []
  for (const scenario of (await loadScenarios()).filter((_, at) => at % 6 === 0)) {
    await trialBy(rehearsed, scenario, {
      signal,
      openStage: async (setting) => {
        const stage = await openRehearsalStage(setting)
        const { service, store } = stage
        for (const [part, object] of Object.entries({
          stage,
          service,
          store,
          system: setting.system,
          world: setting.world,
        }))
          parts.push({ name: `${part} of ${scenario.id}`, part: new WeakRef<object>(object) })
        return stage
      },
      openFolder: async () => ({ path: '', remove: async () => {} }),
    })
  }
  await collectAll()
  const left = parts.filter(({ part }) => part.deref() !== undefined).map(({ name }) => name)
  expect(parts.length).toBeGreaterThan(5 * 15)
  return left
}

test.each([
  ['in the same process', baselines.careful],
  ['over the network', { ...baselines.careful, isScripted: false }],
])(
  'after the trial of an agent that calls its sandbox %s, the sandbox is freed',
  { timeout: 120_000 },
  async (_, rehearsed) => {
    // The garbage collector may not have freed the five parts of the last trial's sandbox yet.
    expect((await findReachableParts(rehearsed)).length).toBeLessThanOrEqual(5)
  },
)
