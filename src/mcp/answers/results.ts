import type { CallToolResult } from '@modelcontextprotocol/server'
import type { OperationDefinition } from '../../core/operation.ts'
import { type Telling, textOf } from './texts.ts'
import { shownToModels } from './withheld.ts'

interface Answer {
  data: unknown
  meta: Record<string, unknown> | undefined
}

/** The notes in a result beside the service's answer. */
interface Notes extends Partial<Pick<Telling, 'withHashes' | 'reader'>> {
  /** It is the recorded answer of an earlier call with the same key. */
  replayed?: boolean
  /** It is the answer of an equal call before: when that was, and how to make the call once more. */
  repeated?: Repeated | undefined
  /** The key that it was sent under. */
  idempotencyKey?: string | undefined
  /** Arguments that the tool does not have. */
  ignored?: readonly string[]
  /** The next step. */
  next?: string
  /** A remark on the present state, for the model only: it is no part of the answer, which a replay brings unchanged. */
  remark?: string | undefined
}

export interface Repeated {
  at: string
  next: string
}

/** The key in a result's `_meta` by which a program repeats the call, or finds what it did. */
export const idempotencyMetaKey = 'payments-mcp/idempotencyKey'

/**
 * Returns the service's answer as a result: whole for a program, as structured content, and in words for a model. The
 * same as JSON would cost the model several times as much.
 */
export function success(operation: OperationDefinition, { data, meta }: Answer, notes: Notes = {}): CallToolResult {
  const { replayed = false, repeated, idempotencyKey, ignored = [], next, remark } = notes
  const { withHashes = false, reader } = notes
  const beside = {
    ...meta,
    ...(next === undefined ? {} : { next }),
    ...(ignored.length === 0 ? {} : { ignoredArguments: ignored }),
  }
  const structuredContent = {
    data: shownToModels(data),
    ...(Object.keys(beside).length === 0 ? {} : { meta: beside }),
    ...(replayed ? { replayed } : {}),
    ...(repeated === undefined ? {} : { repeated }),
  }
  const lines = [
    ...(repeated === undefined ? [] : [repeated.next]),
    ...(replayed ? ['This is the recorded answer of an earlier call with this idempotencyKey.'] : []),
    ...(ignored.length === 0 ? [] : [`There are no such arguments here, and they did nothing: ${ignored.join(', ')}.`]),
    ...[next, remark].filter((line) => line !== undefined),
    textOf({ data: structuredContent.data, meta }, { operation, withHashes, reader }),
  ]
  const _meta = idempotencyKey === undefined ? {} : { _meta: { [idempotencyMetaKey]: idempotencyKey } }
  return { content: [{ type: 'text', text: lines.join('\n') }], structuredContent, ..._meta }
}

/**
 * A sentence, then the fields as JSON on a line of their own. Nothing structured, and no text that is JSON as a whole:
 * hosts check either with the output schema, even of an error, and would show the mismatch instead of what it says.
 */
export function failed(
  error: { code: string; detail: string; next: string } & Record<string, unknown>,
): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: `${error.detail}\n${JSON.stringify({ error })}` }] }
}
