import { maskText } from './mask.ts'

/** The outcome of a step: `ok`, an error code or `no answer`, and the answer in short, without secrets. */
export interface Outcome {
  outcome: string
  answer: string
}

export const noAnswer: Outcome = { outcome: 'no answer', answer: '' }

const mostShown = 600

/** Reads the answer to a request to the REST API. */
export function restOutcome(status: number, body: string): Outcome {
  const { errors, data } = parsed(body) as { errors?: { code?: string; detail?: string }[]; data?: unknown }
  if (status < 400) return { outcome: 'ok', answer: short(JSON.stringify(data ?? null)) }
  const [error] = errors ?? []
  return { outcome: error?.code ?? `HTTP ${status}`, answer: short(error?.detail ?? body) }
}

/** Reads the words of a page. */
export function pageOutcome(status: number, body: string): Outcome {
  const words = body
    .replace(/<(script|style|head)\b[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&nbsp;/g, ' ')
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
  return { outcome: status < 400 ? 'ok' : `HTTP ${status}`, answer: short(words.trim()) }
}

interface RpcMessage {
  id?: unknown
  error?: { code: number; message?: string }
  result?: { isError?: boolean; content?: { type: string; text?: string }[] }
}

/** Reads the answer to one call of a tool, as JSON or as a stream of events. */
export function toolOutcome(status: number, type: string, body: string, id: unknown): Outcome {
  const message = messagesIn(type, body).find((one) => one.id === id && (one.result ?? one.error) !== undefined)
  if (message === undefined) return status < 400 ? noAnswer : { outcome: `HTTP ${status}`, answer: short(body) }
  if (message.error !== undefined) return { outcome: 'refused', answer: short(message.error.message ?? '') }
  const text = (message.result?.content ?? []).map((content) => content.text ?? '').join('\n')
  const outcome = message.result?.isError === true ? (codeIn(text) ?? 'error') : 'ok'
  return { outcome, answer: short(outcome === 'ok' ? text : (text.split('\n')[0] ?? '')) }
}

function messagesIn(type: string, body: string): RpcMessage[] {
  const texts = type.includes('text/event-stream')
    ? body.split(/\r?\n\r?\n/).map((event) => [...event.matchAll(/^data: ?(.*)$/gm)].map(([, data]) => data).join('\n'))
    : [body]
  return texts.flatMap((text) => parsed(text) as RpcMessage | RpcMessage[])
}

/** Reads the code of an error, which is JSON on the last line of a result's text. */
function codeIn(text: string): string | undefined {
  const { error } = parsed(text.split('\n').at(-1) ?? '') as { error?: { code?: string } }
  return error?.code
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

function short(text: string): string {
  const masked = maskText(text)
  return masked.length <= mostShown ? masked : `${masked.slice(0, mostShown)}…`
}
