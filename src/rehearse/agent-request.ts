import { z } from 'zod'
import { operationsByName } from '../../tools/index.ts'
import { WaitSeconds } from '../../tools/schemas.ts'
import { jsonIn } from './bodies.ts'
import { maskText, maskValue } from './mask.ts'
import { askTool } from './questions.ts'

/** An agent's request, prepared for passing it on and recording it. */
export interface AgentRequest {
  /** The request that is passed on instead of the original one. */
  request: Request
  /** The steps to record and count. There are none if the request only connects, lists tools or loads a file. */
  steps: AgentStep[]
  /** The question to the person, if the request asks one. It is not passed on. */
  question?: string
  /** Whether the request lists tools. */
  listsTools?: boolean
}

/** One step of the agent. */
export interface AgentStep {
  kind: 'call' | 'page'
  what: string
  /** The sent values, with secrets masked. */
  sent: unknown
  /** The texts that others may read, each with the field that contains it. Secrets are not masked here. */
  texts: { where: string; text: string }[]
  /** How long the request waits for a change. */
  waitMs: number
  /** The id of the MCP message. */
  id?: unknown
}

const mcp = /^\/mcp(?:\/(?!server-card)|$)/
/** Paths that browsers and hosts load on their own. */
const loaded = /^\/(?:favicon|styles\/|scripts\/|checkout\/[\w-]+\.js$|\.well-known\/|openapi|health|ready|docs)/

/** Reads a request and its whole body, which is never long because the sandbox refuses large bodies. */
export async function readAgentRequest(request: Request): Promise<AgentRequest> {
  const { pathname, searchParams } = new URL(request.url)
  if (mcp.test(pathname)) return request.method === 'POST' ? readMessages(request) : { request, steps: [] }
  if (loaded.test(pathname)) return { request, steps: [] }
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

/** The path at which an agent without MCP asks the person. */
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

/** Removes `waitSeconds`, because the trial's clock has already moved forward by the wait. */
function withoutWait(request: Request, body: string, waited: boolean): Request {
  const url = new URL(request.url)
  if (waited) url.searchParams.delete('waitSeconds')
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
  const passedOn = (body: string) => new Request(request.url, { method, headers: withoutLength(headers), signal, body })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { request: passedOn(text), steps: [] }
  }
  const messages = (Array.isArray(value) ? value : [value]).map((message) => Message.safeParse(message).data)
  const read = messages.map((message) => (message === undefined ? undefined : readMessage(message)))
  const changed = messages.map((message, at) => read[at]?.message ?? message)
  const [first] = messages
  if (!Array.isArray(value) && first?.method === 'tools/list')
    return { request: passedOn(text), steps: [], listsTools: true }
  const call = first?.method === 'tools/call' ? ToolCall.safeParse(first.params).data : undefined
  if (!Array.isArray(value) && call?.name === askTool) {
    const question = String(call.arguments.question ?? '')
    return { request, question, steps: [{ ...questionStep(question), id: first?.id }] }
  }
  const body = messages.includes(undefined) ? text : JSON.stringify(Array.isArray(value) ? changed : changed[0])
  return { request: passedOn(body), steps: read.flatMap((one) => one?.step ?? []) }
}

function withoutLength(headers: Headers): Headers {
  const others = new Headers(headers)
  others.delete('content-length')
  return others
}

function readMessage(message: Message): { message: Message; step?: AgentStep } {
  const asking = { ...message, ...(message.params === undefined ? {} : { params: withoutElicitation(message.params) }) }
  const call = message.method === 'tools/call' ? ToolCall.safeParse(message.params).data : undefined
  if (call === undefined) return { message: asking }
  const { waitSeconds, ...others } = call.arguments
  const waitMs = waitOf(waitSeconds)
  const isHeld = typeof call.arguments.decision === 'string'
  const params = { ...asking.params, arguments: waitMs > 0 ? others : call.arguments }
  const step: AgentStep = {
    kind: 'call',
    what: maskText(call.name).slice(0, 100),
    sent: sentOf(call.arguments),
    texts: operationsByName.get(call.name)?.effect === 'read' ? [] : textsOf(call.arguments, call.name),
    waitMs: isHeld ? heldWaitMs : waitMs,
    id: message.id,
  }
  return { message: { ...asking, params }, step }
}

/** How long a repeated call waits for the decision that it names. */
const heldWaitMs = 50_000

/** Removes elicitation from the client's capabilities. Nobody sits at the host, so decisions are made on the page. */
function withoutElicitation(params: Record<string, unknown>): Record<string, unknown> {
  const withoutSecrets = (value: unknown) => {
    const { elicitation: _, ...others } = { ...(value as Record<string, unknown>) }
    return others
  }
  const meta = params._meta as Record<string, unknown> | undefined
  const metaKey = Object.keys(meta ?? {}).find((key) => key.endsWith('/clientCapabilities'))
  return {
    ...params,
    ...(params.capabilities === undefined ? {} : { capabilities: withoutSecrets(params.capabilities) }),
    ...(metaKey === undefined ? {} : { _meta: { ...meta, [metaKey]: withoutSecrets(meta?.[metaKey]) } }),
  }
}

const maxShown = 2_000

/** Masks secrets, and cuts long inputs. */
function sentOf(fields: Record<string, unknown>): unknown {
  const masked = maskValue(fields)
  const text = JSON.stringify(masked)
  return text.length <= maxShown ? masked : `${text.slice(0, maxShown)}…`
}

/** Fields that are meant to contain card data, keys or long numbers. */
const ownFields: ReadonlySet<string> = new Set([
  ...['number', 'cvv', 'expirationMonth', 'expirationYear', 'expiry', 'accountNumber', 'routingNumber'],
  ...['idempotencyKey', 'decision', 'formToken', 'token'],
])

/** Lists all texts of a request that changes something, since others may read them. */
function textsOf(fields: unknown, where: string): { where: string; text: string }[] {
  if (typeof fields === 'string') return [{ where, text: fields }]
  if (typeof fields !== 'object' || fields === null) return []
  return Object.entries(fields).flatMap(([name, value]) =>
    ownFields.has(name) ? [] : textsOf(value, Array.isArray(fields) ? where : `${where} ${name}`),
  )
}
