import type { CallToolResult } from '@modelcontextprotocol/server'
import type { OperationDefinition } from '../../core/operation.ts'
import { type TextOptions, textOf } from './texts.ts'
import { shownToModels } from './withheld-attributes.ts'

interface Answer {
  data: unknown
  meta: Record<string, unknown> | undefined
}

/** The notes that a result adds to the service's answer. */
interface Notes extends Partial<Pick<TextOptions, 'withHashes' | 'reader'>> {
  /** Whether this is the recorded answer to an earlier call with the same key. */
  replayed?: boolean
  /** Set if this is the answer to an equal earlier call: the time of that call, and how to repeat it on purpose. */
  repeated?: Repeated | undefined
  /** The key of the request. */
  idempotencyKey?: string | undefined
  /** Arguments that the tool does not know. */
  ignored?: readonly string[]
  /** The next step. */
  next?: string
  /**
   * A remark on the current state, for the model only. It is not part of the answer, which a replay repeats unchanged.
   */
  remark?: string | undefined
}

export interface Repeated {
  at: string
  next: string
}

/**
 * The name of the idempotency key in a result's `_meta`. With this key, a program can repeat the call or find its
 * outcome.
 */
export const idempotencyMetaKey = 'payments-mcp/idempotencyKey'

/**
 * Returns the service's answer as a result. A program gets all of it as structured content; a model gets it in words,
 * because JSON would cost the model several times as much.
 */
export function success(operation: OperationDefinition, { data, meta }: Answer, notes: Notes = {}): CallToolResult {
  const { replayed = false, repeated, idempotencyKey, ignored = [], next, remark } = notes
  const { withHashes = false, reader } = notes
  const resultMeta = {
    ...meta,
    ...(next === undefined ? {} : { next }),
    ...(ignored.length === 0 ? {} : { ignoredArguments: ignored }),
  }
  const structuredContent = {
    data: shownToModels(data),
    ...(Object.keys(resultMeta).length === 0 ? {} : { meta: resultMeta }),
    ...(replayed ? { replayed } : {}),
    ...(repeated === undefined ? {} : { repeated }),
  }
  const lines = [
    ...(repeated === undefined ? [] : [repeated.next]),
    ...(replayed ? ['This is the recorded answer to an earlier call with this idempotencyKey.'] : []),
    ...(ignored.length === 0 ? [] : [`Ignored, because this tool has no such arguments: ${ignored.join(', ')}.`]),
    ...[next, remark].filter((line) => line !== undefined),
    textOf({ data: structuredContent.data, meta }, { operation, withHashes, reader }),
  ]
  const _meta = idempotencyKey === undefined ? {} : { _meta: { [idempotencyMetaKey]: idempotencyKey } }
  return { content: [{ type: 'text', text: lines.join('\n') }], structuredContent, ..._meta }
}

/**
 * Returns an error as a sentence, then its fields as JSON on the next line. The result has no structured content, and
 * its text is not JSON as a whole: hosts check structured content and JSON texts against the output schema, even for an
 * error, and would show the mismatch instead of the error.
 */
export function failedResult(
  error: { code: string; detail: string; next: string } & Record<string, unknown>,
): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: `${error.detail}\n${JSON.stringify({ error })}` }] }
}
