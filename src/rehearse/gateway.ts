import { ConnectionCutError } from '../core/faults.ts'
import { isWithheld } from './agent-access.ts'
import { type Asked, type Deed, readAsked } from './agent-request.ts'
import { Reading } from './answer/read.ts'
import { secretsIn } from './mask.ts'
import type { Read } from './results.ts'
import { noAnswer, type Outcome, pageOutcome, restOutcome, toolOutcome } from './step-outcome.ts'
import type { Course } from './trial-timeline.ts'

interface DoorOptions {
  course: Course
  serve(request: Request): Promise<Response>
  /** How many calls an agent may make. */
  mostCalls: number
  /** Called with the first call beyond. */
  onTooMany(): void
}

/** The time that a call takes, and what the agent does before it. */
const callMs = 1_000

/**
 * What stands between an agent and its sandbox: counts and writes down what it does, and lets time pass by it. One deed is
 * carried out after the other, so that it is known what the ledger did by which.
 */
export class Door {
  /** Deeds that were passed on. */
  calls = 0
  readonly #options: DoorOptions
  readonly #told = new Set<string>()
  readonly #reading = new Reading()
  #turn: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(options: DoorOptions) {
    this.#options = options
  }

  /** The kinds of secrets that were told, with where. */
  get secretsTold(): readonly string[] {
    return [...this.#told]
  }

  /** The record of what the agent was shown. */
  get read(): Read {
    return this.#reading.value
  }

  readonly answer = async (request: Request): Promise<Response> => {
    if (this.#isClosed) return refused(410, 'conflict', 'The trial is over.')
    const asked = await readAsked(request)
    if (asked.deeds.length === 0) {
      const withheld = await notOffered(asked.request)
      return withheld?.response ?? this.#options.serve(asked.request)
    }
    const turn = this.#turn.then(() => this.#inTurn(asked))
    this.#turn = turn.catch(() => {})
    return turn
  }

  /** Answers nothing more, once what is under way is done. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#turn
  }

  async #inTurn(asked: Asked): Promise<Response> {
    const { course, mostCalls, onTooMany } = this.#options
    if (this.#isClosed) return refused(410, 'conflict', 'The trial is over.')
    if (this.calls + asked.deeds.length > mostCalls) {
      this.#isClosed = true
      onTooMany()
      return refused(429, 'rate_limited', `The trial ends here: an agent has ${mostCalls} calls.`)
    }
    this.calls += asked.deeds.length
    for (const { said } of asked.deeds) this.#noteSecrets(said)
    await course.passTo(course.nowMs + callMs)
    const waitMs = Math.max(...asked.deeds.map((deed) => deed.waitMs))
    if (waitMs > 0) await course.wait(waitMs)
    return this.#carry(asked)
  }

  /** Several deeds of one request are written down one by one; what the ledger did stands with the first. */
  async #carry({ request, deeds }: Asked): Promise<Response> {
    const { course, serve } = this.#options
    const [first, ...others] = deeds
    if (first === undefined) throw new Error('Bug: a request without deeds was carried out.')
    const answered = await course.step(async () => {
      const result = await (notOffered(request) ?? answerTo(serve, request))
      return { step: stepOf(first, result), result }
    })
    for (const deed of others) await course.step(async () => ({ step: stepOf(deed, answered), result: undefined }))
    if (answered === undefined) throw new ConnectionCutError()
    this.#reading.note(answered.body)
    return answered.response
  }

  #noteSecrets(said: Deed['said']): void {
    for (const { where, text } of said) for (const kind of secretsIn(text)) this.#told.add(`${kind} in ${where}`)
  }
}

/** An answer that was read; undefined: the connection was cut. */
type Answered = { response: Response; body: string } | undefined

async function answerTo(serve: DoorOptions['serve'], request: Request): Promise<Answered> {
  try {
    const given = await serve(request)
    const body = await given.text()
    const { status, headers } = given
    return { response: new Response(body === '' ? null : body, { status, headers }), body }
  } catch {
    return undefined
  }
}

function stepOf({ kind, what, sent, id }: Deed, answered: Answered) {
  return { kind, what, sent, ...outcomeOf(kind, id, answered) }
}

function outcomeOf(kind: Deed['kind'], id: unknown, answered: Answered): Outcome {
  if (answered === undefined) return noAnswer
  const { status, headers } = answered.response
  if (id !== undefined) return toolOutcome(status, headers.get('content-type') ?? '', answered.body, id)
  return (kind === 'page' ? pageOutcome : restOutcome)(status, answered.body)
}

/** Shops and the person of the scenario play everybody else: an agent that plays them itself would pay itself. */
function notOffered({ method, url }: Request): Promise<Answered> | undefined {
  if (!isWithheld(method, new URL(url).pathname)) return undefined
  const detail = 'In a rehearsal an agent does not play shops, customers or the sandbox itself.'
  const response = refused(403, 'forbidden', detail)
  return response
    .clone()
    .text()
    .then((body) => ({ response, body }))
}

function refused(status: number, code: string, detail: string): Response {
  return Response.json({ errors: [{ code, detail, status: String(status) }] }, { status })
}
