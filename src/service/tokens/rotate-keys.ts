import type { System } from '../../core/system.ts'
import { realNow } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'
import { addRootKey } from '../store/root-keys.ts'
import { type Retired, retireRootKeys } from './retire-keys.ts'
import { addSigningKey } from './signing-keys.ts'

/**
 * Creates a root key and a signing key, which replace the current keys. Everything issued with older keys stays valid.
 * Running processes need no restart.
 */
export async function rotateKeys(store: Store, system: System): Promise<{ rootKey: number; signingKey: string }> {
  const rootKey = await store.transaction(async (tx) => addRootKey(tx, system, await realNow(tx)))
  return { rootKey, signingKey: await addSigningKey(store) }
}

/**
 * Creates a root key and a signing key, which replace the current keys. Deletes the older root keys, but keeps each
 * older signing key until it is about a month old.
 */
export async function retireKeys(store: Store, system: System): Promise<Retired & { signingKey: string }> {
  return { ...(await retireRootKeys(store, system)), signingKey: await addSigningKey(store) }
}
