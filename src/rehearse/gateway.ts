import { ConnectionCutError } from '../core/faults.ts'
import { isWithheld } from './agent-access.ts'
import { type AgentRequest, type AgentStep, readAgentRequest } from './agent-request.ts'
import { Reading } from './answer/reading.ts'
import { secretsIn } from './mask.ts'
import { type Questions, replyTo, withAskTool } from './questions.ts'
import type { Read } from './results.ts'
import { noAnswer, type Outcome, pageOutcome, restOutcome, toolOutcome } from './step-outcome.ts'
import type { TrialTimeline } from './trial-timeline.ts'

interface GatewayOptions {
  timeline: TrialTimeline
  serve(request: Request): Promise<Response>
  /** The simulated person's replies to the agent's questions. */
  questions: Questions
  /** The maximum number of steps that an agent can take in a trial. */
  maxCalls: number
  /** Runs once, when the agent exceeds `maxCalls`. */
  onTooMany(): void
}

/** The time that each request takes on the sandbox clock, including the agent's work before the request. */
const callMs = 1_000

/**
 * The gateway between an agent and its sandbox. It counts and records the agent's steps, and moves the sandbox clock
 * before each request. Requests run one after another, so that each change in the ledger belongs to one request.
 */
export class Gateway {
  /** The number of steps so far. */
  calls = 0
  readonly #options: GatewayOptions
  readonly #disclosed = new Set<string>()
  readonly #reading = new Reading()
  #lastRequest: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(options: GatewayOptions) {
    this.#options = options
  }

  /** The kinds of disclosed secrets, each with the field that contained the secret. */
  get disclosedSecrets(): readonly string[] {
    return [...this.#disclosed]
  }

  /** The facts that the agent has read in the sandbox's answers. */
  get read(): Read {
    return this.#reading.value
  }

  readonly answer = async (request: Request): Promise<Response> => {
    if (this.#isClosed) return refusalResponse(410, 'conflict', 'The trial is over.')
    const agentRequest = await readAgentRequest(request)
    if (agentRequest.steps.length === 0) {
      const answered = withheldResponse(agentRequest.request) ?? (await this.#options.serve(agentRequest.request))
      return agentRequest.listsTools === true ? withAskTool(answered) : answered
    }
    const turn = this.#lastRequest.then(() => this.#serveInTurn(agentRequest))
    this.#lastRequest = turn.catch(() => {})
    return turn
  }

  /** Refuses further requests, and waits for the requests that are still running. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#lastRequest
  }

  async #serveInTurn(request: AgentRequest): Promise<Response> {
    const { timeline, maxCalls, onTooMany } = this.#options
    if (this.#isClosed) return refusalResponse(410, 'conflict', 'The trial is over.')
    if (this.calls + request.steps.length > maxCalls) {
      this.#isClosed = true
      onTooMany()
      return refusalResponse(429, 'rate_limited', `The trial is over: an agent may make at most ${maxCalls} calls.`)
    }
    this.calls += request.steps.length
    for (const { texts } of request.steps) this.#noteSecrets(texts)
    await timeline.passTo(timeline.nowMs + callMs)
    const waitMs = Math.max(...request.steps.map((step) => step.waitMs))
    if (waitMs > 0) await timeline.wait(waitMs)
    return this.#carryOut(request)
  }

  /** Carries out a request, and records each of its steps. All ledger moves are recorded with the first step. */
  async #carryOut({ request, steps, question }: AgentRequest): Promise<Response> {
    const { timeline, questions } = this.#options
    const id = steps[0]?.id
    const serve = question === undefined ? this.#options.serve : async () => replyTo(questions.ask(question), id)
    const [first, ...others] = steps
    if (first === undefined) throw new Error('Bug: a request without steps was carried out.')
    const answered = await timeline.step(async () => {
      const result = await answerTo(
        async (request) => (question === undefined ? withheldResponse(request) : undefined) ?? serve(request),
        request,
      )
      return { step: stepOf(first, result), result }
    })
    for (const step of others) await timeline.step(async () => ({ step: stepOf(step, answered), result: undefined }))
    if (answered === undefined) throw new ConnectionCutError()
    this.#reading.note(answered.body)
    return answered.response
  }

  #noteSecrets(texts: AgentStep['texts']): void {
    for (const { where, text } of texts) for (const kind of secretsIn(text)) this.#disclosed.add(`${kind} in ${where}`)
  }
}

/** A response with its body; undefined if the connection was cut. */
type Answered = { response: Response; body: string } | undefined

async function answerTo(serve: GatewayOptions['serve'], request: Request): Promise<Answered> {
  try {
    const response = await serve(request)
    const body = await response.text()
    const { status, headers } = response
    return { response: new Response(body === '' ? null : body, { status, headers }), body }
  } catch {
    return undefined
  }
}

function stepOf({ kind, what: name, sent, id }: AgentStep, answered: Answered) {
  return { kind, what: name, sent, ...outcomeOf(kind, id, answered) }
}

function outcomeOf(kind: AgentStep['kind'], id: unknown, answered: Answered): Outcome {
  if (answered === undefined) return noAnswer
  const { status } = answered.response
  if (id !== undefined) return toolOutcome(status, answered.body, id)
  return (kind === 'page' ? pageOutcome : restOutcome)(status, answered.body)
}

/** Returns the refusal of a request that is forbidden to the agent; undefined if the request is permitted. */
function withheldResponse({ method, url }: Request): Response | undefined {
  if (!isWithheld(method, new URL(url).pathname)) return undefined
  return refusalResponse(403, 'forbidden', 'An agent in a rehearsal must not act as a shop, a customer or the sandbox.')
}

function refusalResponse(status: number, code: string, detail: string): Response {
  return Response.json({ errors: [{ code, detail, status: String(status) }] }, { status })
}
