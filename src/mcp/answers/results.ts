import type { CallToolResult } from '@modelcontextprotocol/server'
import { shownToModels } from './withheld.ts'

interface Answer {
  data: unknown
  meta: Record<string, unknown> | undefined
}

/** What a result tells besides what the service answered. */
interface Notes {
  /** It is the recorded answer of an earlier call with the same key. */
  replayed?: boolean
  /** Arguments that the tool does not have. */
  ignored?: readonly string[]
}

/** What the service answered, for a program as structured content and for a model as the same in compact JSON. */
export function success({ data, meta }: Answer, { replayed = false, ignored = [] }: Notes = {}): CallToolResult {
  const told = ignored.length === 0 ? meta : { ...meta, ignoredArguments: ignored }
  const structuredContent = {
    data: shownToModels(data),
    ...(told === undefined ? {} : { meta: told }),
    ...(replayed ? { replayed } : {}),
  }
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
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
