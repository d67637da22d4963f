import type { z } from 'zod'
import type { Catalogue, OperationKey } from '../../../tools/index.ts'
import type { Environment, Input, Meta, OperationDefinition, Resource } from '../../core/operation.ts'
import { permissions } from '../../core/permissions.ts'
import type { System } from '../../core/system.ts'
import type { Transaction } from '../store/engine/store.ts'
import type { Actor } from './actor.ts'
import type { LastUses } from './last-use.ts'
import type { Page, WithMeta } from './reply.ts'

/** What a handler knows besides its input. */
export interface Context {
  tx: Transaction
  operation: OperationDefinition
  actor: Actor
  /** The party acted on: the caller's own, or the customer it acts for. */
  partyId: string
  instanceId: string | null
  /** The agent that the request is recorded as caused by: the caller, or the one that a party key names in a header. */
  causeAgentId: string | null
  /** The service's time. */
  nowMs: number
  /** `repeated` when an earlier attempt with the same key was accepted but not resolved. */
  attempt: 'first' | 'repeated'
  environment: Environment
  system: System
  lastUses: LastUses
  /** The address that people reach the service's pages at, without a slash at its end. */
  publicUrl: () => string
}

type Data<K extends OperationKey> = Catalogue[K]['result'] extends 'page'
  ? Page<Resource<Catalogue[K]>>
  : Catalogue[K]['result'] extends 'several'
    ? Resource<Catalogue[K]>[]
    : Resource<Catalogue[K]>

type Result<K extends OperationKey> = Catalogue[K] extends { meta: z.ZodObject }
  ? WithMeta<Data<K>, Meta<Catalogue[K]>>
  : Data<K>

/** Load, decide, save, return: what an operation does, in the request's transaction. */
export type Handler<K extends OperationKey> = (input: Input<Catalogue[K]>, context: Context) => Promise<Result<K>>

/** One handler per operation: a missing one does not compile. */
export type Handlers = { readonly [K in OperationKey]: Handler<K> }

/** What a list is confined to: what an agent lacks the permission on the wallet to read is not listed to it either. */
export function walletListScope({ actor, partyId, operation }: Context) {
  const own = actor.agentId !== null && partyId === actor.partyId
  return { partyId, agentId: actor.agentId, mustHold: own ? permissions[operation.permission].agentHolds : null }
}

/** What reads of cards and their transactions are confined to: an agent sees what was issued to it. */
export function cardScope({ partyId, actor }: Context): { partyId: string; agentId: string | null } {
  return { partyId, agentId: actor.agentId }
}
