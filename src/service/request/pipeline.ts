import { catalogue, type OperationKey } from '../../../tools/index.ts'
import type { Logger } from '../../config/log.ts'
import { keepNewest } from '../../core/bounded-map.ts'
import { Failure } from '../../core/errors.ts'
import { ConnectionCutError } from '../../core/faults.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { newId, sha256 } from '../../core/system.ts'
import type { Tell, Told } from '../rules/runs.ts'
import { readTimes } from '../store/clock.ts'
import { StoreBusyError, type Transaction } from '../store/engine/store.ts'
import { recordActivity } from './activity.ts'
import { type Actor, requirePermission, resolveCause, resolveParty } from './actor.ts'
import { type Admission, actorNow, claimsIn } from './admission.ts'
import { authenticate } from './authenticate.ts'
import { challenged } from './challenged.ts'
import { readMoment, requireSettled, type Settling, settleDue, whenSettled } from './due.ts'
import { type FaultDependencies, requirePlanned, whenPlanned } from './faults.ts'
import { handle, handleOnce, readAhead } from './handle-once.ts'
import { type Context, type Handlers, listBehind, type OtherAnswer } from './handler.ts'
import { claim, claimName, readEarlier, record } from './idempotency.ts'
import {
  fingerprint,
  type Incoming,
  namedCustomer,
  parseRequest,
  readAgentHeader,
  readHeaders,
  type Unread,
  withBody,
} from './incoming.ts'
import type { LastUses } from './last-use.ts'
import { logAnswer } from './log-answer.ts'
import { requireManager } from './manager.ts'
import { noteCall, toldOf } from './note-call.ts'
import type { RateLimit } from './rate-limit.ts'
import { isSuccess, type Reply, refusal, requestId } from './reply.ts'
import type { RequestContext } from './request-context.ts'
import type { RunLog } from './run-log.ts'
import type { Waits } from './waits.ts'

export interface Dependencies extends Admission, Pick<FaultDependencies, 'ending'> {
  handlers: Handlers
  rateLimit: (keyId: string) => Promise<RateLimit>
  lastUses: LastUses
  waits: Waits
  runLog: RunLog
  tell: Tell
  /** By the hash of a credential, the party that a command with it was last about. */
  parties: Map<string, string>
  publicUrl: () => string
  log: Logger
}

/** An answer, and with which credential it was asked about which party; undefined where that did not come out. */
export interface Answered extends Reply {
  by: { partyId: string; keyId: string } | undefined
  request: RequestContext
}

interface AnswerOptions {
  /** Who asks, where a page of the service knows it without a credential; no request from outside has one. */
  known?: Actor | undefined
  /** Aborts when nobody waits for the answer any more. */
  gone?: AbortSignal | undefined
  /** It looks again at what it answered before. */
  isRepeated?: boolean
  /** Whoever asks notes what came of it. */
  isNoted?: boolean
}

/** Whose requests are expected: with more credentials at once, the rest find their party when they are looked at. */
const mostParties = 10_000

/**
 * The one way in: authenticate, rate limit, permission, headers, parse, then claim or replay the key, handle and
 * record, all in one transaction. A body that is large is read only for whoever passes the first two; they are asked
 * again in the transaction, but for the limit. Whatever fails is an answer.
 * @throws ConnectionCutError where a fault of the sandbox leaves it unanswered, and nothing else.
 */
export async function answer(
  dependencies: Dependencies,
  key: OperationKey,
  incoming: Incoming | Unread,
  { known, gone, isRepeated = false, isNoted = isRepeated }: AnswerOptions = {},
): Promise<Answered> {
  const { store, system, log, handlers } = dependencies
  const beganAtMs = system.elapsed()
  const supportId = newId('req', system, system.now())
  const operation: OperationDefinition = catalogue[key]
  const carryOut = handlers[key] as RequestContext['carryOut']
  // What a page does is no request of the API's, and what looks again is the request that it was.
  const mayMeetFaults = known === undefined && !isRepeated && dependencies.environment === 'sandbox'
  const plan = { fault: mayMeetFaults ? incoming.fault : null }
  const request: RequestContext = {
    operation,
    carryOut,
    incoming,
    supportId,
    claims: undefined,
    known,
    plan,
    posted: [],
  }
  const note = (last: Reply | undefined) => {
    const isMine = !isNoted || (last === undefined && !isRepeated)
    if (isMine) noteCall(dependencies, request, last, system.elapsed() - beganAtMs)
  }
  let reply: Reply | undefined
  try {
    request.claims = await claimsIn(dependencies, incoming.headers.get('authorization'))
    // Whoever makes all others wait, or sends much, is looked up before.
    const admitted = 'read' in incoming || operation.alone === true ? await admit(dependencies, request) : undefined
    const read = 'read' in incoming ? withBody(incoming, await incoming.read(admitted?.keyId ?? '')) : incoming
    request.incoming = read
    const work = (settling: Settling) => (tx: Transaction) => pass(dependencies, tx, request, read, settling)
    const settled = (settling: Settling) =>
      operation.effect === 'read' && !settling.here && request.plan.fault?.kind !== 'stale'
        ? store.read(work(settling))
        : command(dependencies, request, read, work(settling), settling)
    reply = await whenPlanned(dependencies, request.plan, gone, () => whenSettled(dependencies, settled))
  } catch (error) {
    if (!(error instanceof ConnectionCutError)) reply = await refuse(dependencies, request, error)
  }
  if (request.timeMoved === true) {
    // What happens by that comes behind it.
    note(reply)
    await settleAfterwards(dependencies, supportId)
  }
  if (reply !== undefined && request.otherwise !== undefined)
    reply = await answeredOtherwise(dependencies, request.otherwise, reply, { supportId, gone })
  const ms = system.elapsed() - beganAtMs
  if (request.timeMoved !== true) note(reply)
  if (reply !== undefined && isSuccess(reply)) for (const told of toldOf(request)) dependencies.tell(told)
  if (reply === undefined) throw new ConnectionCutError()
  logAnswer(log, request, reply, ms)
  const acted = request.handled?.context
  const by = acted && { partyId: acted.partyId, keyId: acted.actor.keyId }
  return { ...reply, by, request, headers: { ...reply.headers, ...request.limit?.headers, ...requestId(supportId) } }
}

/** A transaction for what is most likely asked for: by whom, and under which key. */
async function command(
  { store, parties }: Dependencies,
  request: RequestContext,
  { headers }: Incoming,
  work: (tx: Transaction) => Promise<Reply>,
  settling: Settling,
): Promise<Reply> {
  const credential = sha256(headers.get('authorization') ?? '')
  const partyId = request.known?.partyId ?? parties.get(credential)
  const key = request.operation.idempotency === 'required' ? headers.get('idempotency-key') : null
  request.expected = partyId === undefined || key === null ? undefined : { partyId, key }
  const alone = request.operation.alone === true
  const reply = await store.transaction(work, {
    alone,
    partyId: alone ? undefined : partyId,
    // What lets happen what is due, too, has to see what it wrote: that once it is not for sharing.
    kind: settling.here ? undefined : request.operation.name,
    claim: request.expected && claimName(request.expected.partyId, request.expected.key),
  })
  request.posted = request.postings?.filter(({ byItself }) => !byItself) ?? []
  const acted = request.handled?.context
  if (acted !== undefined) keepNewest(parties, credential, acted.partyId, mostParties)
  return reply
}

const notCounted: RateLimit = { headers: {}, failure: undefined }

/** Lets go on whose credential is good and who may send one more request; each is asked again in the transaction. */
async function admit(dependencies: Dependencies, request: RequestContext): Promise<Actor> {
  const { known, operation, incoming } = request
  const actor = known ?? (await actorNow(dependencies, incoming.headers.get('authorization')))
  request.actor = actor
  request.limit = incoming.isCounted ? notCounted : await dependencies.rateLimit(actor.keyId)
  if (request.limit.failure !== undefined) throw request.limit.failure
  if (operation.alone === true) await dependencies.store.read((tx) => requireManager(tx, actor))
  return actor
}

async function pass(
  dependencies: Dependencies,
  tx: Transaction,
  request: RequestContext,
  incoming: Incoming,
  settling: Settling,
): Promise<Reply> {
  const { system, environment, localCredentials, lastUses, rateLimit, publicUrl } = dependencies
  const { operation } = request
  const authorization = incoming.headers.get('authorization')
  // What does not depend on an answer is asked before there is one.
  const reading = tx.shared(readMoment)
  const ahead = request.expected && readAhead(tx, request.expected, operation)
  const times = reading.then((moment) => moment.times)
  // Whoever sends no credential is refused before it is known what time it is.
  times.catch(() => {})
  const authority = { environment, local: localCredentials, times, claims: request.claims }
  const [actor, moment] = await Promise.all([request.known ?? authenticate(tx, authorization, authority), reading])
  const { nowMs, earliestMs, epoch } = moment.times
  request.actor = actor
  request.nowMs = nowMs
  request.epoch = epoch
  if (operation.effect !== 'read') request.postings = tx.journal.postings
  lastUses.note(actor, moment.times)
  request.limit ??= incoming.isCounted ? notCounted : await rateLimit(actor.keyId)
  if (request.limit.failure !== undefined) throw request.limit.failure
  requirePermission(actor, operation)
  if (operation.permission === 'sandbox.manage') await requireManager(tx, actor)
  const { idempotencyKey, instanceId } = readHeaders(operation, incoming.headers, actor.actorType === 'agent')
  const { headers, path } = incoming
  await requirePlanned(tx, request.plan, moment, { headers, path, operation, actor, instanceId, door: 'api' })
  const causeAgentId = await resolveCause(tx, actor, readAgentHeader(operation, incoming.headers))
  const parsed = parseRequest(operation, incoming)
  const partyId = await resolveParty(tx, actor, operation, namedCustomer(operation, incoming, parsed))
  await requireSettled(tx, system, moment, [actor.partyId, partyId], settling)
  const cause = { instanceId, causeAgentId }
  const timeMoved = () => {
    request.timeMoved = true
  }
  // A transaction that runs again decides it again.
  request.otherwise = undefined
  const answerOtherwise = (how: OtherAnswer) => {
    request.otherwise = how
  }
  const told: Told[] = []
  request.told = told
  const tell = (one: Told) => void told.push(one)
  const known = { environment, system, publicUrl, lastUses, timeMoved, answerOtherwise, tell }
  const context: Context = { tx, operation, actor, partyId, ...cause, nowMs, epoch, attempt: 'first', ...known }
  request.handled = { context, parsed }
  if (idempotencyKey === undefined) {
    const look = (where: Context) => handle(request, parsed, where)
    const isStale = request.plan.fault?.kind === 'stale'
    const reply = await (isStale ? look(context) : listBehind(dependencies.store, context, look))
    // Where the world was replaced, this is listed in the new one, at its time.
    const at = operation.alone === true ? await readTimes(tx) : { nowMs, epoch }
    request.nowMs = at.nowMs
    request.epoch = at.epoch
    await recordActivity({ ...context, ...at }, parsed, reply)
    return reply
  }
  const mine = { partyId, key: idempotencyKey, fingerprint: fingerprint(incoming, actor.agentId) }
  request.claim = mine
  const read = ahead?.partyId === partyId ? ahead : readAhead(tx, { partyId, key: idempotencyKey }, operation)
  return handleOnce(request, parsed, context, { mine, earliestMs, read })
}

/** What was done is committed by now, and nobody else waits while this does. */
async function answeredOtherwise(
  { system, ending }: Dependencies,
  { afterMs, instead }: OtherAnswer,
  reply: Reply,
  { supportId, gone }: { supportId: string; gone: AbortSignal | undefined },
): Promise<Reply> {
  const over = gone === undefined ? ending : AbortSignal.any([ending, gone])
  if (afterMs > 0) await system.sleep(afterMs, over).catch(() => {})
  return instead === undefined || !isSuccess(reply) ? reply : refusal(instead, supportId)
}

/** What does not happen now, for the database is busy, happens before whoever looks at it next, or with the upkeep. */
async function settleAfterwards(dependencies: Dependencies, supportId: string): Promise<void> {
  try {
    await settleDue(dependencies)
  } catch (error) {
    dependencies.log.warn({ supportId, err: error }, 'the clock was moved, and not everything due has happened yet')
  }
  dependencies.waits.wakeAll()
}

/** The answer to what undid the request's transaction. */
async function refuse(dependencies: Dependencies, request: RequestContext, error: unknown): Promise<Reply> {
  const { store, log, publicUrl } = dependencies
  const { supportId, claim: mine } = request
  if (error instanceof Failure) {
    return challenged(refusal(error, supportId), error, publicUrl(), request.incoming.headers.has('authorization'))
  }
  if (error instanceof StoreBusyError) {
    log.warn({ supportId, err: error }, 'the database could not take the request')
    return refusal(new Failure('service_unavailable'), supportId)
  }
  log.error({ supportId, err: error }, 'a request failed unexpectedly')
  const reply = refusal(new Failure('server_error'), supportId)
  if (mine === undefined) return reply
  try {
    await store.transaction(async (tx) => {
      await tx.lockParty(mine.partyId)
      const { nowMs, earliestMs } = await readTimes(tx)
      const earlier = await readEarlier(tx, mine.partyId, mine.key)
      if ('replay' in claim(tx, mine, earlier, { earliestMs })) return
      await record({ tx, system: dependencies.system, nowMs }, mine, reply, earlier.keys)
      const { handled } = request
      if (handled !== undefined) await recordActivity({ ...handled.context, tx }, handled.parsed, reply)
    })
  } catch (recordError) {
    log.error({ supportId, err: recordError }, 'the failure could not be recorded under its key')
  }
  return reply
}
