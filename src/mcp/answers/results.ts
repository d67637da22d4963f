import type { CallToolResult } from '@modelcontextprotocol/server'
import type { OperationDefinition } from '../../core/operation.ts'
import { type TextOptions, textOf } from './texts.ts'
import { shownToModels } from './withheld-attributes.ts'

interface Answer {
  data: unknown
  meta: Record<string, unknown> | undefined
}

/** Additions to the service's answer in a tool's result, and options for the text of the result. */
interface Notes extends Partial<Pick<TextOptions, 'withHashes' | 'reader'>> {
  /** Whether this is the recorded answer to an earlier call with the same idempotency key. */
  replayed?: boolean
  /** Set if this is the answer to an earlier call with the same arguments. */
  repeated?: Repeated | undefined
  idempotencyKey?: string | undefined
  /** Unknown arguments, which the tool ignored. */
  ignored?: readonly string[]
  /** Advice on the next step. */
  next?: string
  /** A remark on the current state, for the model. It is not stored with the answer, so a replay does not repeat it. */
  remark?: string | undefined
}

/** The time of an earlier call with the same arguments, and advice on how to make the call once more on purpose. */
export interface Repeated {
  at: string
  next: string
}

/**
 * The field of a result's `_meta` that contains the call's idempotency key. With that key, a program can repeat the
 * call or find its outcome.
 */
export const idempotencyMetaKey = 'payments-mcp/idempotencyKey'

/**
 * Returns the service's answer as a tool's result. A program gets it as structured content. A model gets it as plain
 * text, because JSON would take several times as many tokens.
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
 * Returns an error as a tool's result: a sentence, and on the next line the error's fields as JSON. Hosts check
 * structured content, and text that is JSON, against the output schema. An error does not match that schema, and hosts
 * would report the mismatch instead of the error. So the result has no structured content, and its text as a whole is
 * not JSON.
 */
export function failedResult(
  error: { code: string; detail: string; next: string } & Record<string, unknown>,
): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: `${error.detail}\n${JSON.stringify({ error })}` }] }
}
