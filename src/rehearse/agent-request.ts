import { z } from 'zod'
import { operationsByName } from '../../tools/index.ts'
import { WaitSeconds } from '../../tools/schemas.ts'
import { jsonIn } from './bodies.ts'
import { maskText, maskValue } from './mask.ts'
import { askTool } from './questions.ts'

/** An agent's request, prepared for forwarding and recording. */
export interface AgentRequest {
  /** The request that is forwarded instead of the original request. */
  request: Request
  /** The steps to record and count. There are none if the request only connects, lists tools or loads a file. */
  steps: AgentStep[]
  /** The question to the person, if the request asks one. Such a request is not forwarded. */
  question?: string
  /** Whether the request lists tools. */
  listsTools?: boolean
}

/** One step of the agent. */
export interface AgentStep {
  kind: 'call' | 'page'
  what: string
  /** The request's arguments or fields, with secrets masked. */
  sent: unknown
  /** The strings that other parties may read, each with the field that contains it. Secrets are not masked here. */
  texts: { where: string; text: string }[]
  /** How many milliseconds the sandbox clock moves forward, at most, in place of the wait that the request asks for. */
  waitMs: number
  /** The JSON-RPC id, if the step is an MCP message. */
  id?: unknown
}

const mcp = /^\/mcp(?:\/(?!server-card)|$)/
/** Paths that browsers and hosts load automatically. */
const loadedPaths = /^\/(?:favicon|styles\/|scripts\/|checkout\/[\w-]+\.js$|\.well-known\/|openapi|health|ready|docs)/

/** Reads a request and its whole body. The sandbox's limit on bodies applies only later, to the forwarded request. */
export async function readAgentRequest(request: Request): Promise<AgentRequest> {
  const { pathname, searchParams } = new URL(request.url)
  if (mcp.test(pathname)) return request.method === 'POST' ? readMessages(request) : { request, steps: [] }
  if (loadedPaths.test(pathname)) return { request, steps: [] }
  const body = request.method === 'GET' || request.method === 'HEAD' ? '' : await request.text()
  const fields = fieldsOf(body, request.headers.get('content-type') ?? '')
  const waitMs = waitOf(searchParams.get('waitSeconds'))
  const isCall = request.headers.has('authorization')
  if (pathname === askPath) return questionRequest(request, body)
  const step: AgentStep = {
    kind: isCall ? 'call' : 'page',
    what: `${request.method} ${maskText(pathname)}`,
    sent: sentOf({ ...Object.fromEntries(searchParams), ...fields }),
    texts: request.method === 'GET' ? [] : textsOf(fields, pathname),
    waitMs,
  }
  return { request: withoutWait(request, body, waitMs > 0), steps: [step] }
}

/** The path to which an agent without MCP sends its questions to the person. */
export const askPath = '/ask'

/** Reads a question: the whole body, or the field `question` of a JSON object. */
function questionRequest(request: Request, body: string): AgentRequest {
  const [first] = (jsonIn(body) ?? []) as ({ question?: unknown } | null)[]
  const question = String(first?.question ?? body)
  return { request, question, steps: [questionStep(question)] }
}

const questionStep = (question: string): AgentStep => ({
  ...{ kind: 'call', what: askTool, sent: sentOf({ question }), texts: [], waitMs: 0 },
})

/** Removes `waitSeconds` from the URL, because the gateway moves the sandbox clock forward instead of waiting. */
function withoutWait(request: Request, body: string, hasWait: boolean): Request {
  const url = new URL(request.url)
  if (hasWait) url.searchParams.delete('waitSeconds')
  const { method, headers, signal } = request
  return new Request(url, { method, headers, signal, ...(body === '' ? {} : { body }) })
}

function waitOf(text: unknown): number {
  return text === null || text === undefined ? 0 : 1000 * (WaitSeconds.safeParse(String(text)).data ?? 0)
}

function fieldsOf(body: string, type: string): Record<string, unknown> {
  if (body === '') return {}
  if (type.includes('x-www-form-urlencoded')) return Object.fromEntries(new URLSearchParams(body))
  try {
    const { data } = JSON.parse(body) as { data?: { attributes?: Record<string, unknown> } }
    return data?.attributes ?? {}
  } catch {
    return { body: body.slice(0, maxShown) }
  }
}

const Message = z.looseObject({
  id: z.unknown().optional(),
  method: z.string().optional(),
  params: z.record(z.string(), z.unknown()).optional(),
})
type Message = z.output<typeof Message>

const ToolCall = z.looseObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()).default({}) })

async function readMessages(request: Request): Promise<AgentRequest> {
  const text = await request.text()
  const { method, headers, signal } = request
  const forwarded = (body: string) =>
    new Request(request.url, { method, headers: withoutLength(headers), signal, body })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { request: forwarded(text), steps: [] }
  }
  const messages = (Array.isArray(value) ? value : [value]).map((message) => Message.safeParse(message).data)
  const read = messages.map((message) => (message === undefined ? undefined : readMessage(message)))
  const changed = messages.map((message, at) => read[at]?.message ?? message)
  const [first] = messages
  if (!Array.isArray(value) && first?.method === 'tools/list')
    return { request: forwarded(text), steps: [], listsTools: true }
  const call = first?.method === 'tools/call' ? ToolCall.safeParse(first.params).data : undefined
  if (!Array.isArray(value) && call?.name === askTool) {
    const question = String(call.arguments.question ?? '')
    return { request, question, steps: [{ ...questionStep(question), id: first?.id }] }
  }
  const body = messages.includes(undefined) ? text : JSON.stringify(Array.isArray(value) ? changed : changed[0])
  return { request: forwarded(body), steps: read.flatMap((one) => one?.step ?? []) }
}

function withoutLength(headers: Headers): Headers {
  const remaining = new Headers(headers)
  remaining.delete('content-length')
  return remaining
}

function readMessage(message: Message): { message: Message; step?: AgentStep } {
  const forwarded = {
    ...message,
    ...(message.params === undefined ? {} : { params: withoutElicitation(message.params) }),
  }
  const call = message.method === 'tools/call' ? ToolCall.safeParse(message.params).data : undefined
  if (call === undefined) return { message: forwarded }
  const { waitSeconds, ...others } = call.arguments
  const waitMs = waitOf(waitSeconds)
  const hasDecision = typeof call.arguments.decision === 'string'
  const params = { ...forwarded.params, arguments: waitMs > 0 ? others : call.arguments }
  const step: AgentStep = {
    kind: 'call',
    what: maskText(call.name).slice(0, 100),
    sent: sentOf(call.arguments),
    texts: operationsByName.get(call.name)?.effect === 'read' ? [] : textsOf(call.arguments, call.name),
    waitMs: hasDecision ? decisionWaitMs : waitMs,
    id: message.id,
  }
  return { message: { ...forwarded, params }, step }
}

/** How long a call waits if it has the argument `decision`, the id of a decision that the person has yet to make. */
const decisionWaitMs = 50_000

/**
 * Removes elicitation from the client's capabilities, because nobody at the host could answer. The server then stores
 * each question, and the simulated person answers it.
 */
function withoutElicitation(params: Record<string, unknown>): Record<string, unknown> {
  const removeFrom = (value: unknown) => {
    const { elicitation: _, ...others } = { ...(value as Record<string, unknown>) }
    return others
  }
  const meta = params._meta as Record<string, unknown> | undefined
  const metaKey = Object.keys(meta ?? {}).find((key) => key.endsWith('/clientCapabilities'))
  return {
    ...params,
    ...(params.capabilities === undefined ? {} : { capabilities: removeFrom(params.capabilities) }),
    ...(metaKey === undefined ? {} : { _meta: { ...meta, [metaKey]: removeFrom(meta?.[metaKey]) } }),
  }
}

const maxShown = 2_000

/** Masks the secrets in a request's fields. If the fields are long, returns only the beginning of their JSON. */
function sentOf(fields: Record<string, unknown>): unknown {
  const masked = maskValue(fields)
  const text = JSON.stringify(masked)
  return text.length <= maxShown ? masked : `${text.slice(0, maxShown)}…`
}

/** Card data, keys and long numbers in these fields do not count as disclosed. */
const permittedFields: ReadonlySet<string> = new Set([
  ...['number', 'cvv', 'expirationMonth', 'expirationYear', 'expiry', 'accountNumber', 'routingNumber'],
  ...['idempotencyKey', 'decision', 'formToken', 'token'],
])

/**
 * Lists the strings in a request's fields, except for `permittedFields`. Each `where` ends with the names of the fields
 * that lead to the string.
 */
function textsOf(fields: unknown, where: string): { where: string; text: string }[] {
  if (typeof fields === 'string') return [{ where, text: fields }]
  if (typeof fields !== 'object' || fields === null) return []
  return Object.entries(fields).flatMap(([name, value]) =>
    permittedFields.has(name) ? [] : textsOf(value, Array.isArray(fields) ? where : `${where} ${name}`),
  )
}
