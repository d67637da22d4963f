import type { OperationKey } from '../../tools/index.ts'
import type { Maker } from '../isolation/makers.ts'
import * as make from '../isolation/makers.ts'

/** Makes a subscription that stopped collecting: its payer's card was blocked when the next payment fell due. */
const needsAttention: Maker = async (on, place) => {
  const ids = await make.activeSubscription(on, place)
  const path = `/simulations/subscriptions/${ids.subscriptionId}/card`
  const blocked = await on.world.post(path, { behavior: 'blocked' }, { key: place.apiKey })
  if (blocked.status !== 200) throw new Error(blocked.text)
  on.world.system.pass(35 * 24 * 60 * 60 * 1000)
  return ids
}

/**
 * Makers that replace those of the samples. The sample's subscription could not be resumed, and a reset must return to
 * the state before the first call.
 */
export const makers: Partial<Record<OperationKey, Maker>> = {
  resumeSubscription: needsAttention,
  resetSandbox: make.nothing,
}
