import { Failure } from '../../core/errors.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import type { PartyStatus } from '../rules/parties.ts'
import { type ChainEnd, chainEnd } from '../store/activity.ts'
import { keepingEarlier, readingEarlier } from '../store/earlier-states.ts'
import type { Transaction } from '../store/engine/store.ts'
import { recordActivity } from './activity.ts'
import type { Context } from './handler.ts'
import {
  type Claim,
  claim,
  type Earlier,
  notRecordedCode,
  readEarlier,
  record,
  recordUnresolved,
} from './idempotency.ts'
import type { Parsed } from './incoming.ts'
import { type Reply, refusal, success } from './reply.ts'
import type { Expected, RequestContext } from './request-context.ts'
import { refusedWhileStopped, requireStanding, standingOf } from './standing.ts'

/** What a command needs of its party besides its own records, read under the party's lock. */
export interface Ahead {
  partyId: string
  locked: Promise<void>
  earlier: Promise<Earlier>
  /** Undefined where the operation does not depend on it. */
  standing: Promise<PartyStatus> | undefined
  end: Promise<ChainEnd>
}

export function readAhead(tx: Transaction, { partyId, key }: Expected, { name }: OperationDefinition): Ahead {
  const locked = tx.lockParty(partyId)
  const standing = refusedWhileStopped.has(name) ? standingOf(tx, partyId) : undefined
  const ahead = { partyId, locked, earlier: readEarlier(tx, partyId, key), end: chainEnd(tx, partyId), standing }
  // Whoever is refused before it is looked at leaves them behind.
  for (const reading of [ahead.locked, ahead.earlier, ahead.end, standing]) reading?.catch(() => {})
  return ahead
}

/** Handles the request unless its key already has an answer, and records the answer with the effect. */
export async function handleOnce(
  request: RequestContext,
  parsed: Parsed,
  context: Context,
  { mine, earliestMs, read }: { mine: Claim; earliestMs: number; read: Ahead },
): Promise<Reply> {
  const { tx, actor, partyId } = context
  const earlier = await read.earlier
  const claimed = claim(tx, mine, earlier, { earliestMs })
  // Commands on one party run one after another: they share its wallets, and would only redo each other's work.
  await read.locked
  if ('replay' in claimed) return claimed.replay
  // The chain of the party that is locked is nobody else's now.
  const end = partyId === actor.partyId ? await read.end : undefined
  try {
    const attempt = { ...context, attempt: claimed.attempt }
    const reply = await tx.savepoint(() => handle(request, parsed, attempt, read.standing))
    await record(context, mine, reply, earlier.keys)
    await recordActivity(context, parsed, reply, end)
    return reply
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const reply = refusal(error, request.supportId)
    if (error.retryable) await recordUnresolved(tx, mine)
    else if (error.code !== notRecordedCode) {
      if (await record(context, mine, reply, earlier.keys)) await recordActivity(context, parsed, reply, end)
    }
    return reply
  }
}

/** Carries it out: at the moment that it came at, or, where it is to see what is stale, before the party's last change. */
export async function handle(
  request: RequestContext,
  parsed: Parsed,
  context: Context,
  standing?: Promise<PartyStatus>,
): Promise<Reply> {
  if ('failure' in parsed) throw parsed.failure
  const { operation, carryOut, plan } = request
  const { tx, partyId } = context
  if (refusedWhileStopped.has(operation.name)) await requireAllStanding(context, standing)
  const carriedOut = async () => success(operation, await carryOut(parsed.input as never, context))
  if (plan.fault?.kind === 'stale') return readingEarlier(tx, partyId, carriedOut)
  // A reset is no change of a party's: nothing is earlier than it.
  if (operation.effect === 'read' || operation.permission === 'sandbox.manage') return carriedOut()
  return keepingEarlier(tx, () => partiesOf(parsed.input, context), carriedOut)
}

/** Neither the party acted on nor the one that acts is stopped. @throws 403 `forbidden`. */
async function requireAllStanding(
  { tx, operation, actor, partyId }: Context,
  standing: Promise<PartyStatus> = standingOf(tx, partyId),
): Promise<void> {
  const acting = partyId === actor.partyId ? undefined : standingOf(tx, actor.partyId)
  requireStanding(await standing, partyId, operation.name)
  if (acting !== undefined) requireStanding(await acting, actor.partyId, operation.name)
}

/** Whose records it may change: a request that names another party may change what is that one's. */
function partiesOf(input: object, { partyId, actor }: Context): string[] {
  const named = JSON.stringify(input).match(/\bpty_[0-9a-f]{32}\b/g) ?? []
  return [...new Set([partyId, actor.partyId, ...named])].slice(0, mostParties)
}

/** More than a request names. */
const mostParties = 20
