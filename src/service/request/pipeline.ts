import type { Logger } from '../../config/log.ts'
import type { Config } from '../../config/settings.ts'
import { Failure } from '../../core/errors.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { newId } from '../../core/system.ts'
import type { SignIn } from '../oauth/sign-in.ts'
import type { Times } from '../store/clock.ts'
import { StoreBusyError, type Transaction } from '../store/engine/store.ts'
import type { AccessTokenClaims } from '../tokens/access-tokens.ts'
import { challenge } from '../tokens/challenge.ts'
import { recordActivity } from './activity.ts'
import { type Actor, requirePermission, resolveCause, resolveParty } from './actor.ts'
import { type Admission, actorNow, claimsIn } from './admission.ts'
import { authenticate } from './authenticate.ts'
import { settledTimes } from './due.ts'
import type { Context } from './handler.ts'
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
  rateLimit: (keyId: string) => Promise<RateLimit>
  signIn: SignIn
  /** Fetches what applications describe themselves by, which lies anywhere. */
  publicFetch: typeof globalThis.fetch
  clientMetadata: Config['clientMetadata']
  lastUses: LastUses
  publicUrl: () => string
  log: Logger
}

/** An operation with the handler that carries it out. */
export interface Endpoint {
  operation: OperationDefinition
  handler: (input: never, context: Context) => Promise<unknown>
}

/** One request's way through the pipeline, and what later steps and the log learn on it. */
interface Passage {
  endpoint: Endpoint
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
  endpoint: Endpoint,
  incoming: Incoming | Unread,
  known?: Actor,
): Promise<Reply> {
  const { store, system, log } = dependencies
  const supportId = newId('req', system, system.now())
  const passage: Passage = { endpoint, incoming, supportId, claims: undefined, known }
  let reply: Reply
  try {
    passage.claims = await claimsIn(dependencies, incoming.headers.get('authorization'))
    const read = 'read' in incoming ? await readAdmitted(dependencies, passage, incoming) : incoming
    passage.incoming = read
    reply = await store.transaction((tx) => pass(dependencies, tx, passage, read))
  } catch (error) {
    passage.flush?.settle(false)
    passage.flush = undefined
    reply = await refuse(dependencies, passage, error)
  }
  passage.flush?.settle(true)
  const fields = {
    operation: endpoint.operation.name,
    status: reply.status,
    supportId,
    partyId: passage.actor?.partyId,
    agentId: passage.actor?.agentId,
  }
  if (reply.status < 400) log.debug(fields, 'answered')
  else log.info(fields, 'refused')
  return { ...reply, headers: { ...reply.headers, ...passage.limit?.headers, ...requestId(supportId) } }
}

const notCounted: RateLimit = { headers: {}, failure: undefined }

/** Reads the body for somebody whose credential is good and who may send one more request. */
async function readAdmitted(dependencies: Dependencies, passage: Passage, unread: Unread): Promise<Incoming> {
  const { keyId } = passage.known ?? (await actorNow(dependencies, unread.headers.get('authorization')))
  passage.limit = unread.isCounted ? notCounted : await dependencies.rateLimit(keyId)
  if (passage.limit.failure !== undefined) throw passage.limit.failure
  return withBody(unread, await unread.read())
}

async function pass(dependencies: Dependencies, tx: Transaction, passage: Passage, incoming: Incoming): Promise<Reply> {
  const { system, environment, localCredentials, lastUses, rateLimit, publicUrl } = dependencies
  const { endpoint } = passage
  const { operation } = endpoint
  const times = await settledTimes(tx, system)
  const { nowMs, realNowMs } = times
  const authorization = incoming.headers.get('authorization')
  const authority = { environment, local: localCredentials, nowMs, realNowMs, claims: passage.claims }
  const actor = passage.known ?? (await authenticate(tx, authorization, authority))
  passage.actor = actor
  lastUses.note(actor.keyId, actor.agentId, nowMs)
  passage.limit ??= incoming.isCounted ? notCounted : await rateLimit(actor.keyId)
  if (passage.limit.failure !== undefined) throw passage.limit.failure
  requirePermission(actor, operation)
  const { idempotencyKey, instanceId } = readHeaders(operation, incoming.headers, actor.actorType === 'agent')
  const causeAgentId = await resolveCause(tx, actor, readAgentHeader(operation, incoming.headers))
  const parsed = parseRequest(operation, incoming)
  const partyId = await resolveParty(tx, actor, operation, namedCustomer(operation, incoming, parsed))
  const cause = { instanceId, causeAgentId }
  const known = { environment, system, publicUrl, lastUses }
  const context: Context = { tx, operation, actor, partyId, ...cause, nowMs, attempt: 'first', ...known }
  passage.handled = { context, parsed }
  if (idempotencyKey !== undefined) {
    passage.claim = { partyId, key: idempotencyKey, fingerprint: fingerprint(incoming, actor.agentId) }
  }
  if (passage.claim !== undefined) return handleOnce(passage, parsed, context, { ...passage.claim, times })
  const reply = await handle(endpoint, parsed, context)
  await account(passage, parsed, context, reply)
  return reply
}

/**
 * Writes who used which key and what came of it. Last, and in this order, so that whoever holds the rows of keys or a
 * chain of activity waits for no lock that is taken earlier.
 */
async function account(passage: Passage, parsed: Parsed, context: Context, reply: Reply): Promise<void> {
  passage.flush ??= context.lastUses.take(context.nowMs)
  await passage.flush?.write(context.tx)
  await recordActivity(context, parsed, reply)
}

/** Handles the request unless its key already has an answer, and records the answer with the effect. */
async function handleOnce(
  passage: Passage,
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
    const reply = await tx.savepoint(() => handle(passage.endpoint, parsed, { ...context, attempt: claimed.attempt }))
    await record(tx, system, mine, reply, nowMs)
    await account(passage, parsed, context, reply)
    return reply
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const reply = refusal(error, passage.supportId)
    if (error.retryable) await recordUnresolved(tx, mine)
    else if (error.code !== notRecordedCode) {
      if (await record(tx, system, mine, reply, nowMs)) await account(passage, parsed, context, reply)
    }
    return reply
  }
}

async function handle({ operation, handler }: Endpoint, parsed: Parsed, context: Context): Promise<Reply> {
  if ('failure' in parsed) throw parsed.failure
  return success(operation, await handler(parsed.input as never, context))
}

/** The answer to what undid the request's transaction. */
async function refuse(dependencies: Dependencies, passage: Passage, error: unknown): Promise<Reply> {
  const { store, log, publicUrl } = dependencies
  const { supportId, claim: mine } = passage
  if (error instanceof Failure) return challenged(refusal(error, supportId), error, publicUrl(), passage)
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
      const { handled } = passage
      if (handled !== undefined) await recordActivity({ ...handled.context, tx }, handled.parsed, reply)
    })
  } catch (recordError) {
    log.error({ supportId, err: recordError }, 'the failure could not be recorded under its key')
  }
  return reply
}

/** A refusal that another token would mend says which. */
function challenged(reply: Reply, { status, scopes }: Failure, publicUrl: string, { incoming }: Passage): Reply {
  if (status !== 401 && scopes === undefined) return reply
  const error =
    scopes !== undefined ? 'insufficient_scope' : incoming.headers.has('authorization') ? 'invalid_token' : undefined
  return { ...reply, headers: { ...reply.headers, 'WWW-Authenticate': challenge(publicUrl, error, scopes) } }
}
