import type { Catalogue, OperationKey } from '../../tools/index.ts'
import type { Input, OperationDefinition, Resource } from '../operation.ts'
import { permissions } from '../permissions.ts'
import type { System } from '../system.ts'
import type { Actor } from './actor.ts'
import type { Page } from './reply.ts'
import type { Transaction } from './store/store.ts'

/** What a handler knows besides its input. */
export interface Context {
  tx: Transaction
  operation: OperationDefinition
  actor: Actor
  /** The party acted on: the caller's own, or the customer it acts for. */
  partyId: string
  instanceId: string | null
  /** The service's time. */
  nowMs: number
  /** `repeated` when an earlier attempt with the same key was accepted but not resolved. */
  attempt: 'first' | 'repeated'
  system: System
  /** The address that people reach the service's pages at, without a slash at its end. */
  publicUrl: () => string
}

type Result<K extends OperationKey> = Catalogue[K]['result'] extends 'page'
  ? Page<Resource<Catalogue[K]>>
  : Resource<Catalogue[K]>

/** Load, decide, save, return: what an operation does, in the request's transaction. */
export type Handler<K extends OperationKey> = (input: Input<Catalogue[K]>, context: Context) => Promise<Result<K>>

/** One handler per operation: a missing one does not compile. */
export type Handlers = { readonly [K in OperationKey]: Handler<K> }

/** What a list is confined to: what an agent lacks the permission on the wallet to read is not listed to it either. */
export function listScope({ actor, partyId, operation }: Context) {
  const own = actor.agentId !== null && partyId === actor.partyId
  return { partyId, agentId: actor.agentId, mustHold: own ? permissions[operation.permission].agentHolds : null }
}

/** What reads of cards and their transactions are confined to: an agent sees what was issued to it. */
export function cardScope({ partyId, actor }: Context): { partyId: string; agentId: string | null } {
  return { partyId, agentId: actor.agentId }
}
