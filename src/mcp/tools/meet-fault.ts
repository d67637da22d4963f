import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { ApiError } from '../../client/api-error.ts'
import { errorTable } from '../../core/errors.ts'
import { ConnectionCutError, type Fault, faultRefusal, usualFaultMs } from '../../core/faults.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { idempotencyMetaKey } from '../answers/results.ts'
import type { CallFaults, Dependencies, RunNote } from '../dependencies.ts'
import { note } from '../noted.ts'

type Answer = CallToolResult | InputRequiredResult

/** Carries out a call, whose request to the API meets the fault if one is given. */
type Carry = (fault?: Fault) => Promise<Answer>

/** Lets a call meet the fault that is planned for it, if any (docs/sandbox.md#faults-over-mcp). */
export async function meetFault(
  dependencies: Dependencies,
  operation: OperationDefinition,
  context: ServerContext,
  carry: Carry,
): Promise<Answer> {
  const { faults } = dependencies
  if (faults === undefined) return carry()
  const fault = await faults.plan(operation.name, context.http?.req?.headers)
  return fault === undefined ? carry() : meet(fault, { dependencies, faults, operation, context, carry })
}

interface Meeting {
  dependencies: Dependencies
  faults: CallFaults
  operation: OperationDefinition
  context: ServerContext
  carry: Carry
}

async function meet(fault: Fault, { dependencies, faults, operation, context, carry }: Meeting): Promise<Answer> {
  const { id, signal } = context.mcpReq
  const { kind, afterMs = usualFaultMs[kind] ?? 0 } = fault
  const told = tellings[kind]
  if (told !== undefined) note(dependencies, context, { ...told, operation: operation.name, fault: kind })
  const cut = (): never => {
    faults.cut(id)
    throw new ConnectionCutError()
  }
  switch (kind) {
    case 'error': {
      const { code, status, message: detail } = faultRefusal(fault)
      const outcome = status < 500 ? 'refused' : 'failed'
      const error = { code, status, detail }
      note(dependencies, context, { kind: 'call', outcome, operation: operation.name, fault: kind, error })
      throw faultRefusal(fault)
    }
    case 'slow':
      try {
        return await carry()
      } finally {
        await dependencies.system.sleep(afterMs, signal)
      }
    case 'hang':
      await dependencies.system.sleep(afterMs, signal)
      return cut()
    case 'reset':
      return cut()
    case 'effect_then_lost':
      await carry().catch(() => {})
      return cut()
    case 'effect_then_503':
      throw unavailable(operation, await carry())
    case 'stale':
    case 'empty_page':
      return carry(fault)
  }
}

/** What the run is told of a fault at this door: a call that was carried out has an entry of its own besides. */
const tellings: { readonly [Kind in Fault['kind']]?: Pick<RunNote, 'kind' | 'outcome' | 'remark'> } = {
  slow: { kind: 'happened', outcome: 'happened', remark: 'The answer to the host comes late.' },
  hang: { kind: 'call', outcome: 'unanswered', remark: 'The host gets no answer, and nothing is done.' },
  reset: { kind: 'call', outcome: 'unanswered', remark: 'The connection is cut, and nothing is done.' },
  effect_then_lost: { kind: 'happened', outcome: 'unanswered', remark: 'It is done, and the host gets no answer.' },
  effect_then_503: { kind: 'happened', outcome: 'failed', remark: 'It is done, and the host is answered a 503.' },
  stale: { kind: 'happened', outcome: 'happened', remark: 'The answer is from before the last change.' },
  empty_page: { kind: 'happened', outcome: 'happened', remark: 'The list comes without its items.' },
}

/** What a client tells whose attempts were all answered 503: nobody knows what was done, and with its key one finds out. */
function unavailable({ effect }: OperationDefinition, { _meta }: Answer): ApiError {
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
