import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { ApiError } from '../../client/api-error.ts'
import { errorTable, Failure } from '../../core/errors.ts'
import { ConnectionCutError, type Fault } from '../../core/faults.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { idempotencyMetaKey } from '../answers/results.ts'
import type { CallFaults, Dependencies } from '../dependencies.ts'

type Answer = CallToolResult | InputRequiredResult

const slowMs = 2_000
const hangMs = 60_000

/** Lets a call meet the fault that is planned for it, if any (docs/sandbox.md#faults). */
export async function meetFault(
  dependencies: Dependencies,
  operation: OperationDefinition,
  context: ServerContext,
  carry: () => Promise<Answer>,
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
  carry: () => Promise<Answer>
}

async function meet(fault: Fault, { dependencies, faults, operation, context, carry }: Meeting): Promise<Answer> {
  const { id, signal } = context.mcpReq
  const cut = (): never => {
    faults.cut(id)
    throw new ConnectionCutError()
  }
  switch (fault.kind) {
    case 'error':
      throw refusalOf(fault)
    case 'slow':
      try {
        return await carry()
      } finally {
        await dependencies.system.sleep(fault.afterMs ?? slowMs, signal)
      }
    case 'hang':
      await dependencies.system.sleep(fault.afterMs ?? hangMs, signal)
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
      throw new Failure('invalid_value', {
        detail: `${fault.kind} is a fault of the API's answer: set it for the operation ${operation.name} without a path.`,
      })
  }
}

/** As the API's refusal would be shown that says the same. */
function refusalOf({ code = 'service_unavailable' }: Fault): Failure {
  return new Failure(code, code === 'rate_limited' ? { retryAfterSeconds: 1 } : {})
}

/** What a client tells whose attempts were all answered 503: nobody knows what was done, and with its key one finds out. */
function unavailable({ effect }: OperationDefinition, { _meta }: Answer): ApiError {
  const { status, detail, next } = errorTable.service_unavailable
  const idempotencyKey = _meta?.[idempotencyMetaKey] as string | undefined
  return new ApiError({
    ...{ code: 'service_unavailable', status, detail, next, idempotencyKey, attempts: 1 },
    ...{ supportId: undefined, source: undefined, accepts: undefined, retryAfterSeconds: undefined },
    retryable: true,
    outcomeUnknown: effect !== 'read',
    unreached: false,
    tooLarge: false,
  })
}
