import type { z } from 'zod'
import type { Catalogue } from '../../../tools/index.ts'
import type { Environment, Input, Meta, OperationDefinition, Resource } from '../../core/operation.ts'
import { agentMustHold } from '../../core/permissions.ts'
import { readTimes } from '../store/clock.ts'
import type { Store } from '../store/engine/store.ts'
import type { AfterCommit } from './after-commit.ts'
import type { ChangeContext } from './due-effects.ts'
import type { LastUses } from './last-use.ts'
import type { Actor } from './permission-checks.ts'
import type { Page, WithMeta } from './reply.ts'

/** The data and functions that a handler gets in addition to its input. */
export interface Context extends ChangeContext {
  operation: OperationDefinition
  actor: Actor
  /** The epoch of the clock. It changes when the sandbox's world is replaced. */
  epoch: number
  /** The party that the request acts on: the caller's own party, or the customer that the caller acts for. */
  partyId: string
  instanceId: string | null
  /**
   * The agent recorded as the cause of the request: the calling agent, or the agent that a party's program names in
   * X-Agent-ID.
   */
  causeAgentId: string | null
  /** `repeated` if an earlier request with the same idempotency key was accepted but not resolved. */
  attempt: 'first' | 'repeated'
  environment: Environment
  lastUses: LastUses
  /** The public URL of the service's pages, without a trailing slash. */
  publicUrl: () => string
  afterCommit: AfterCommit
}

type Data<D extends OperationDefinition> = D['result'] extends 'page'
  ? Page<Resource<D>>
  : D['result'] extends 'several'
    ? Resource<D>[]
    : D['result'] extends 'oneOrNull'
      ? Resource<D> | null
      : Resource<D>

type Result<D extends OperationDefinition> = D extends { meta: z.ZodObject } ? WithMeta<Data<D>, Meta<D>> : Data<D>

/** The function that carries out an operation in the request's transaction. */
type Handler<D extends OperationDefinition> = (input: Input<D>, context: Context) => Promise<Result<D>>

/**
 * The handlers for a set of operations, under the names of the operations. A missing or extra handler is a type error.
 */
export type HandlersOf<R extends Readonly<Record<string, OperationDefinition>>> = {
  readonly [K in keyof R]: Handler<R[K]>
}

/** The handlers for all operations of the catalogue. */
export type Handlers = HandlersOf<Catalogue>

/**
 * Returns the scope of a list. Of its own party's records, an agent sees only those of wallets on which it has the
 * required permission.
 */
export function walletListScope({ actor, partyId, operation }: Context) {
  const isOwn = actor.agentId !== null && partyId === actor.partyId
  return { partyId, agentId: actor.agentId, requiredPermission: isOwn ? agentMustHold(operation.permission) : null }
}

/** Returns the scope for reads of cards and their transactions. An agent sees only cards that were issued to it. */
export function cardScope({ partyId, actor }: Context): { partyId: string; agentId: string | null } {
  return { partyId, agentId: actor.agentId }
}

/**
 * Carries out a request with `list`. If the request lists records, the list may be slightly out of date. The caller and
 * its permissions have already been read from current data.
 */
export async function listBehind<T>(
  store: Store,
  context: Context,
  list: (context: Context) => Promise<T>,
): Promise<T> {
  const { operation, environment, epoch } = context
  const { effect, result } = operation
  if (store.readBehind === undefined || effect !== 'read' || result !== 'page') return list(context)
  const [behind, listed] = await store.readBehind((tx) =>
    Promise.all([environment === 'sandbox' ? readTimes(tx) : undefined, list({ ...context, tx })]),
  )
  // If the caller and the list were read from different worlds, the list is read again from current data.
  return behind === undefined || behind.epoch === epoch ? listed : list(context)
}
