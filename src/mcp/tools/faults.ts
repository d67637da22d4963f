import { ApiError } from '../../client/api-error.ts'
import { errorTable } from '../../core/errors.ts'
import { ConnectionCutError, defaultFaultMs, type Fault, faultRefusal } from '../../core/faults.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { idempotencyMetaKey } from '../answers/results.ts'
import type { RunNote } from '../dependencies.ts'
import { note } from '../run-notes.ts'
import type { Answer, Done, Known, Planned } from './phases.ts'

/**
 * Chooses the fault to inject into the call, if any (docs/sandbox.md#faults-over-mcp). Applies the fault if it prevents
 * the call from being carried out.
 * @throws the injected refusal, for an `error` fault; {ConnectionCutError} for `hang` and `reset`
 */
export async function applyFaultBefore(call: Known): Promise<Planned> {
  const { dependencies, context, name: operation } = call
  const fault = await dependencies.faults.plan(operation, context.http?.req?.headers)
  if (fault === undefined) return { ...call, fault }
  const { kind } = fault
  const faultNote = faultNotes[kind]
  if (faultNote !== undefined) note(dependencies, context, { ...faultNote, operation, fault: kind })
  if (kind === 'error') {
    const refusal = faultRefusal(fault)
    const { code, status, message: detail } = refusal
    const outcome = status < 500 ? 'refused' : 'failed'
    note(dependencies, context, { kind: 'call', outcome, operation, fault: kind, error: { code, status, detail } })
    throw refusal
  }
  if (kind === 'hang') await delay(call, fault)
  if (kind === 'hang' || kind === 'reset') throwCut(call)
  return { ...call, fault }
}

/** Applies a fault that delays, replaces or drops the answer. @throws {ConnectionCutError} for `effect_then_lost` */
export async function applyFaultAfter(call: Planned, done: Done): Promise<Done> {
  const { operation, fault } = call
  if (fault?.kind === 'slow') await delay(call, fault)
  if (fault?.kind === 'effect_then_lost') throwCut(call)
  if (fault?.kind !== 'effect_then_503' || !('answer' in done)) return done
  return { error: unavailableError(operation, done.answer), decision: done.decision }
}

/** Returns the fault if it changes the content of the API's answer; the API must then apply it. */
export function faultForApi(fault: Fault | undefined): Fault | undefined {
  return fault?.kind === 'stale' || fault?.kind === 'empty_page' ? fault : undefined
}

function delay({ dependencies, context }: Known, { kind, afterMs = defaultFaultMs[kind] ?? 0 }: Fault): Promise<void> {
  return dependencies.system.sleep(afterMs, context.mcpReq.signal)
}

function throwCut({ dependencies, context }: Known): never {
  dependencies.faults.cut(context.mcpReq.id)
  throw new ConnectionCutError()
}

/** The notes about faults in the run log. If the call is carried out, the log also has an entry for the call. */
const faultNotes: { readonly [Kind in Fault['kind']]?: Pick<RunNote, 'kind' | 'outcome' | 'remark'> } = {
  slow: { kind: 'happened', outcome: 'happened', remark: 'The answer reaches the host late.' },
  hang: { kind: 'call', outcome: 'unanswered', remark: 'The host gets no answer, and nothing is done.' },
  reset: { kind: 'call', outcome: 'unanswered', remark: 'The connection is cut, and nothing is done.' },
  effect_then_lost: { kind: 'happened', outcome: 'unanswered', remark: 'The call is done; the host gets no answer.' },
  effect_then_503: { kind: 'happened', outcome: 'failed', remark: 'The call is done; the host gets a 503.' },
  stale: { kind: 'happened', outcome: 'happened', remark: 'The answer shows the state before the last change.' },
  empty_page: { kind: 'happened', outcome: 'happened', remark: 'The host gets an empty list.' },
}

/**
 * Returns the error that the host would get if the API answered with 503. If the call makes a change, the error says
 * that the outcome is unknown. A retry with the same idempotency key then returns the result of the change.
 */
function unavailableError({ effect }: OperationDefinition, { _meta }: Answer): ApiError {
  const { status, detail, next } = errorTable.service_unavailable
  const idempotencyKey = _meta?.[idempotencyMetaKey] as string | undefined
  return new ApiError({
    code: 'service_unavailable',
    status,
    detail,
    next,
    idempotencyKey,
    attempts: 1,
    supportId: undefined,
    source: undefined,
    accepts: undefined,
    retryAfterSeconds: undefined,
    retryable: true,
    outcomeUnknown: effect !== 'read',
    unreached: false,
    tooLarge: false,
  })
}
