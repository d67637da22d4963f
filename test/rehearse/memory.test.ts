import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { agentBy, scenarioWith, trialBy } from './rehearsed.ts'

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

const scenario = scenarioWith({})
const agent = agentBy(async ({ call }) => {
  await call('create_payment', { counterparty: { type: 'handle', value: '@bakery' }, amount: 4_000 })
  return 'Paid.'
})

async function heapBytes(): Promise<number> {
  for (let count = 0; count < 4; count++) {
    collect()
    // What the collector found unused lets go of more only in a later turn.
    await setImmediate()
  }
  return process.memoryUsage().heapUsed
}

async function trials(from: number, count: number): Promise<void> {
  for (let number = from; number < from + count; number++) await trialBy(agent, scenario, { number })
}

test('a trial leaves nothing behind: after 300 the heap is as large as after 60', async () => {
  await trials(1, 60)
  const before = await heapBytes()
  await trials(61, 240)
  // A trial that left its world behind would leave a hundred times as much.
  expect(((await heapBytes()) - before) / 240).toBeLessThan(5_000)
})
