import { fail } from '../../core/errors.ts'
import type { Transaction } from '../store/engine/store.ts'
import { findWorld } from '../store/world.ts'
import type { Actor } from './permission-checks.ts'

/**
 * Refuses a caller that may not manage the sandbox. Only callers that belong to the world's first party may manage it.
 * In a rehearsal, the agents of this party may not manage it either (docs/sandbox.md#who-manages-the-sandbox).
 * @throws 403 `forbidden`.
 */
export async function requireManager(tx: Transaction, { partyId, actorType }: Actor): Promise<void> {
  const world = await findWorld(tx)
  if (world?.firstPartyId !== partyId) {
    fail('forbidden', {
      detail: "Only the first party of the sandbox's world can manage the sandbox. Use one of that party's keys.",
    })
  }
  if (world.isRehearsal === 1 && actorType === 'agent') {
    fail('forbidden', { detail: 'Agents cannot manage this sandbox. Use the API key of its first party.' })
  }
}
