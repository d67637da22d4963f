import { jsonIn, wordsOf } from './bodies.ts'
import { maskText } from './mask.ts'

/** A step's outcome, such as `ok`, `no answer` or an error code, and its answer, shortened and with secrets masked. */
export interface Outcome {
  outcome: string
  answer: string
}

export const noAnswer: Outcome = { outcome: 'no answer', answer: '' }

const maxAnswerLength = 600

/** Returns the outcome of a request to the REST API. */
export function restOutcome(status: number, body: string): Outcome {
  const [answer = {}] = (jsonIn(body) ?? []) as { errors?: { code?: string; detail?: string }[]; data?: unknown }[]
  if (status < 400) return { outcome: 'ok', answer: shortText(JSON.stringify(answer?.data ?? null)) }
  const [error] = answer?.errors ?? []
  return { outcome: error?.code ?? `HTTP ${status}`, answer: shortText(error?.detail ?? body) }
}

/** Returns the outcome of opening a page. The answer is the text of the page, without HTML. */
export function pageOutcome(status: number, body: string): Outcome {
  return { outcome: status < 400 ? 'ok' : `HTTP ${status}`, answer: shortText(wordsOf(body)) }
}

interface RpcMessage {
  id?: unknown
  error?: { code: number; message?: string }
  result?: { isError?: boolean; content?: { type: string; text?: string }[] }
}

/** Returns the outcome of the tool call with this id. The body is JSON or a stream of events. */
export function toolOutcome(status: number, body: string, id: unknown): Outcome {
  const messages = (jsonIn(body) ?? []) as (RpcMessage | null)[]
  const message = messages.find((one) => one?.id === id && (one?.result ?? one?.error) !== undefined)
  if (message == null) return status < 400 ? noAnswer : { outcome: `HTTP ${status}`, answer: shortText(body) }
  if (message.error !== undefined) return { outcome: 'refused', answer: shortText(message.error.message ?? '') }
  const text = (message.result?.content ?? []).map((content) => content.text ?? '').join('\n')
  const outcome = message.result?.isError === true ? (codeIn(text) ?? 'error') : 'ok'
  return { outcome, answer: shortText(outcome === 'ok' ? text : (text.split('\n')[0] ?? '')) }
}

/** Returns the error code from the text of a failed tool call. The last line of the text is the error as JSON. */
function codeIn(text: string): string | undefined {
  const [last] = (jsonIn(text.split('\n').at(-1) ?? '') ?? []) as ({ error?: { code?: string } } | null)[]
  return last?.error?.code
}

function shortText(text: string): string {
  const masked = maskText(text)
  return masked.length <= maxAnswerLength ? masked : `${masked.slice(0, maxAnswerLength)}…`
}
