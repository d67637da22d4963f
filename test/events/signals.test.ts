import { expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { openSignals } from '../../src/service/store/engine/open-signals.ts'
import { postgres } from '../support/databases.ts'
import { anotherProcess, createWorld, type World } from '../support/world.ts'
import { sleepingSystem } from './clock.ts'

const log = { debug() {}, info() {}, warn() {}, error() {} }

async function connected({ url, service }: World) {
  const signals = await openSignals({ url, system: realSystem, log })
  service.waits.connect(signals)
  return signals
}

test('a wait ends when another process moves the sandbox clock, although that adds no event', async () => {
  const system = sleepingSystem()
  const world = await createWorld(postgres, { system })
  const otherProcess = await anotherProcess(world, system)
  const signals = await Promise.all([connected(world), connected(otherProcess)])
  const [here, theirs] = signals
  // A process sends no signals before it has detected another process, so the test repeats a signal until it is
  // received.
  let isReceived = false
  here.subscribe('test', () => {
    isReceived = true
  })
  try {
    await expect
      .poll(() => {
        theirs.send('test')
        return isReceived
      })
      .toBe(true)
    const resourceId = await world.issueCard()
    const { partyId, keyId } = await world.whoami()
    const wait = await world.service.waits.begin({ resourceId, partyId, keyId })
    if (wait === undefined) return expect.unreachable('there is no other wait, so this one cannot exceed a limit')
    const wake = wait.next()
    await otherProcess.post('/simulations/clock/advance', { seconds: 1 }, { idempotencyKey: 'there' })
    await wake
    world.service.waits.end(wait)
  } finally {
    await Promise.all([world.service.waits.close(), otherProcess.service.waits.close()])
    await Promise.all(signals.map((one) => one.close()))
    await otherProcess.drop()
    await world.drop()
  }
})
