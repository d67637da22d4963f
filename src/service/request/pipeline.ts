import { catalogue, type OperationKey } from '../../../tools/index.ts'
import type { Logger } from '../../config/log.ts'
import { Failure } from '../../core/errors.ts'
import { ConnectionCutError } from '../../core/faults.ts'
import { newId } from '../../core/system.ts'
import type { ReportEntry } from '../rules/runs.ts'
import type { Times } from '../store/clock.ts'
import { StoreBusyError, type Transaction } from '../store/engine/store.ts'
import type { AccessTokenClaims } from '../tokens/signed-tokens.ts'
import { applyChangedAnswer, settleAfterwards } from './after-commit.ts'
import { authenticate, keyLookup } from './authentication.ts'
import { entriesToReport, noteCall } from './call-entries.ts'
import { withChallenge } from './challenge-header.ts'
import { type Expected, handleKeyless, handleOnce, readAhead, readFirst, recordFailure, transact } from './command.ts'
import { requireSettled, type Settling, whenSettled } from './due-effects.ts'
import { type AuthenticationDependencies, authenticateEarly, verifyToken } from './early-authentication.ts'
import { type FaultDependencies, requirePlanned, whenPlanned } from './faults.ts'
import type { Handlers } from './handler.ts'
import type { LastUses } from './last-use.ts'
import { logAnswer } from './log-answer.ts'
import { type Actor, requirePermission, resolveCause, resolveParty } from './permission-checks.ts'
import type { Arrived, Done, Known, Parsed, Phase, Progress } from './phases.ts'
import type { RateLimit } from './rate-limit.ts'
import { isSuccess, type Reply, refusal, requestId } from './reply.ts'
import {
  fingerprint,
  type Incoming,
  namedCustomer,
  parseRequest,
  type RequestHeaders,
  readAgentHeader,
  readHeaders,
  type Unread,
  withBody,
} from './request-parsing.ts'
import type { RunLog } from './run-log.ts'
import { requireManager } from './sandbox-manager.ts'
import type { WaitingRequests } from './waiting-requests.ts'

export interface Dependencies extends AuthenticationDependencies, Pick<FaultDependencies, 'ending'> {
  handlers: Handlers
  rateLimit: (keyId: string) => Promise<RateLimit>
  lastUses: LastUses
  waits: WaitingRequests
  runLog: RunLog
  reportEntry: ReportEntry
  /** The party that each credential's last command acted on, by the hash of the credential. */
  parties: Map<string, string>
  publicUrl: () => string
  log: Logger
}

/** An answer, with the party that the request acted on and the request's credential, if they are known. */
export interface Answered extends Reply {
  by: { partyId: string; keyId: string } | undefined
  reached: Phase
}

interface AnswerOptions {
  /** The signed-in user of a page of the service; undefined for API requests. */
  pageActor?: Actor | undefined
  /** Aborts when the client disconnects. */
  gone?: AbortSignal | undefined
  /** Whether a long poll repeats a request that was already answered. */
  isRepeated?: boolean
  /** Whether the caller of `answer` adds the request to its run, so that `answer` does not. */
  isNoted?: boolean
}

/**
 * Answers a request. Every request goes through this function. In one transaction, it authenticates the caller, checks
 * the permission, parses the values, calls the handler and records the result (`inTransaction`). Every failure becomes
 * an answer.
 * @throws ConnectionCutError if a fault of the sandbox leaves the request unanswered. It throws nothing else.
 */
export async function answer(
  dependencies: Dependencies,
  key: OperationKey,
  incoming: Incoming | Unread,
  options: AnswerOptions = {},
): Promise<Answered> {
  const { system, log } = dependencies
  const { gone, isRepeated = false, isNoted = isRepeated } = options
  const beganAtMs = system.elapsed()
  const progress: Progress = { reached: arrive(dependencies, key, incoming, options), limit: undefined }
  const { supportId } = progress.reached
  const note = (last: Reply | undefined) => {
    const isMine = !isNoted || (last === undefined && !isRepeated)
    if (isMine) noteCall(dependencies, progress.reached, last, system.elapsed() - beganAtMs)
  }
  let reply = await replyTo(dependencies, progress, gone)
  const { reached, limit } = progress
  const { timeMoved, changedAnswer, isCovered } = 'context' in reached ? reached.context.afterCommit : {}
  if (timeMoved === true) {
    // The call is noted before the due effects are applied, so that its entry comes before the entries of the effects.
    note(reply)
    await settleAfterwards(dependencies, supportId)
  }
  if (reply !== undefined && changedAnswer !== undefined)
    reply = await applyChangedAnswer(dependencies, changedAnswer, reply, { supportId, gone })
  const ms = system.elapsed() - beganAtMs
  if (timeMoved !== true) note(reply)
  if (reply !== undefined && isSuccess(reply))
    for (const entry of entriesToReport(reached)) dependencies.reportEntry(entry)
  if (reply === undefined) throw new ConnectionCutError()
  logAnswer(log, reached, reply, ms)
  const by = 'context' in reached ? { partyId: reached.context.partyId, keyId: reached.actor.keyId } : undefined
  const headers = { ...reply.headers, ...limit?.headers, ...requestId(supportId) }
  return { ...reply, by, reached, headers, isCovered }
}

function arrive(
  { handlers, system, environment }: Dependencies,
  key: OperationKey,
  incoming: Incoming | Unread,
  { pageActor, isRepeated }: AnswerOptions,
): Arrived {
  // No fault hits a page's request. A fault can hit the first read of a long poll, but not its later reads.
  const mayMeetFaults = pageActor === undefined && isRepeated !== true && environment === 'sandbox'
  return {
    operation: catalogue[key],
    carryOut: handlers[key] as Arrived['carryOut'],
    incoming,
    supportId: newId('req', system, system.now()),
    pageActor,
    plan: { fault: mayMeetFaults ? incoming.fault : null },
  }
}

/** Returns the answer or refusal; undefined if a fault leaves the request unanswered. */
async function replyTo(
  dependencies: Dependencies,
  progress: Progress,
  gone: AbortSignal | undefined,
): Promise<Reply | undefined> {
  const arrived = progress.reached
  const { operation, incoming, plan } = arrived
  try {
    const claims = await verifyToken(dependencies, incoming.headers.get('authorization'))
    const isAdmittedFirst = 'read' in incoming || operation.alone === true
    const keyId = isAdmittedFirst ? (await admit(dependencies, progress)).keyId : ''
    const whole = {
      ...arrived,
      incoming: 'read' in incoming ? withBody(incoming, await incoming.read(keyId)) : incoming,
    }
    progress.reached = { ...progress.reached, incoming: whole.incoming }
    return await whenPlanned(dependencies, plan, gone, () =>
      whenSettled(dependencies, (settling) => attempt(dependencies, progress, { arrived: whole, claims, settling })),
    )
  } catch (error) {
    return error instanceof ConnectionCutError ? undefined : refuse(dependencies, progress.reached, error)
  }
}

/** Checks the caller before the request's transaction, which later repeats all these checks except the rate limit. */
async function admit(dependencies: Dependencies, progress: Progress): Promise<Actor> {
  const { pageActor, operation, incoming } = progress.reached
  const actor = pageActor ?? (await authenticateEarly(dependencies, incoming.headers.get('authorization')))
  progress.reached = { ...progress.reached, actor, at: undefined }
  await requireWithinLimit(dependencies, progress, actor)
  if (operation.alone === true) await dependencies.store.read((tx) => requireManager(tx, actor))
  return actor
}

/** One attempt to answer a request whose body has arrived. */
interface Attempt {
  arrived: Arrived & { incoming: Incoming }
  /** The claims of the request's credential if it is a signed token that is valid now. */
  claims: AccessTokenClaims | undefined
  settling: Settling
  expected?: Expected | undefined
}

async function attempt(dependencies: Dependencies, progress: Progress, call: Attempt): Promise<Reply> {
  const { arrived, settling } = call
  const { operation, plan } = arrived
  const onlyReads = operation.effect === 'read' && !settling.inOwnTransaction && plan.fault?.kind !== 'stale'
  const work = (tx: Transaction, expected?: Expected) =>
    inTransaction(dependencies, progress, tx, { ...call, expected })
  const reached = await (onlyReads
    ? dependencies.store.read((tx) => work(tx))
    : transact(dependencies, arrived, settling, work))
  progress.reached = { ...reached, posted: reached.posted.filter(({ byDueEffect }) => !byDueEffect) }
  return reached.reply
}

/** Runs the steps of a request within its transaction. */
async function inTransaction(
  dependencies: Dependencies,
  progress: Progress,
  tx: Transaction,
  call: Attempt,
): Promise<Done> {
  const { store, system, lastUses } = dependencies
  const { operation, incoming, plan } = call.arrived
  const { environment, localCredentials: local } = dependencies
  const lookup =
    call.arrived.pageActor === undefined
      ? keyLookup(incoming.headers.get('authorization'), { environment, local })
      : undefined
  const { reading, early } = readFirst(tx, call.expected, lookup)
  const identified = await identify(dependencies, tx, call, { reading, early })
  progress.reached = identified
  const moment = await reading
  const { actor } = identified
  lastUses.note(actor, moment.times)
  await requireWithinLimit(dependencies, progress, actor)
  requirePermission(actor, operation)
  if (operation.permission === 'sandbox.manage') await requireManager(tx, actor)
  const headers = readHeaders(operation, incoming.headers, actor.actorType === 'agent')
  const subject = { path: incoming.path, operation, actor, instanceId: headers.instanceId, door: 'api' as const }
  await requirePlanned(tx, plan, moment, { ...subject, headers: incoming.headers })
  const parsed = await parse(dependencies, tx, identified, moment.times, incoming, headers)
  const { partyId } = parsed.context
  await requireSettled(tx, system, moment, [actor.partyId, partyId], call.settling)
  progress.reached = parsed
  const { claim: ownClaim } = parsed
  const posted = tx.journal.postings
  if (ownClaim === undefined) return { ...parsed, ...(await handleKeyless(store, parsed)), posted }
  const ahead = early?.partyId === partyId ? early : readAhead(tx, ownClaim)
  return {
    ...parsed,
    reply: await handleOnce(parsed, { ownClaim, earliestMs: moment.times.earliestMs, ahead }),
    posted,
  }
}

async function identify(
  { environment, localCredentials }: Dependencies,
  tx: Transaction,
  { arrived, claims }: Attempt,
  { reading, early }: ReturnType<typeof readFirst>,
): Promise<Known> {
  const times = reading.then((moment) => moment.times)
  // A request without a credential is refused before anything awaits `times`. Without this line, a failure to read the
  // times would then be an unhandled rejection.
  times.catch(() => {})
  const authority = { environment, local: localCredentials, times, claims, ahead: early?.rows }
  const authorization = arrived.incoming.headers.get('authorization')
  const [actor, { nowMs, epoch }] = await Promise.all([
    arrived.pageActor ?? authenticate(tx, authorization, authority),
    times,
  ])
  return { ...arrived, actor, at: { nowMs, epoch } }
}

/** Counts the request unless it is already counted. @throws 429 `rate_limited` if it exceeds the credential's limit. */
async function requireWithinLimit({ rateLimit }: Dependencies, progress: Progress, { keyId }: Actor): Promise<void> {
  const isCounted = progress.reached.incoming.isCounted === true
  progress.limit ??= isCounted ? { headers: {}, failure: undefined } : await rateLimit(keyId)
  if (progress.limit.failure !== undefined) throw progress.limit.failure
}

/** Parses the values, and finds the party that the request acts on and the agent that caused the request. */
async function parse(
  { environment, system, publicUrl, lastUses }: Dependencies,
  tx: Transaction,
  identified: Known,
  { nowMs, epoch }: Times,
  incoming: Incoming,
  { idempotencyKey: key, instanceId }: RequestHeaders,
): Promise<Parsed> {
  const { operation, actor } = identified
  const causeAgentId = await resolveCause(tx, actor, readAgentHeader(operation, incoming.headers))
  const values = parseRequest(operation, incoming)
  const partyId = await resolveParty(tx, actor, operation, namedCustomer(operation, incoming, values))
  const claim = key === undefined ? undefined : { partyId, key, fingerprint: fingerprint(incoming, actor.agentId) }
  const subject = { operation, actor, partyId, instanceId, causeAgentId }
  const means = { tx, system, environment, publicUrl, lastUses }
  // Each run of the transaction starts with these values.
  const afterCommit = { timeMoved: false, changedAnswer: undefined, reportedEntries: [], isCovered: undefined }
  return {
    ...identified,
    values,
    claim,
    context: { ...means, ...subject, nowMs, epoch, attempt: 'first', afterCommit },
  }
}

/** Returns the answer to a request that failed with this error. Records an unexpected failure for later repeats. */
async function refuse(dependencies: Dependencies, reached: Phase, error: unknown): Promise<Reply> {
  const { log, publicUrl } = dependencies
  const { supportId, incoming } = reached
  if (error instanceof Failure) {
    return withChallenge(refusal(error, supportId), error, publicUrl(), incoming.headers.has('authorization'))
  }
  if (error instanceof StoreBusyError) {
    log.warn({ supportId, err: error }, 'the database could not take the request')
    return refusal(new Failure('service_unavailable'), supportId)
  }
  log.error({ supportId, err: error }, 'a request failed unexpectedly')
  const reply = refusal(new Failure('server_error'), supportId)
  if (!('claim' in reached) || reached.claim === undefined) return reply
  try {
    await recordFailure(dependencies, reached, reached.claim, reply)
  } catch (recordError) {
    log.error({ supportId, err: recordError }, 'a failure could not be recorded under its idempotency key')
  }
  return reply
}
