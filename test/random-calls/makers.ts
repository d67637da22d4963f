import type { OperationKey } from '../../tools/index.ts'
import type { Maker } from '../isolation/makers.ts'
import * as make from '../isolation/makers.ts'

/** Creates a subscription that no longer collects, because the payer's card was blocked when a payment was due. */
const stoppedSubscription: Maker = async (on, place) => {
  const ids = await make.activeSubscription(on, place)
  const path = `/simulations/subscriptions/${ids.subscriptionId}/card`
  const blocked = await on.world.post(path, { behavior: 'blocked' }, { key: place.apiKey })
  if (blocked.status !== 200) throw new Error(blocked.text)
  on.world.system.pass(35 * 24 * 60 * 60 * 1000)
  return ids
}

/**
 * Makers that replace those of the samples. The sample's subscription is active, so it cannot be resumed. The sample's
 * maker for a reset makes the current state the one to restore, but here resets restore the one before the first call.
 */
export const makers: Partial<Record<OperationKey, Maker>> = {
  resumeSubscription: stoppedSubscription,
  resetSandbox: make.nothing,
}
