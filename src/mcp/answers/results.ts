import type { CallToolResult } from '@modelcontextprotocol/server'
import type { CallResult } from '../../client/client.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { keyToRepeat, nextStep, type Refused } from '../tools/next-steps.ts'
import { WrongArguments } from '../tools/wrong-arguments.ts'
import { shownToModels } from './withheld.ts'

/** What a result tells besides what the service answered. */
interface Notes {
  /** It is the recorded answer of an earlier call with the same key. */
  replayed?: boolean
  /** Arguments that the tool does not have. */
  ignored?: readonly string[]
}

/** What the service answered, for a program as structured content and for a model as the same in compact JSON. */
export function success(
  { data, meta }: Pick<CallResult<OperationDefinition>, 'data' | 'meta'>,
  { replayed = false, ignored = [] }: Notes = {},
): CallToolResult {
  const told = ignored.length === 0 ? meta : { ...meta, ignoredArguments: ignored }
  const structuredContent = {
    data: shownToModels(data),
    ...(told === undefined ? {} : { meta: told }),
    ...(replayed ? { replayed } : {}),
  }
  return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent }
}

/** A failed call as the model sees it. */
export function failure({ error, ...call }: Refused): CallToolResult {
  const { code, status, source } = error
  const detail = error.message
  if (error instanceof WrongArguments) return failed({ code, status, detail, source, next: error.next })
  const supportId = 'supportId' in error ? error.supportId : undefined
  const next = nextStep({ error, ...call })
  return failed({ code, status, detail, supportId, source, next, idempotencyKey: keyToRepeat(error) })
}

/** What a model does after a person said no. */
export const askNoMore = 'Tell them so. Do not call again unless they ask for it.'

/** What a person did not decide, or decided against. The service was not asked to do it. */
export function refused(code: string, told: { detail: string; next: string }): CallToolResult {
  return failed({ code, ...told })
}

/** Nobody decided, because nobody saw the question: people find it where they are told to look. */
export function notShown(where: string): CallToolResult {
  return refused('confirmation_not_shown', {
    detail: 'The host did not show the question to the person, or they closed it unanswered. Nothing was done.',
    next: `Tell them: they can do it ${where}. Do not call again unless they ask for it.`,
  })
}

/**
 * A sentence, then the fields as JSON on a line of their own. Nothing structured, and no text that is JSON as a whole:
 * hosts check either with the output schema, even of an error, and would show the mismatch instead of what it says.
 */
function failed(error: { detail: string } & Record<string, unknown>): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: `${error.detail}\n${JSON.stringify({ error })}` }] }
}
