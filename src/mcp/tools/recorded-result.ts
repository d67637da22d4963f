import { agentCards } from '../../../tools/agent-cards.ts'
import { type ApiError, refusal } from '../../client/api-error.ts'
import { parseJson } from '../../core/json.ts'
import type { Environment, OperationDefinition } from '../../core/operation.ts'
import { failedResult, success } from '../answers/results.ts'
import { everyTool, type PersonAdvice } from '../dependencies.ts'
import { recordReaderOf } from './id-kinds.ts'
import { nextStep } from './next-steps.ts'
import { operationNamed } from './offered-operations.ts'

/** The API request of a tool call, as the service recorded it. */
interface RecordedCall {
  environment: Environment
  operation: string
  outcome: string
  status: number
  /** The body of the API's answer, with secrets masked. */
  answer: string
}

/** The tool result that the host got. */
interface RecordedResult {
  text: string
  /** The structured content as JSON; null for an error, which has only text. */
  structuredContent: string | null
  /** The next step for the model, if the result is an error; otherwise null. */
  next: string | null
}

/** The statuses after which the client retries the request, so that the model gets the answer to a later attempt. */
const retriedStatuses: readonly number[] = [408, 429, 502, 503]

const personAdvice: PersonAdvice = {
  signIn: 'Sign in again.',
  reach: 'Check that the API can be reached.',
  offer: (toolsets) => toolsets.join(', '),
}

/**
 * Returns the result that the host got for a recorded call, rendered as for a connection with all tools. Returns
 * undefined if the result is not known: the answer was truncated, the client retried the request, or the answer shows a
 * card number.
 */
export function recordedResult(call: RecordedCall): RecordedResult | undefined {
  const dependencies = { choice: everyTool(call.environment), api: { personAdvice } }
  const operation = operationNamed(dependencies.choice, call.operation)
  const json = parseJson(call.answer) as Json | undefined
  if (operation === undefined || json === undefined || retriedStatuses.includes(call.status)) return undefined
  if (operation.name === agentCards.getAgentCardDetails.name) return undefined
  const replayed = call.outcome === 'replayed'
  if (call.status < 300) {
    const reader = recordReaderOf(dependencies, operation)
    const { content, structuredContent } = success(
      operation,
      { data: json.data, meta: json.meta },
      { replayed, reader },
    )
    return { text: textIn(content), structuredContent: JSON.stringify(structuredContent), next: null }
  }
  const error = errorOf(operation, { ...call, json, replayed })
  const { code, status, source, supportId, message: detail } = error
  const next = nextStep({ dependencies, operation, error })
  const { content } = failedResult({ code, status, detail, supportId, source, next, idempotencyKey: undefined })
  return { text: textIn(content), structuredContent: null, next }
}

interface Json {
  data?: unknown
  meta?: Record<string, unknown>
}

function errorOf(
  operation: OperationDefinition,
  { status, json, replayed }: { status: number; json: Json; replayed: boolean },
) {
  const answer = {
    kind: 'answer',
    status,
    json,
    replayed,
    isCovered: undefined,
    retryAfter: null,
    requestId: null,
  } as const
  // `refusal` masks the credential. A recorded answer contains no credential, so a string that never occurs is passed.
  const call = { idempotencyKey: undefined, attempts: 1, host: '', credential: '\0', nowMs: 0 }
  return refusal(answer, { operation, ...call, earlierOutcomeUnknown: false }) as ApiError
}

const textIn = (content: readonly { type: string }[]) =>
  content.flatMap((part) => ('text' in part ? [String(part.text)] : [])).join('\n')
