import { type CallToolResult, ProtocolError, ProtocolErrorCode, type ServerContext } from '@modelcontextprotocol/server'
import { agentCards } from '../../../tools/agent-cards.ts'
import { ApiError } from '../../client/api-error.ts'
import type { CallOptions } from '../../client/client.ts'
import { Failure } from '../../core/errors.ts'
import { ConnectionCutError } from '../../core/faults.ts'
import { shortForeignText } from '../../core/foreign-text.ts'
import { failedResult, success } from '../answers/results.ts'
import type { Dependencies } from '../dependencies.ts'
import { showMasked } from '../people/card.ts'
import { decide } from '../people/decide.ts'
import { needsVerification, withVerification } from '../people/verification.ts'
import { announceChanges } from '../resources/announce-changes.ts'
import { note } from '../run-notes.ts'
import { applyFaultAfter, applyFaultBefore, faultForApi } from './faults.ts'
import { guardOf } from './guard.ts'
import { recordReaderOf } from './id-kinds.ts'
import { insufficientFundsRemark } from './insufficient-funds.ts'
import { keyToRepeat, nextStep } from './next-steps.ts'
import { ObsoleteAnswer } from './obsolete-answer.ts'
import { operationNamed } from './offered-operations.ts'
import { earlierAnswer, inTurn, parse } from './parse.ts'
import type { Answer, Answered, Arrived, Decided, Done, Known, Parsed, Planned } from './phases.ts'
import { progressOf } from './progress.ts'
import { RefusedBefore } from './repeats.ts'
import { explainUnknownTool } from './unknown-tool.ts'
import { WrongArguments } from './wrong-arguments.ts'

/**
 * Carries out a tool call. A refusal is returned as a result with advice, not as a protocol error.
 * @throws {ProtocolError} if there is no such tool; {ConnectionCutError} if a fault cuts the connection
 */
export async function callTool(
  dependencies: Dependencies,
  { name, arguments: hostArguments = {} }: { name: string; arguments?: Record<string, unknown> | undefined },
  context: ServerContext,
): Promise<Answer> {
  const beganAtMs = dependencies.system.elapsed()
  const foundCall = find({ dependencies, context, name, hostArguments })
  let done: Done
  try {
    const planned = await applyFaultBefore(foundCall)
    done = await applyFaultAfter(planned, await carryOut(planned))
  } catch (error) {
    done = { error, decision: undefined }
  }
  if ('answer' in done) return done.answer
  return refuse(foundCall, { ...done, ms: dependencies.system.elapsed() - beganAtMs })
}

/** Finds the operation of a call. @throws {ProtocolError} if there is no such tool */
function find(call: Arrived): Known {
  const { dependencies, name } = call
  const operation = operationNamed(dependencies.choice, name)
  if (operation !== undefined) return { ...call, operation }
  const message = explainUnknownTool(dependencies, name)
  noteRefused({ ...call, name: shortForeignText(name) }, { code: 'unknown_tool', message })
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}

async function carryOut(call: Planned): Promise<Done> {
  let decision: string | undefined
  try {
    refuseUngranted(call)
    const parsed = await parse(call)
    if ('answer' in parsed) return { ...parsed, decision }
    decision = parsed.held?.id
    return { answer: await inTurn(parsed, () => perform(parsed)), decision }
  } catch (error) {
    if (error instanceof Failure) noteRefused(call, error)
    return { error, decision }
  }
}

async function perform(call: Parsed): Promise<Answer> {
  const before = await earlierAnswer(call)
  if (before !== undefined) return before
  const answered = await decideAndSend(call)
  if ('answer' in answered) return answered.answer
  await record(answered)
  return await toHost(answered)
}

/** Asks the person if needed, then sends the call. If an equal earlier call was refused, does both a second time. */
async function decideAndSend(call: Parsed): Promise<Answered | { answer: Answer }> {
  const { dependencies, context } = call
  const guard = guardOf(dependencies, call, context)
  for (let isLast = false; ; isLast = true) {
    try {
      const decision = await decide(dependencies, call, context, () => guard.wasDecided())
      return decision.isAllowed ? await send({ ...call, ...decision, guard }) : decision
    } catch (error) {
      if (!(error instanceof RefusedBefore)) throw error
      if (isLast) throw error.cause
    }
  }
}

async function send(call: Decided): Promise<Answered | { answer: Answer }> {
  const { dependencies, context, operation, guard, fault, held, decided, fingerprint, idempotencyKey } = call
  const client = await dependencies.api.client()
  const progress = progressOf(context, dependencies)
  const stop = progress.whileWaiting(guard.input.waitSeconds)
  const commonOptions = {
    signal: context.mcpReq.signal,
    fault: faultForApi(fault),
    onAttempt: progress.attempt,
    isToolCall: true,
  }
  const request = (options: CallOptions) => client.call(operation, guard.input, { ...commonOptions, ...options })
  const attempt = { operation: operation.name, fingerprint, idempotencyKey, held }
  const perform = (key: string | undefined) => guard.send(key, decided, request)
  try {
    const outcome = await withVerification(dependencies, { ...attempt, perform }, context)
    return 'answer' in outcome ? outcome : { ...call, result: outcome.done }
  } catch (error) {
    // If the person must verify first, the approved call can be repeated. Counting this try gives the next try a new
    // key.
    if (held !== undefined && needsVerification(error)) await dependencies.people.decisions?.countTry(held)
    throw error
  } finally {
    stop()
  }
}

/** Stores the answer with the person's decision, announces changes to the host, and notes a repeat in the run. */
async function record({ dependencies, context, ...call }: Answered): Promise<void> {
  const { operation, hostArguments, input, held, result } = call
  // If no request was sent, the API records nothing in the run, so the call is noted here.
  if (result.attempts === 0) {
    const runNote = { operation: operation.name, arguments: hostArguments, remark: result.repeated?.next ?? '' }
    note(dependencies, context, { kind: 'call', outcome: 'repeated', ...runNote })
  }
  const { data, meta } = result
  if (held !== undefined) await dependencies.people.decisions?.finish(held.id, { data, meta })
  if (operation.effect !== 'read') announceChanges(dependencies, input, result)
}

/** Turns the API's answer into an answer for the host. */
async function toHost(call: Answered): Promise<Answer> {
  const { dependencies, context, operation, input, fingerprint, result, ignored, withHashes } = call
  if (dependencies.choice.cardDetails === 'masked' && operation.name === agentCards.getAgentCardDetails.name) {
    return await showMasked(dependencies, { result, input, fingerprint }, context)
  }
  const { replayed, repeated, idempotencyKey } = result
  const reader = recordReaderOf(dependencies, operation)
  const { signal } = context.mcpReq
  const remark = result.remark ?? (await insufficientFundsRemark(dependencies, operation, result, { input, signal }))
  return success(operation, result, { replayed, repeated, idempotencyKey, reader, remark, ignored, withHashes })
}

interface Refusal {
  error: unknown
  decision: string | undefined
  ms: number
}

/** Turns an error into an answer for the host. @throws protocol errors and cut connections unchanged */
function refuse(call: Known, { error, decision, ms }: Refusal): CallToolResult {
  const { dependencies, context, name } = call
  const { log } = dependencies
  if (error instanceof ProtocolError || error instanceof ConnectionCutError) throw error
  // The API logs its refusals itself.
  if (error instanceof ApiError) return failure(call, error, decision)
  if (error instanceof Failure) {
    log.info({ operation: name, status: error.status, code: error.code, ms: Math.round(ms) }, 'refused')
    return failure(call, error, decision)
  }
  // For a canceled request, the SDK sends no answer. This condition only keeps the cancellation out of the log.
  if (!context.mcpReq.signal.aborted) log.error({ err: error, tool: name }, 'tool call failed unexpectedly')
  return failure(call, new Failure('server_error', { detail: 'The MCP server failed unexpectedly.' }))
}

function failure({ dependencies, operation }: Known, error: ApiError | Failure, decision?: string): CallToolResult {
  const { code, status, source, message: detail } = error
  if (error instanceof WrongArguments || error instanceof ObsoleteAnswer) {
    return failedResult({ code, status, detail, source, next: error.next })
  }
  const supportId = 'supportId' in error ? error.supportId : undefined
  const next = nextStep({ dependencies, operation, error, decision })
  const idempotencyKey = decision === undefined ? keyToRepeat(error) : undefined
  return failedResult({ code, status, detail, supportId, source, next, idempotencyKey })
}

function refuseUngranted({ dependencies, operation }: Known): void {
  if (dependencies.choice.allows(operation)) return
  const detail = `This connection was not granted ${operation.name}. Connect again and grant it.`
  throw new Failure('forbidden', { detail })
}

/** Records in the run that a call was refused, or failed, before it was sent. */
function noteRefused(
  { dependencies, context, name: operation, hostArguments }: Arrived,
  { code, status, message: detail }: { code: string; status?: number; message: string },
): void {
  const outcome = (status ?? 400) < 500 ? 'refused' : 'failed'
  note(dependencies, context, {
    kind: 'call',
    outcome,
    operation,
    arguments: hostArguments,
    error: { code, status, detail },
  })
}
