import { operationsByName } from '../../../tools/index.ts'
import type { Logger } from '../../config/log.ts'
import { Failure } from '../../core/errors.ts'
import { ConnectionCutError, defaultFaultMs, type Fault, faultRefusal } from '../../core/faults.ts'
import type { Environment, OperationDefinition } from '../../core/operation.ts'
import { type System, sha256 } from '../../core/system.ts'
import { type Draw, type FaultableRequest, isCounted, outcomeOf } from '../rules/faults.ts'
import { faultEntry } from '../store/activity.ts'
import type { Store, Transaction } from '../store/engine/store.ts'
import { allFaults, countRequest, lockFaults, type StoredRule } from '../store/faults.ts'
import { findWorld } from '../store/world.ts'
import { recordAct } from './activity.ts'
import { type Moment, readMoment } from './due-effects.ts'
import { faultHeader, faultInHeader } from './fault-header.ts'
import type { Actor } from './permission-checks.ts'
import { isSuccess, type Reply, replyValue } from './reply.ts'
import { requireManager } from './sandbox-manager.ts'

export interface FaultDependencies {
  store: Store
  system: System
  environment: Environment
  log: Pick<Logger, 'info'>
  /** Aborts when the process shuts down. */
  ending: AbortSignal
}

/** The caller of a request that a fault hits, with the fields that the activity records. */
type Affected = Pick<Actor, 'partyId' | 'actorType' | 'keyId'>

/** A request that a fault may apply to. */
export interface FaultSubject extends Omit<FaultableRequest, 'partyId'> {
  actor: Affected
  /**
   * The fault that the fault header requests; undefined if the request has no such header, so that the rules decide.
   */
  requestedFault: Fault | undefined
}

/** The error that interrupts a request so that its fault is planned first. `whenPlanned` catches the error. */
class UnplannedError extends Error {
  readonly subject: FaultSubject
  constructor(subject: FaultSubject) {
    super('The fault of the request is not planned yet.')
    this.subject = subject
  }
}

/**
 * The decision whether a fault hits a request, and which fault. `fault` is undefined until the decision is made, and
 * null if no fault hits the request.
 */
export interface Plan {
  fault?: Fault | null | undefined
  /** The id of the rule that the fault comes from; for a fault from the fault header, the name of the header. */
  ruleId?: string
}

/**
 * Interrupts a request that a fault may hit, so that the fault is planned first (docs/sandbox.md#faults). If the
 * request has no fault header and there are no rules, this check needs no query, because the number of rules was read
 * together with the time. If there are rules, it needs one query, or two if a rule comes from a file.
 * @throws UnplannedError, which `whenPlanned` catches; 400 if the fault header is invalid; 403 if the caller may not
 * send it.
 */
export async function requirePlanned(
  tx: Transaction,
  { fault }: Plan,
  { faults }: Pick<Moment, 'faults'>,
  {
    actor,
    headers,
    ...request
  }: Omit<FaultSubject, 'actor' | 'requestedFault' | 'operation'> & {
    actor: Actor
    headers: Pick<Headers, 'get'>
    operation: OperationDefinition
  },
): Promise<void> {
  if (fault !== undefined) return
  const header = headers.get(faultHeader)
  const isManaging = request.operation.permission === 'sandbox.manage'
  if (header === null && (faults.faultRules === 0 || isManaging)) return
  // Planning needs a separate transaction and restarts the request, so a request that no rule matches simply continues.
  if (header === null && !(await matchesAnyRule(tx, { ...request, partyId: actor.partyId }))) return
  if (header !== null) await requireManager(tx, actor)
  const requestedFault = header === null ? undefined : faultInHeader(header, request.operation, faults)
  throw new UnplannedError({ ...request, actor, requestedFault })
}

/** Handles a request with `run`, which calls `requirePlanned`. If a fault is planned, applies it to the request. */
export async function whenPlanned(
  dependencies: FaultDependencies,
  plan: Plan,
  gone: AbortSignal | undefined,
  run: () => Promise<Reply>,
): Promise<Reply> {
  if (plan.fault) return answerWithFault(dependencies, plan.fault, gone, run)
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof UnplannedError)) throw error
    const planned = await planFault(dependencies, error.subject)
    plan.fault = planned?.fault ?? null
    if (planned !== undefined) plan.ruleId = planned.id
  }
  return plan.fault === null ? run() : answerWithFault(dependencies, plan.fault, gone, run)
}

/**
 * Decides which fault hits a request. Counts the request for each matching rule, and records the fault in the activity.
 */
async function planFault({ store, system }: FaultDependencies, subject: FaultSubject): Promise<Planned | undefined> {
  const { actor, operation, instanceId, requestedFault } = subject
  return store.transaction(async (tx) => {
    const rules = await lockFaults(tx)
    const { times } = await readMoment(tx)
    const { id, fault } =
      requestedFault === undefined ? await findHit(tx, rules, subject) : { id: faultHeader, fault: requestedFault }
    if (fault === undefined) return undefined
    await recordAct(
      { tx, system, nowMs: times.nowMs },
      {
        partyId: actor.partyId,
        actorType: actor.actorType,
        keyId: actor.keyId,
        instanceId,
        operation: faultEntry,
        resourceIds: [id, ...(operation === undefined ? [] : [operation.name])],
        status: 200,
        code: fault.kind,
      },
    )
    return { id, fault }
  })
}

interface Planned {
  id: string
  fault: Fault
}

async function findHit(
  tx: Transaction,
  rules: readonly StoredRule[],
  subject: FaultSubject,
): Promise<{ id: string; fault: Fault | undefined }> {
  const owned = await withOwners(tx, rules)
  const { matched, hit } = outcomeOf(owned, { ...subject, partyId: subject.actor.partyId }, draw)
  await countRequest(tx, matched, hit?.id)
  if (hit === undefined) return { id: '', fault: undefined }
  const { fault: kind, code, afterMs } = hit.rule
  return { id: hit.id, fault: { kind, code, afterMs } }
}

/** Returns whether any current rule matches the request. */
async function matchesAnyRule(tx: Transaction, request: FaultableRequest): Promise<boolean> {
  return isCounted(await withOwners(tx, await allFaults(tx)), request)
}

/** Adds the owning party to each rule. Rules from a file belong to the first party of the world. */
async function withOwners(tx: Transaction, rules: readonly StoredRule[]): Promise<readonly StoredRule[]> {
  if (rules.every(({ partyId }) => partyId !== null)) return rules
  const firstPartyId = (await findWorld(tx))?.firstPartyId ?? null
  return rules.map((rule) => ({ ...rule, partyId: rule.partyId ?? firstPartyId }))
}

const draw: Draw = (...parts) => Number.parseInt(sha256(JSON.stringify(parts)).slice(0, 13), 16) / 2 ** 52

async function answerWithFault(
  { system, ending, log }: FaultDependencies,
  { kind, code, afterMs = defaultFaultMs[kind] ?? 0 }: Fault,
  gone: AbortSignal | undefined,
  run: () => Promise<Reply>,
): Promise<Reply> {
  const wait = (ms: number) => {
    const stop = gone === undefined ? ending : AbortSignal.any([ending, gone])
    return system.sleep(ms, stop).catch(() => {})
  }
  /** Runs the request. A refusal is dropped, because the client will not receive it. */
  const runUnlessRefused = () =>
    run().catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error
    })
  switch (kind) {
    case 'error':
      throw faultRefusal({ code })
    case 'slow':
      return run().finally(() => wait(afterMs))
    case 'hang':
      await wait(afterMs)
      break
    case 'reset':
      break
    case 'effect_then_lost':
      await runUnlessRefused()
      break
    case 'effect_then_503':
      await runUnlessRefused()
      throw faultRefusal({ code: 'service_unavailable' })
    case 'stale':
      return run()
    case 'empty_page':
      return emptyPage(await run())
  }
  log.info({ fault: kind }, 'a sandbox fault cut the connection')
  throw new ConnectionCutError()
}

function emptyPage(reply: Reply): Reply {
  if (!isSuccess(reply)) return reply
  const { meta } = replyValue(reply) as { meta: object }
  const value = { data: [], meta: { ...meta, pagination: { hasMore: false, nextCursor: null } } }
  return { status: reply.status, body: JSON.stringify(value), headers: reply.headers, value }
}

/** A request to the MCP endpoint, as passed to `Service.faults.plan`. */
export interface McpRequest {
  path: string
  /** The called tool; null if the request calls no tool. */
  operation: string | null
  headers: Pick<Headers, 'get'>
  /** The identity that the request's credential acts as. */
  actor: Actor
  instanceId: string | null
}

/**
 * Returns the fault for a request to the MCP endpoint; undefined if there is none.
 * @throws 400 if the fault header is invalid; 403 if the caller may not send it.
 */
export async function planMcpFault(
  dependencies: FaultDependencies,
  { operation: name, headers, actor, ...request }: McpRequest,
): Promise<Fault | undefined> {
  const { store, environment } = dependencies
  if (environment !== 'sandbox') return undefined
  const operation = name === null ? undefined : (operationsByName.get(name) ?? { name })
  const subject = { ...request, operation, actor, door: 'mcp' as const }
  const header = headers.get(faultHeader)
  if (header !== null) {
    await store.read((tx) => requireManager(tx, actor))
    const requestedFault = faultInHeader(header, operation, store.clock.sandbox)
    return (await planFault(dependencies, { ...subject, requestedFault }))?.fault
  }
  // No query is needed here, because authentication has already read the number of rules together with the time.
  if (store.clock.sandbox.faultRules === 0) return undefined
  const isMatched = await store.read((tx) => matchesAnyRule(tx, { ...subject, partyId: actor.partyId }))
  return isMatched ? (await planFault(dependencies, { ...subject, requestedFault: undefined }))?.fault : undefined
}
