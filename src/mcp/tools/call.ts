import {
  type CallToolResult,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { agentCards } from '../../../tools/agent-cards.ts'
import { ApiError } from '../../client/api-error.ts'
import type { CallOptions, Log } from '../../client/client.ts'
import { Failure } from '../../core/errors.ts'
import { ConnectionCutError, type Fault } from '../../core/faults.ts'
import { shortForeignText } from '../../core/foreign-text.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { failed, success } from '../answers/results.ts'
import type { Dependencies, Held } from '../dependencies.ts'
import { note } from '../noted.ts'
import { showMasked } from '../people/card.ts'
import { decide, type ToolCall } from '../people/decide.ts'
import { isVerification, withVerification } from '../people/verification.ts'
import { announceChanges } from '../resources/changes.ts'
import { type Taken, takeArguments } from './arguments.ts'
import { beyondFunds } from './beyond-funds.ts'
import { answerBefore, decidedCall } from './decided-call.ts'
import { recordReaderOf } from './id-kinds.ts'
import { inTurn } from './in-turn.ts'
import { meetFault } from './meet-fault.ts'
import { keyToRepeat, nextStep, type Refused } from './next-steps.ts'
import { notOffered } from './not-offered.ts'
import { operationNamed } from './offered.ts'
import { OverBefore } from './over-before.ts'
import { progressOf } from './progress.ts'
import { guardOf, RefusedBefore, type RepeatGuard, type Sent } from './repeats.ts'
import { WrongArguments } from './wrong-arguments.ts'

interface CallParameters {
  name: string
  arguments?: Record<string, unknown> | undefined
}

/** Calls the operation that a tool is. What it refuses is a result that says what to do, not a protocol error. */
export async function callTool(
  dependencies: Dependencies,
  params: CallParameters,
  context: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
  const operation = operationNamed(dependencies, params.name)
  if (operation === undefined) {
    const detail = notOffered(dependencies, params.name)
    noteRefused(dependencies, params, context, { code: 'unknown_tool', message: detail })
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, detail)
  }
  const { log, system } = dependencies
  const beganAtMs = system.elapsed()
  const { arguments: given = {} } = params
  let decision: string | undefined
  const perform = async (fault?: Fault) => {
    if (dependencies.allows?.(operation) === false) throw new Failure('forbidden', { detail: notGranted(operation) })
    const decided = await decidedCall(dependencies, operation, given, context)
    if (decided !== undefined && 'answer' in decided) return decided.answer
    const held = decided?.held
    decision = held?.id
    const { ignored, withHashes, ...taken } = decided?.taken ?? takeArguments(dependencies, operation, given)
    const call = { operation, ...taken, given: held?.call.arguments ?? given, held, fault }
    const carry = () => carryOut(dependencies, call, { ignored, withHashes }, context)
    if (held === undefined) return await carry()
    return await inTurn(held.id, async () => (await answerBefore(dependencies, operation, held)) ?? carry())
  }
  try {
    return await meetFault(dependencies, operation, context, (fault) =>
      noting(dependencies, params, context, () => perform(fault)),
    )
  } catch (error) {
    if (error instanceof Failure || error instanceof ApiError) {
      // What the API refused is in its log.
      if (error instanceof Failure) logRefused(log, { operation, error, ms: system.elapsed() - beganAtMs })
      return failure({ error, operation, dependencies, decision })
    }
    if (error instanceof ProtocolError || error instanceof ConnectionCutError) throw error
    // The SDK sends nothing for a cancelled request; this only keeps the cancellation out of the log.
    if (!context.mcpReq.signal.aborted) log.error({ err: error, tool: operation.name }, 'tool call failed unexpectedly')
    const unexpected = new Failure('server_error', { detail: 'The MCP server failed unexpectedly.' })
    return failure({ error: unexpected, operation, dependencies })
  }
}

/** Tells of a call that is refused before it is sent. */
async function noting<T>(
  dependencies: Dependencies,
  params: CallParameters,
  context: ServerContext,
  perform: () => Promise<T>,
): Promise<T> {
  try {
    return await perform()
  } catch (error) {
    if (error instanceof Failure) noteRefused(dependencies, params, context, error)
    throw error
  }
}

function noteRefused(
  dependencies: Dependencies,
  { name, arguments: given = {} }: CallParameters,
  context: ServerContext,
  { code, status, message: detail }: { code: string; status?: number; message: string },
) {
  const outcome = (status ?? 400) < 500 ? 'refused' : 'failed'
  // Whoever calls what there is not may call it anything.
  const operation = shortForeignText(name)
  note(dependencies, context, { kind: 'call', outcome, operation, arguments: given, error: { code, status, detail } })
}

function logRefused(
  log: Log,
  { operation, error, ms }: { operation: OperationDefinition; error: Failure; ms: number },
) {
  log.info({ operation: operation.name, status: error.status, code: error.code, ms: Math.round(ms) }, 'refused')
}

/** Anew, once, where it is a repeat of a call that was refused. */
async function carryOut(
  dependencies: Dependencies,
  asked: ToolCall,
  telling: Telling,
  context: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
  const guard = guardOf(dependencies, asked, context)
  const once = () => decideAndSend(dependencies, { asked, telling, guard }, context)
  try {
    return await once()
  } catch (error) {
    if (!(error instanceof RefusedBefore)) throw error
  }
  try {
    return await once()
  } catch (error) {
    throw error instanceof RefusedBefore ? error.cause : error
  }
}

type Telling = Pick<Taken, 'ignored' | 'withHashes'>

interface Guarded {
  asked: ToolCall
  telling: Telling
  guard: RepeatGuard | undefined
}

async function decideAndSend(dependencies: Dependencies, { asked, telling, guard }: Guarded, context: ServerContext) {
  const { operation, input, fault } = asked
  const decision = await decide(dependencies, asked, context, () => guard?.wasDecided())
  if (!decision.go) return decision.answer
  const { of, decided, held } = decision
  const { signal } = context.mcpReq
  const { call } = await dependencies.client()
  const progress = progressOf(context, dependencies)
  const send = (options: CallOptions) =>
    progress.during(input.waitSeconds, () =>
      call(operation, guard?.input ?? input, { signal, fault, ...options, onAttempt: progress.attempt }),
    )
  const perform = async (idempotencyKey: string | undefined): Promise<Sent> => {
    if (guard !== undefined) return guard.send(idempotencyKey, decided, send)
    const result = await send({ idempotencyKey })
    // Under a key that this very call made up, a replay is the answer to its own first attempt.
    return { ...result, replayed: result.replayed && idempotencyKey !== undefined }
  }
  const outcome = await unlessRefused(dependencies, held, () =>
    withVerification(dependencies, { operation: operation.name, ...decision, perform }, context),
  )
  if ('answer' in outcome) return outcome.answer
  const result = outcome.done
  // An answer that was kept comes without a request, so nobody else tells of it.
  if (result.attempts === 0) noteRepeated(dependencies, asked, context, result)
  if (held !== undefined) await dependencies.decisions?.finish(held.id, { data: result.data, meta: result.meta })
  if (operation.effect !== 'read') announceChanges(dependencies, input, result)
  if (dependencies.cardDetails === 'masked' && operation.name === agentCards.getAgentCardDetails.name) {
    return await showMasked(dependencies, { result, input, of }, context)
  }
  const { replayed, repeated, idempotencyKey } = result
  const reader = recordReaderOf(dependencies, operation)
  const remark = result.remark ?? (await beyondFunds(dependencies, operation, result, { input, signal }))
  return success(operation, result, { replayed, repeated, idempotencyKey, reader, remark, ...telling })
}

function noteRepeated(
  dependencies: Dependencies,
  { operation, given }: ToolCall,
  context: ServerContext,
  { repeated }: Sent,
) {
  const remark = repeated?.next ?? ''
  note(dependencies, context, {
    kind: 'call',
    outcome: 'repeated',
    operation: operation.name,
    arguments: given,
    remark,
  })
}

/** What a person decided is not carried out yet where they are first to verify: then it is tried again, as another try. */
async function unlessRefused<T>(
  { decisions }: Dependencies,
  held: Held | undefined,
  carry: () => Promise<T>,
): Promise<T> {
  try {
    return await carry()
  } catch (error) {
    if (held !== undefined && isVerification(error)) await decisions?.tryAgain(held)
    throw error
  }
}

/** A failed call as the model sees it. */
function failure({ error, ...call }: Refused): CallToolResult {
  const { code, status, source } = error
  const detail = error.message
  if (error instanceof WrongArguments || error instanceof OverBefore)
    return failed({ code, status, detail, source, next: error.next })
  const supportId = 'supportId' in error ? error.supportId : undefined
  const next = nextStep({ error, ...call })
  return failed({
    code,
    status,
    detail,
    supportId,
    source,
    next,
    idempotencyKey: call.decision === undefined ? keyToRepeat(error) : undefined,
  })
}

const notGranted = ({ name }: OperationDefinition) =>
  `What was granted to this connection does not include ${name}. Connect again and grant it.`
