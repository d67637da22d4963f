import { keepNewest } from '../../core/bounded-map.ts'
import { Failure } from '../../core/errors.ts'
import { type System, sha256 } from '../../core/system.ts'
import type { PartyStatus } from '../rules/parties.ts'
import { chainEndAt } from '../store/activity.ts'
import { readTimes } from '../store/clock.ts'
import { type CommandRows, commandRows } from '../store/command-rows.ts'
import type { CredentialLookup } from '../store/credentials.ts'
import { runAndSaveEarlierRows, runOnEarlierRows } from '../store/earlier-states.ts'
import type { Store, Transaction } from '../store/engine/store.ts'
import { type RootKeys, rootKeys } from '../store/root-keys.ts'
import { recordActivity } from './activity.ts'
import { type Moment, momentOf, readMoment, readTimesAndRows, type Settling } from './due-effects.ts'
import { type Context, listBehind } from './handler.ts'
import { type Claim, claim, claimName, notRecordedCode, recordOf, recordUnresolved } from './idempotency.ts'
import type { Done, Parsed, Phase } from './phases.ts'
import { type Reply, refusal, success } from './reply.ts'
import { findPartyStatus, refusedWhileStopped, requireNotStopped } from './stopped-parties.ts'

/*
 * In a command's transaction, the following happens in addition to the reads and writes of the command's handler:
 * - `pipeline.ts` reads the time and the credential. `readAhead` locks the party and reads the rows that every command
 *   needs.
 * - `handleOnce` writes the answer for repeats of the command, and the activity row. The last statements write events
 *   and postings.
 */

/**
 * The party that a request probably acts on, and the request's idempotency key. Authentication and parsing later
 * confirm or correct the party.
 */
export interface Expected {
  partyId: string
  key: string
}

/**
 * The maximum number of credentials whose party is remembered. For any other credential, the transaction looks up the
 * party.
 */
const maxParties = 10_000

/**
 * Runs a command's transaction. Until the party is known, assumes the party that the credential's previous command
 * acted on.
 */
export async function transact(
  { store, parties }: { store: Store; parties: Map<string, string> },
  { operation, incoming: { headers }, pageActor }: Phase,
  { inOwnTransaction }: Settling,
  work: (tx: Transaction, expected: Expected | undefined) => Promise<Done>,
): Promise<Done> {
  const credential = sha256(headers.get('authorization') ?? '')
  const partyId = pageActor?.partyId ?? parties.get(credential)
  const key = operation.idempotency === 'required' ? headers.get('idempotency-key') : null
  const expected = partyId === undefined || key === null ? undefined : { partyId, key }
  const alone = operation.alone === true
  const committed = await store.transaction((tx) => work(tx, expected), {
    alone,
    partyId: alone ? undefined : partyId,
    // A transaction that applies due effects must be able to read its own writes. Therefore, it does not share a
    // database transaction with other requests.
    kind: inOwnTransaction ? undefined : operation.name,
    claim: expected && claimName(expected.partyId, expected.key),
  })
  keepNewest(parties, credential, committed.context.partyId, maxParties)
  return committed
}

/** The reads that every command needs in addition to the reads of its handler. They happen under the party's lock. */
export interface EarlyReads {
  partyId: string
  locked: Promise<void>
  rows: Promise<CommandRows>
  keys: Promise<RootKeys>
}

/**
 * Locks the party and reads the rows that every command needs. Until the transaction ends, the lock prevents other
 * requests from adding to the party's idempotency keys or activity.
 */
export function readAhead(tx: Transaction, expected: Expected, credential?: CredentialLookup): EarlyReads {
  const { partyId, key } = expected
  const locked = tx.lockParty(partyId)
  const rows = commandRows(tx, { partyId, key: sha256(key), credential })
  return ignoreFailures({ partyId, locked, rows, keys: tx.shared(rootKeys) })
}

/** Begins the reads that do not depend on other reads: the time, and the rows that the command most likely needs. */
export function readFirst(
  tx: Transaction,
  expected: Expected | undefined,
  credential: CredentialLookup | undefined,
): { reading: Promise<Moment>; early: EarlyReads | undefined } {
  if (expected === undefined || tx.dialect === 'postgres') {
    return { reading: tx.shared(readMoment), early: expected && readAhead(tx, expected, credential) }
  }
  const { partyId, key } = expected
  const { times, rows } = readTimesAndRows(tx, { partyId, key: sha256(key), credential })
  const early = ignoreFailures({ partyId, locked: tx.lockParty(partyId), rows, keys: tx.shared(rootKeys) })
  return { reading: times.then(momentOf), early }
}

/**
 * Prevents unhandled rejections. If a request is refused before it awaits one of these reads, that read may still fail.
 * Code that awaits a read still gets its error.
 */
function ignoreFailures(ahead: EarlyReads): EarlyReads {
  for (const reading of [ahead.locked, ahead.rows, ahead.keys]) reading.catch(() => {})
  return ahead
}

/**
 * Returns the answer that is recorded under the request's idempotency key. If no answer is recorded, handles the
 * request, and records the answer in the same transaction as the request's changes.
 */
export async function handleOnce(
  parsed: Parsed,
  { ownClaim, earliestMs, ahead }: { ownClaim: Claim; earliestMs: number; ahead: EarlyReads },
): Promise<Reply> {
  const { context, values } = parsed
  const { tx, actor, partyId } = context
  const [{ status, record: earlier, head }, keys] = await Promise.all([ahead.rows, ahead.keys])
  const claimed = claim(tx, ownClaim, { record: earlier, keys }, { earliestMs })
  // Commands on one party run one after another. They share the party's wallets, so in parallel they would conflict and
  // have to run again.
  await ahead.locked
  if ('replay' in claimed) return claimed.replay
  // The party is locked, so no other request can add to its chain of activity rows.
  const end = partyId === actor.partyId ? await chainEndAt(tx, partyId, head, keys) : undefined
  try {
    const attempt = { ...context, attempt: claimed.attempt }
    const reply = await tx.savepoint(() => handle(parsed, attempt, status))
    await recordActivity(context, values, reply, { end, record: recordOf(context, ownClaim, reply, keys) })
    return reply
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const reply = refusal(error, parsed.supportId)
    if (error.retryable) await recordUnresolved(tx, ownClaim)
    else if (error.code !== notRecordedCode) {
      const record = recordOf(context, ownClaim, reply, keys)
      if (record !== undefined) await recordActivity(context, values, reply, { end, record })
    }
    return reply
  }
}

/** Handles a read, or a command that needs no idempotency key because repeating it has no further effect. */
export async function handleKeyless(store: Store, parsed: Parsed): Promise<Pick<Done, 'reply' | 'at'>> {
  const { operation, context, values, plan } = parsed
  const carryOut = (where: Context) => handle(parsed, where)
  const isStale = plan.fault?.kind === 'stale'
  const reply = await (isStale ? carryOut(context) : listBehind(store, context, carryOut))
  // If the request replaced the sandbox's world, the request's activity row belongs to the new world and has the new
  // world's time.
  const { nowMs, epoch } = operation.alone === true ? await readTimes(context.tx) : context
  await recordActivity({ ...context, nowMs, epoch }, values, reply)
  return { reply, at: { nowMs, epoch } }
}

/**
 * Handles a request. With the fault `stale`, the request reads the party's records as they were before their last
 * change. Without this fault, it reads the current records.
 */
async function handle(
  { operation, carryOut, plan, values }: Parsed,
  context: Context,
  status?: PartyStatus,
): Promise<Reply> {
  if ('failure' in values) throw values.failure
  const { tx, partyId } = context
  if (refusedWhileStopped.has(operation.name)) await requireBothActive(context, status)
  const carriedOut = async () => success(operation, await carryOut(values.input as never, context))
  if (plan.fault?.kind === 'stale') return runOnEarlierRows(tx, partyId, carriedOut)
  // No earlier state is stored for requests that manage the sandbox, such as a reset.
  if (operation.effect === 'read' || operation.permission === 'sandbox.manage') return carriedOut()
  return runAndSaveEarlierRows(tx, () => partiesOf(values.input, context), carriedOut)
}

/**
 * Requires that the caller's party and the party that the request acts on are both active.
 * @throws 403 `forbidden` if either is not active.
 */
async function requireBothActive(
  { tx, operation, actor, partyId }: Context,
  status: PartyStatus | undefined,
): Promise<void> {
  const acting = partyId === actor.partyId ? undefined : findPartyStatus(tx, actor.partyId)
  requireNotStopped(status ?? (await findPartyStatus(tx, partyId)), partyId, operation.name)
  if (acting !== undefined) requireNotStopped(await acting, actor.partyId, operation.name)
}

/**
 * Returns the ids of parties whose records the request may change: the caller's party, the party that the request acts
 * on, and the parties whose ids are in the request's input. Returns at most `maxPartiesPerRequest` ids.
 */
function partiesOf(input: object, { partyId, actor }: Context): string[] {
  const mentioned = JSON.stringify(input).match(/\bpty_[0-9a-f]{32}\b/g) ?? []
  return [...new Set([partyId, actor.partyId, ...mentioned])].slice(0, maxPartiesPerRequest)
}

/** The maximum number of parties whose earlier records are stored for one request. */
const maxPartiesPerRequest = 20

/** Records a command's unexpected failure under the command's idempotency key, in a separate transaction. */
export async function recordFailure(
  { store, system }: { store: Store; system: System },
  { context, values }: Parsed,
  ownClaim: Claim,
  reply: Reply,
): Promise<void> {
  await store.transaction(async (tx) => {
    const ahead = readAhead(tx, ownClaim)
    const { nowMs, earliestMs } = await readTimes(tx)
    const [{ record: earlier }, keys] = await Promise.all([ahead.rows, ahead.keys, ahead.locked])
    if ('replay' in claim(tx, ownClaim, { record: earlier, keys }, { earliestMs })) return
    const record = recordOf({ system, nowMs, operation: context.operation }, ownClaim, reply, keys)
    await recordActivity({ ...context, tx }, values, reply, { record })
  })
}
