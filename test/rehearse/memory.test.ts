import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import type { Given } from '../../src/rehearse/agent.ts'
import { agentBy, scenarioWith, trialBy } from './rehearsed.ts'

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

const scenario = scenarioWith({})
/** One for all trials, as in a rehearsal: it must not keep anything of a trial. */
const { signal } = new AbortController()

/** Without a connection, whose first uses fill caches for a while. */
const agent = {
  ...agentBy(async () => ''),
  run: async ({ fetch, key }: Given) => {
    const answer = await fetch('/whoami', { headers: { Authorization: `Bearer ${key}` } })
    return `Answered ${answer.status}.`
  },
}

async function heapBytes(): Promise<number> {
  for (let count = 0; count < 4; count++) {
    collect()
    // The garbage collector frees some objects only in a later turn.
    await setImmediate()
  }
  return process.memoryUsage().heapUsed
}

async function trials(from: number, count: number): Promise<void> {
  for (let number = from; number < from + count; number++) await trialBy(agent, scenario, { number, signal })
}

test('a trial leaves nothing behind: after 1,200 the heap is as large as after 600', async () => {
  await trials(1, 600)
  const before = await heapBytes()
  await trials(601, 600)
  // One leaked listener per trial exceeds this; a leaked world exceeds it a hundredfold.
  expect(((await heapBytes()) - before) / 600).toBeLessThan(1_500)
})
