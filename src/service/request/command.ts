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
 * A command's transaction does the following, in addition to what its handler reads and writes:
 * - `pipeline.ts` reads the time and the credential. `readAhead` locks the party and reads the rows that every command
 *   needs.
 * - `handleOnce` writes the recorded answer and the activity row. The last statements write events and postings.
 */

/**
 * The party and idempotency key that a request probably has. Authentication and parsing later confirm or correct this.
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
 * Runs a command's transaction. It expects the credential to act on the same party as in the credential's previous
 * command.
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
    // A transaction that applies due effects must see its own writes, so it is not shared with other requests.
    kind: inOwnTransaction ? undefined : operation.name,
    claim: expected && claimName(expected.partyId, expected.key),
  })
  keepNewest(parties, credential, committed.context.partyId, maxParties)
  return committed
}

/** The reads that every command needs in addition to those of its handler. They happen under the party's lock. */
export interface EarlyReads {
  partyId: string
  locked: Promise<void>
  rows: Promise<CommandRows>
  keys: Promise<RootKeys>
}

/**
 * Locks the party and reads the rows that every command needs. Because of the lock, no other request can meanwhile add
 * to the party's idempotency keys or activity.
 */
export function readAhead(tx: Transaction, expected: Expected, credential?: CredentialLookup): EarlyReads {
  const { partyId, key } = expected
  const locked = tx.lockParty(partyId)
  const rows = commandRows(tx, { partyId, key: sha256(key), credential })
  return ignoreFailures({ partyId, locked, rows, keys: tx.shared(rootKeys) })
}

/** Begins the reads that need no earlier result: the time, and the rows that the command most likely needs. */
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
 * Keeps failed reads from becoming unhandled rejections if a refused request no longer awaits them. Code that does
 * await a read still gets its error.
 */
function ignoreFailures(ahead: EarlyReads): EarlyReads {
  for (const reading of [ahead.locked, ahead.rows, ahead.keys]) reading.catch(() => {})
  return ahead
}

/**
 * Replays the answer recorded under the request's key. If there is none, handles the request and records its answer
 * in the same transaction as its effect.
 */
export async function handleOnce(
  parsed: Parsed,
  { ownClaim, earliestMs, ahead }: { ownClaim: Claim; earliestMs: number; ahead: EarlyReads },
): Promise<Reply> {
  const { context, values } = parsed
  const { tx, actor, partyId } = context
  const [{ status, record: earlier, head }, keys] = await Promise.all([ahead.rows, ahead.keys])
  const claimed = claim(tx, ownClaim, { record: earlier, keys }, { earliestMs })
  // Commands on one party run in sequence: they share its wallets, and would otherwise conflict and run again.
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
  // If the request replaced the world, its activity row is added to the new world, at the new world's time.
  const { nowMs, epoch } = operation.alone === true ? await readTimes(context.tx) : context
  await recordActivity({ ...context, nowMs, epoch }, values, reply)
  return { reply, at: { nowMs, epoch } }
}

/**
 * Handles a request. With the fault `stale`, it reads the party's records as they were before the last change;
 * otherwise, the current records.
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

/** Requires that the acting party and the party acted on are both active. @throws 403 `forbidden` if one is not. */
async function requireBothActive(
  { tx, operation, actor, partyId }: Context,
  status: PartyStatus | undefined,
): Promise<void> {
  const acting = partyId === actor.partyId ? undefined : findPartyStatus(tx, actor.partyId)
  requireNotStopped(status ?? (await findPartyStatus(tx, partyId)), partyId, operation.name)
  if (acting !== undefined) requireNotStopped(await acting, actor.partyId, operation.name)
}

/**
 * Returns the parties whose records the request may change: the acting party, the party acted on, and all parties whose
 * ids are in its input.
 */
function partiesOf(input: object, { partyId, actor }: Context): string[] {
  const mentioned = JSON.stringify(input).match(/\bpty_[0-9a-f]{32}\b/g) ?? []
  return [...new Set([partyId, actor.partyId, ...mentioned])].slice(0, maxPartiesPerRequest)
}

/** The maximum number of parties in one request. */
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
