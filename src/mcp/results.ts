import type { CallToolResult } from '@modelcontextprotocol/server'
import type { ApiError } from '../client/api-error.ts'
import type { CallResult } from '../client/client.ts'
import { errorTable, Failure } from '../errors.ts'
import type { OperationDefinition } from '../operation.ts'

/** What the service answered, for a program as structured content and for a model as the same in compact JSON. */
export function success({ data, meta }: CallResult<OperationDefinition>): CallToolResult {
  const structuredContent = meta === undefined ? { data } : { data, meta }
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
}

/**
 * A failed call as the model sees it. Only as text: clients of the 2025 era check structured content against the
 * output schema even where the result is an error.
 */
export function failure(error: Failure | ApiError): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: JSON.stringify({ error: described(error) }) }] }
}

/** What a model does after a person said no. */
export const askNoMore = 'Tell them so. Do not call again unless they ask for it.'

/** What a person did not decide, or decided against. The service was not asked to do it. */
export function refused(code: string, told: { detail: string; next: string }): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: JSON.stringify({ error: { code, ...told } }) }] }
}

function described(error: Failure | ApiError) {
  if (error instanceof Failure) {
    const { code, status, message, source } = error
    // It never left this process, so there is no key that it was sent with.
    const next = code === 'invalid_value' ? 'Correct the arguments and call again.' : errorTable[code].next
    return { code, status, detail: message, source, next }
  }
  const { code, status, detail, supportId, source, idempotencyKey } = error
  return { code, status, detail, supportId, source, next: nextStep(error), idempotencyKey }
}

function nextStep({ retryable, retryAfterSeconds, idempotencyKey, next }: ApiError): string {
  if (!retryable) return next
  const wait = retryAfterSeconds === undefined ? '' : `Wait ${retryAfterSeconds} s. `
  if (idempotencyKey === undefined) return `${wait}Repeat this call: it is safe.`
  return `${wait}Repeat this call with idempotencyKey ${JSON.stringify(idempotencyKey)}: it is safe, nothing happens twice.`
}
