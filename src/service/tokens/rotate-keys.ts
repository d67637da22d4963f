import type { System } from '../../core/system.ts'
import { realNow } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'
import { addRootKey } from '../store/root-keys.ts'
import { addSigningKey } from './signing-keys.ts'

/** New keys take over at once; what the older ones made stays good. Processes that run learn of them by themselves. */
export async function rotateKeys(store: Store, system: System): Promise<{ rootKey: number; signingKey: string }> {
  const rootKey = await store.transaction(async (tx) => addRootKey(tx, system, await realNow(tx)))
  return { rootKey, signingKey: await addSigningKey(store) }
}
