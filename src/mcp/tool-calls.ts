import { type CallToolResult, ProtocolError, ProtocolErrorCode, type ServerContext } from '@modelcontextprotocol/server'
import { ApiError } from '../client/api-error.ts'
import type { Client, Log } from '../client/client.ts'
import type { AttemptProgress } from '../client/retry.ts'
import { Failure, show } from '../errors.ts'
import type { OperationDefinition } from '../operation.ts'
import { failure, success } from './results.ts'
import { operationNamed, type ToolChoice } from './tools.ts'

export { toolList } from './tools.ts'

/** Calls the operation that a tool is. What it refuses is a result that says what to do, not a protocol error. */
export async function callTool(
  client: () => Promise<Client>,
  choice: ToolChoice,
  params: { name: string; arguments?: Record<string, unknown> | undefined },
  context: ServerContext,
  log: Log,
): Promise<CallToolResult> {
  const operation = operationNamed(choice, params.name)
  if (operation === undefined) {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${show(params.name)}`)
  }
  try {
    const { input, idempotencyKey } = takeKey(operation, params.arguments ?? {})
    const { signal } = context.mcpReq
    const { call } = await client()
    return success(await call(operation, input, { idempotencyKey, signal, onAttempt: reporter(context, log) }))
  } catch (error) {
    if (error instanceof Failure || error instanceof ApiError) return failure(error)
    // The SDK sends nothing for a cancelled request; this only keeps the cancellation out of the log.
    if (!context.mcpReq.signal.aborted) log.error({ err: error, tool: operation.name }, 'tool call failed unexpectedly')
    return failure(new Failure('server_error', { detail: 'The MCP server failed unexpectedly.' }))
  }
}

/** Parts the key from the arguments; where an operation takes none it stays, and is refused as unknown. */
function takeKey(operation: OperationDefinition, given: Record<string, unknown>) {
  const { idempotencyKey, ...input } = given
  if (operation.idempotency !== 'required' || idempotencyKey === undefined)
    return { input: given, idempotencyKey: undefined }
  if (typeof idempotencyKey === 'string') return { input, idempotencyKey }
  throw new Failure('invalid_value', {
    detail: `idempotencyKey must be a text; got ${show(idempotencyKey)}.`,
    source: { header: 'Idempotency-Key' },
  })
}

/** Reports attempts to a caller who asked for progress; undefined for one who did not. */
function reporter(context: ServerContext, log: Log): ((progress: AttemptProgress) => void) | undefined {
  const progressToken = context.mcpReq._meta?.progressToken
  if (progressToken === undefined) return undefined
  let progress = 0
  return (attempt) => {
    if (context.mcpReq.signal.aborted) return
    progress++
    const params = { progressToken, progress, message: progressMessage(attempt) }
    context.mcpReq
      .notify({ method: 'notifications/progress', params })
      .catch((error: unknown) => log.warn({ err: error }, 'progress not delivered'))
  }
}

function progressMessage({ attempt, maximumAttempts, waitMs, reason }: AttemptProgress): string {
  const which = `attempt ${attempt} of ${maximumAttempts}`
  return waitMs === 0 ? which : `${reason}; waiting ${(waitMs / 1000).toFixed(1)} s for ${which}`
}
