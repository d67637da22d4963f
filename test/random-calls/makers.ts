import type { OperationKey } from '../../tools/index.ts'
import type { Maker } from '../isolation/makers.ts'
import * as make from '../isolation/makers.ts'

/** Creates a subscription that has stopped collecting, because a payment was due while the payer's card was blocked. */
const stoppedSubscription: Maker = async (on, place) => {
  const ids = await make.activeSubscription(on, place)
  const path = `/simulations/subscriptions/${ids.subscriptionId}/card`
  const blocked = await on.world.post(path, { behavior: 'blocked' }, { key: place.apiKey })
  if (blocked.status !== 200) throw new Error(blocked.text)
  on.world.system.pass(35 * 24 * 60 * 60 * 1000)
  return ids
}

/**
 * Makers that replace makers of the samples:
 * - `resumeSubscription`: The subscription of the sample is active, so it cannot be resumed.
 * - `resetSandbox`: The sample's maker stores the current state as the state that resets restore. In this test, resets
 *   restore the state before the first call.
 */
export const makers: Partial<Record<OperationKey, Maker>> = {
  resumeSubscription: stoppedSubscription,
  resetSandbox: make.nothing,
}
