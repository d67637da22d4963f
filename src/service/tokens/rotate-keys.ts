import type { System } from '../../core/system.ts'
import { realNow } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'
import { addRootKey } from '../store/root-keys.ts'
import { type Retired, retireRootKeys } from './retire-keys.ts'
import { addSigningKey } from './signing-keys.ts'

/**
 * Creates new keys that take over at once. Everything issued with older keys stays valid. Running processes pick up the
 * new keys.
 */
export async function rotateKeys(store: Store, system: System): Promise<{ rootKey: number; signingKey: string }> {
  const rootKey = await store.transaction(async (tx) => addRootKey(tx, system, await realNow(tx)))
  return { rootKey, signingKey: await addSigningKey(store) }
}

/**
 * Creates new keys that take over at once, and deletes the older root keys. Older signing keys are kept until they are
 * about a month old.
 */
export async function retireKeys(store: Store, system: System): Promise<Retired & { signingKey: string }> {
  return { ...(await retireRootKeys(store, system)), signingKey: await addSigningKey(store) }
}
