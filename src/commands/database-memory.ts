import { hmac } from '../core/system.ts'
import type { CallMemory } from '../mcp/dependencies.ts'
import type { Service } from '../service/service.ts'
import type { Store } from '../service/store/engine/store.ts'
import { createSentCalls } from '../service/store/sent-calls.ts'

/**
 * Returns a function that opens a credential's memory of sent calls. The memory is stored in the service's own
 * database, so all processes that use this database share it.
 */
export function databaseMemories(service: Pick<Service, 'derivedSecret'>, store: Store) {
  let secret: Promise<string> | undefined
  return async ({ id, partyId }: { id: string; partyId: string }): Promise<CallMemory> => {
    secret ??= service.derivedSecret('sentCalls').catch((error: unknown) => {
      secret = undefined
      throw error
    })
    return { secret: hmac(await secret, id), ...createSentCalls(store, partyId) }
  }
}
