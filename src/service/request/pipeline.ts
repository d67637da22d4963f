import { catalogue, type OperationKey } from '../../../tools/index.ts'
import type { Logger } from '../../config/log.ts'
import { Failure } from '../../core/errors.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { newId } from '../../core/system.ts'
import type { Times } from '../store/clock.ts'
import { StoreBusyError, type Transaction } from '../store/engine/store.ts'
import { challenge } from '../tokens/challenge.ts'
import type { AccessTokenClaims } from '../tokens/signed-tokens.ts'
import { recordActivity } from './activity.ts'
import { type Actor, requirePermission, resolveCause, resolveParty } from './actor.ts'
import { type Admission, actorNow, claimsIn } from './admission.ts'
import { authenticate } from './authenticate.ts'
import { settledTimes } from './due.ts'
import type { Context, Handlers } from './handler.ts'
import { type Claim, claim, notRecordedCode, record, recordUnresolved } from './idempotency.ts'
import {
  fingerprint,
  type Incoming,
  namedCustomer,
  type Parsed,
  parseRequest,
  readAgentHeader,
  readHeaders,
  type Unread,
  withBody,
} from './incoming.ts'
import type { Flush, LastUses } from './last-use.ts'
import type { RateLimit } from './rate-limit.ts'
import { type Reply, refusal, requestId, success } from './reply.ts'

export interface Dependencies extends Admission {
  handlers: Handlers
  rateLimit: (keyId: string) => Promise<RateLimit>
  lastUses: LastUses
  publicUrl: () => string
  log: Logger
}

/** One request on its way through the pipeline, and what later steps and the log learn on it. */
interface RequestContext {
  operation: OperationDefinition
  carryOut: (input: never, context: Context) => Promise<unknown>
  incoming: Incoming | Unread
  supportId: string
  claims: AccessTokenClaims | undefined
  /** Who a page knows already that asks; undefined: the request's credential says it. */
  known: Actor | undefined
  /** Set once: a transaction that is run again does not count the request again. */
  limit?: RateLimit
  actor?: Actor
  claim?: Claim
  handled?: { context: Context; parsed: Parsed }
  flush?: Flush | undefined
}

/**
 * The one way in: authenticate, rate limit, permission, headers, parse, then claim or replay the key, handle and
 * record, all in one transaction. A body that is large is read only for whoever passes the first two; they are asked
 * again in the transaction, but for the limit. It never throws: whatever fails is an answer.
 * @param known Who asks, where a page of the service knows it without a credential; no request from outside has one.
 */
export async function answer(
  dependencies: Dependencies,
  key: OperationKey,
  incoming: Incoming | Unread,
  known?: Actor,
): Promise<Reply> {
  const { store, system, log, handlers } = dependencies
  const supportId = newId('req', system, system.now())
  const operation: OperationDefinition = catalogue[key]
  const carryOut = handlers[key] as RequestContext['carryOut']
  const request: RequestContext = { operation, carryOut, incoming, supportId, claims: undefined, known }
  let reply: Reply
  try {
    request.claims = await claimsIn(dependencies, incoming.headers.get('authorization'))
    const read = 'read' in incoming ? await readAdmitted(dependencies, request, incoming) : incoming
    request.incoming = read
    reply = await store.transaction((tx) => pass(dependencies, tx, request, read))
  } catch (error) {
    request.flush?.settle(false)
    request.flush = undefined
    reply = await refuse(dependencies, request, error)
  }
  request.flush?.settle(true)
  const fields = {
    operation: operation.name,
    status: reply.status,
    supportId,
    partyId: request.actor?.partyId,
    agentId: request.actor?.agentId,
  }
  if (reply.status < 400) log.debug(fields, 'answered')
  else log.info(fields, 'refused')
  return { ...reply, headers: { ...reply.headers, ...request.limit?.headers, ...requestId(supportId) } }
}

const notCounted: RateLimit = { headers: {}, failure: undefined }

/** Reads the body for somebody whose credential is good and who may send one more request. */
async function readAdmitted(dependencies: Dependencies, request: RequestContext, unread: Unread): Promise<Incoming> {
  const { keyId } = request.known ?? (await actorNow(dependencies, unread.headers.get('authorization')))
  request.limit = unread.isCounted ? notCounted : await dependencies.rateLimit(keyId)
  if (request.limit.failure !== undefined) throw request.limit.failure
  return withBody(unread, await unread.read())
}

async function pass(
  dependencies: Dependencies,
  tx: Transaction,
  request: RequestContext,
  incoming: Incoming,
): Promise<Reply> {
  const { system, environment, localCredentials, lastUses, rateLimit, publicUrl } = dependencies
  const { operation } = request
  const times = await settledTimes(tx, system)
  const { nowMs, realNowMs } = times
  const authorization = incoming.headers.get('authorization')
  const authority = { environment, local: localCredentials, nowMs, realNowMs, claims: request.claims }
  const actor = request.known ?? (await authenticate(tx, authorization, authority))
  request.actor = actor
  lastUses.note(actor.keyId, actor.agentId, nowMs)
  request.limit ??= incoming.isCounted ? notCounted : await rateLimit(actor.keyId)
  if (request.limit.failure !== undefined) throw request.limit.failure
  requirePermission(actor, operation)
  const { idempotencyKey, instanceId } = readHeaders(operation, incoming.headers, actor.actorType === 'agent')
  const causeAgentId = await resolveCause(tx, actor, readAgentHeader(operation, incoming.headers))
  const parsed = parseRequest(operation, incoming)
  const partyId = await resolveParty(tx, actor, operation, namedCustomer(operation, incoming, parsed))
  const cause = { instanceId, causeAgentId }
  const known = { environment, system, publicUrl, lastUses }
  const context: Context = { tx, operation, actor, partyId, ...cause, nowMs, attempt: 'first', ...known }
  request.handled = { context, parsed }
  if (idempotencyKey !== undefined) {
    request.claim = { partyId, key: idempotencyKey, fingerprint: fingerprint(incoming, actor.agentId) }
  }
  if (request.claim !== undefined) return handleOnce(request, parsed, context, { ...request.claim, times })
  const reply = await handle(request, parsed, context)
  await account(request, parsed, context, reply)
  return reply
}

/**
 * Writes who used which key and what came of it. Last, and in this order, so that whoever holds the rows of keys or a
 * chain of activity waits for no lock that is taken earlier.
 */
async function account(request: RequestContext, parsed: Parsed, context: Context, reply: Reply): Promise<void> {
  request.flush ??= context.lastUses.take(context.nowMs)
  await request.flush?.write(context.tx)
  await recordActivity(context, parsed, reply)
}

/** Handles the request unless its key already has an answer, and records the answer with the effect. */
async function handleOnce(
  request: RequestContext,
  parsed: Parsed,
  context: Context,
  { times, ...mine }: Claim & { times: Times },
): Promise<Reply> {
  const { tx, system, nowMs } = context
  const claimed = await claim(tx, mine, times)
  if ('replay' in claimed) return claimed.replay
  // Commands on one party run one after another: they share its wallets, and would only redo each other's work.
  await tx.takeTurn(`party ${context.partyId}`)
  try {
    const reply = await tx.savepoint(() => handle(request, parsed, { ...context, attempt: claimed.attempt }))
    await record(tx, system, mine, reply, nowMs)
    await account(request, parsed, context, reply)
    return reply
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const reply = refusal(error, request.supportId)
    if (error.retryable) await recordUnresolved(tx, mine)
    else if (error.code !== notRecordedCode) {
      if (await record(tx, system, mine, reply, nowMs)) await account(request, parsed, context, reply)
    }
    return reply
  }
}

async function handle({ operation, carryOut }: RequestContext, parsed: Parsed, context: Context): Promise<Reply> {
  if ('failure' in parsed) throw parsed.failure
  return success(operation, await carryOut(parsed.input as never, context))
}

/** The answer to what undid the request's transaction. */
async function refuse(dependencies: Dependencies, request: RequestContext, error: unknown): Promise<Reply> {
  const { store, log, publicUrl } = dependencies
  const { supportId, claim: mine } = request
  if (error instanceof Failure) return challenged(refusal(error, supportId), error, publicUrl(), request)
  if (error instanceof StoreBusyError) {
    log.warn({ supportId, err: error }, 'the database could not take the request')
    return refusal(new Failure('service_unavailable'), supportId)
  }
  log.error({ supportId, err: error }, 'a request failed unexpectedly')
  const reply = refusal(new Failure('server_error'), supportId)
  if (mine === undefined) return reply
  try {
    await store.transaction(async (tx) => {
      const times = await settledTimes(tx, dependencies.system)
      const claimed = await claim(tx, mine, times)
      if ('replay' in claimed) return
      await record(tx, dependencies.system, mine, reply, times.nowMs)
      const { handled } = request
      if (handled !== undefined) await recordActivity({ ...handled.context, tx }, handled.parsed, reply)
    })
  } catch (recordError) {
    log.error({ supportId, err: recordError }, 'the failure could not be recorded under its key')
  }
  return reply
}

/** A refusal that another token would mend says which. */
function challenged(reply: Reply, { status, scopes }: Failure, publicUrl: string, { incoming }: RequestContext): Reply {
  if (status !== 401 && scopes === undefined) return reply
  const error =
    scopes !== undefined ? 'insufficient_scope' : incoming.headers.has('authorization') ? 'invalid_token' : undefined
  return { ...reply, headers: { ...reply.headers, 'WWW-Authenticate': challenge(publicUrl, error, scopes) } }
}
