import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { getCookie, setCookie } from 'hono/cookie'
import { html } from 'hono/html'
import {
  answerIn,
  decisionPath,
  type HeldCall,
  heldMs,
  heldState,
  isSameCall,
  maxHeld,
  type StoredDecision,
  tooManyHeld,
  withAnswer,
} from '../core/held-call.ts'
import { equalSecrets, hmac, newId, newSecret, type System } from '../core/system.ts'
import { NamedTurns } from '../core/turns.ts'
import { brand } from '../display/standalone-page.ts'
import type { Decisions, Held, PendingPage } from '../mcp/dependencies.ts'
import { type Listener, type ListenOptions, listen } from '../service/listen.ts'
import { decisionForm, decisionPage, lateWords } from '../service/pages/decide/view.ts'
import { mountAssets } from '../service/pages/frame/assets.ts'
import { sandboxBanner, withBanner } from '../service/pages/frame/banner.ts'
import type { ContextFact } from '../service/pages/frame/decision-facts.ts'
import { type DecisionWords, decisionWords, hostWords } from '../service/pages/frame/decision-words.ts'
import type { Html } from '../service/pages/frame/document.ts'
import { messagePage } from '../service/pages/frame/form-page.ts'
import { isForm, isOwnForm, maxFormBytes } from '../service/pages/frame/forms.ts'
import { formPageHeaders as headers } from '../service/pages/frame/headers.ts'

interface LoopbackOptions {
  environment: 'sandbox' | 'production'
  /** Opens a page in the browser of the person at this machine. Resolves to false if no browser can be opened. */
  open(address: URL): Promise<boolean>
  /**
   * How a person can decide if this machine has no browser, such as `connect the host to https://api.example/mcp`.
   */
  elsewhere: string
  /** Reads the limits that apply to a call that spends money. Leaves out limits that the API does not show. */
  limits(call: HeldCall): Promise<ContextFact[]>
  /** Called after the person has decided on a call. */
  decided?: ((call: HeldCall, decision: 'yes' | 'no') => void) | undefined
  system: System
  log: ListenOptions['log']
}

/** A pending or past decision, in this process's memory. */
interface Entry extends StoredDecision {
  held: Omit<Held, 'state'>
  /** Whether this process has opened a window for the person. */
  isOpened: boolean
  /** The session of the browser in each window, keyed by ticket; undefined until a browser opens the window. */
  windows: Map<string, string | undefined>
  /** Resolves when the person has decided. */
  decided: PromiseWithResolvers<void>
}

/**
 * Lets the person at this machine decide on calls, on pages that only this machine can reach. A window is such a page
 * with a ticket in its address. The model never sees the ticket. Only the first browser that opens a window can answer
 * there. Without a ticket, a page only shows the question.
 */
export class LoopbackDecisions implements Decisions {
  readonly isLocal = true
  readonly #options: LoopbackOptions
  readonly #entries = new Map<string, Entry>()
  #listener: Promise<Listener> | undefined
  readonly #turns = new NamedTurns()

  constructor(options: LoopbackOptions) {
    this.#options = options
  }

  async keep(call: HeldCall, by: 'host' | 'person'): Promise<PendingPage | { refused: string }> {
    const { system, open, elsewhere } = this.#options
    this.#forget()
    const waiting = this.#waiting()
    const same = waiting.find(({ held }) => isSameCall(held.call, call))
    if (same === undefined && waiting.length >= maxHeld) return { refused: tooManyHeld }
    const entry = same ?? this.#add(call)
    const { id } = entry.held
    const isNew = same === undefined
    const url = `${await this.#origin()}${decisionPath(id)}`
    const page = { id, url, address: url, endsAtMs: entry.endsAtMs, isNew }
    // The person already has a window for this call, so no second window is opened.
    if (by === 'person' && entry.isOpened) return page
    const ticket = newSecret(system)
    entry.windows.set(ticket, undefined)
    const address = `${url}/${ticket}`
    entry.isOpened ||= by === 'person'
    if (by === 'person' && !(await open(new URL(address)))) {
      this.#entries.delete(id)
      return { refused: noBrowser(elsewhere) }
    }
    return { ...page, address }
  }

  async find(id: string): Promise<Held | undefined> {
    const entry = this.#entries.get(id)
    return entry && { ...entry.held, state: this.#stateOf(entry) }
  }

  async wait(id: string, ms: number, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry === undefined || this.#stateOf(entry) !== 'pending') return
    const timer = new AbortController()
    const late = this.#options.system.sleep(ms, AbortSignal.any([timer.signal, signal]))
    try {
      await Promise.race([entry.decided.promise, late])
    } finally {
      late.catch(() => {})
      timer.abort()
    }
  }

  async countTry({ id, tries }: Pick<Held, 'id' | 'tries'>): Promise<void> {
    const held = this.#entries.get(id)?.held
    if (held?.tries === tries) held.tries += 1
  }

  async finish(id: string, answer: NonNullable<Held['answer']>): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry !== undefined) entry.held.answer = answer
  }

  inTurn<T>(id: string, call: () => Promise<T>): Promise<T> {
    return this.#turns.take(id, call)
  }

  async close(): Promise<void> {
    await (await this.#listener)?.close()
  }

  #add(call: HeldCall): Entry {
    const { system } = this.#options
    const nowMs = system.now()
    const entry: Entry = {
      held: { id: newId('dcn', system, nowMs), call, tries: 0 },
      status: 'pending',
      endsAtMs: nowMs + heldMs,
      isOpened: false,
      windows: new Map(),
      decided: Promise.withResolvers<void>(),
    }
    this.#entries.set(entry.held.id, entry)
    return entry
  }

  #stateOf(entry: Entry): Held['state'] {
    return heldState(entry, this.#options.system.now())
  }

  #waiting(): Entry[] {
    return [...this.#entries.values()].filter((entry) => this.#stateOf(entry) === 'pending')
  }

  #forget(): void {
    const nowMs = this.#options.system.now()
    for (const [id, { endsAtMs }] of this.#entries) if (nowMs >= endsAtMs + heldMs) this.#entries.delete(id)
  }

  async #origin(): Promise<string> {
    this.#listener ??= this.#listen()
    return (await this.#listener).url
  }

  /** Serves the pages on a free port of this machine, in the style of the service's own pages. */
  #listen(): Promise<Listener> {
    const { system, log } = this.#options
    const app = new Hono()
    mountAssets(app)
    const limit = bodyLimit({ maxSize: maxFormBytes, onError: notFound })
    for (const path of [decisionPath(':id'), `${decisionPath(':id')}/:ticket`]) {
      app.get(path, (c) => this.#show(c))
      app.post(path, limit, (c) => this.#take(c))
    }
    app.notFound(notFound)
    const banner = this.#options.environment === 'sandbox' ? sandboxBanner : ''
    const fetch = async (request: Request) => withBanner(await app.fetch(request), () => banner, brand)
    return listen({ fetch, host: '127.0.0.1', port: 0, maxConnections: 64, closeWithinMs: 500, system, log })
  }

  #show(c: Context): Response | Promise<Response> {
    const entry = this.#entries.get(c.req.param('id') ?? '')
    if (entry === undefined) return notFound(c)
    admitBrowser(c, this.#options.system, entry)
    return this.#page(c, entry)
  }

  async #take(c: Context): Promise<Response> {
    const { system, decided } = this.#options
    const entry = this.#entries.get(c.req.param('id') ?? '')
    if (entry === undefined) return notFound(c)
    const sent = isOwnForm(c, await this.#origin()) && isForm(c) ? new URLSearchParams(await c.req.text()) : undefined
    const session = sessionAt(c, entry)
    const isShown = session !== undefined && equalSecrets(sent?.get('formToken') ?? '', formTokenOf(session, entry))
    const answer = answerIn(sent)
    if (!isShown || answer === undefined) return this.#page(c, entry, { problem: foreignFormText, status: 403 })
    const after = withAnswer(entry, answer, system.now())
    if (after !== undefined) {
      Object.assign(entry, after)
      entry.decided.resolve()
      decided?.(entry.held.call, answer)
    } else if (this.#stateOf(entry) !== answer) {
      return this.#page(c, entry, { problem: lateWords, status: 409 })
    }
    return c.body(null, 303, { ...headers, Location: c.req.path })
  }

  async #page(c: Context, entry: Entry, refusal?: { problem: string; status: 403 | 409 }): Promise<Response> {
    const words = this.#words(entry)
    const session = sessionAt(c, entry)
    const page = decisionPage({
      isWithoutConsole: true,
      words,
      contextFacts: await this.#contextFacts(entry.held.call, words.isPending),
      form:
        session === undefined
          ? onlyShown
          : decisionForm(words, { action: c.req.path, token: formTokenOf(session, entry) }),
      after: session === undefined ? '' : this.#others(entry),
      problem: refusal?.problem ?? null,
    })
    return c.html(page, refusal?.status ?? 200, headers)
  }

  #words(entry: Entry): DecisionWords {
    const { held, endsAtMs } = entry
    return decisionWords({ call: held.call, endsAtMs, state: this.#stateOf(entry) })
  }

  /** Returns the facts that the page shows beside the question: the requester, the host, and the known limits. */
  async #contextFacts(call: HeldCall, asks: boolean): Promise<ContextFact[]> {
    const host = hostWords(call.host)
    return [
      { label: 'Requested by', text: 'An AI assistant on this computer' },
      ...(host === null ? [] : [{ label: 'Program (name not verified)', text: host }]),
      ...(call.spends && asks ? await this.#options.limits(call) : []),
    ]
  }

  /** Lists the other pending calls, with links to their windows. Only the admitted browser gets these links. */
  #others(entry: Entry): Html | '' {
    const others = this.#waiting().filter((other) => other !== entry)
    if (others.length === 0) return ''
    return html`<section aria-labelledby="others">
<h2 id="others">Other pending decisions</h2>
<ul>
${others.map((other) => html`<li><a href="${windowPath(other, [...other.windows.keys()].at(-1))}">${this.#words(other).facts[0]?.text ?? other.held.call.tool}</a></li>`)}
</ul>
</section>`
  }
}

const cookie = 'payments_decision'
/** The context variable that holds the session during a browser's first request, which has no cookie yet. */
const sessionVariable = 'session'

/**
 * Admits only the first browser that opens the window. Browsers send a cookie to every port of a machine, so the
 * session cookie is limited to the path of the window: servers on other ports must not receive the cookie.
 */
function admitBrowser(c: Context, system: System, entry: Entry): void {
  const { windows } = entry
  const ticket = ticketAt(c, windows)
  if (ticket === undefined || windows.get(ticket) !== undefined) return
  const session = newSecret(system)
  windows.set(ticket, session)
  c.set(sessionVariable, session)
  setCookie(c, cookie, session, { path: windowPath(entry, ticket), httpOnly: true, sameSite: 'Lax', maxAge: 3600 })
}

const windowPath = ({ held }: Entry, ticket: string | undefined) => `${decisionPath(held.id)}/${ticket}`

function ticketAt(c: Context, windows: Entry['windows']): string | undefined {
  const sentTicket = c.req.param('ticket') ?? ''
  return [...windows.keys()].find((ticket) => equalSecrets(ticket, sentTicket))
}

/** Returns the session if the request comes from the browser that was admitted to the window; otherwise undefined. */
function sessionAt(c: Context, { windows }: Entry): string | undefined {
  const session = windows.get(ticketAt(c, windows) ?? '')
  const sentSession = c.get(sessionVariable) ?? getCookie(c, cookie) ?? ''
  return session !== undefined && equalSecrets(sentSession, session) ? session : undefined
}

const formTokenOf = (session: string, { held }: Entry) => hmac(session, `form decision ${held.id}`)

const onlyShown = html`<p class="warning">This address only shows the question. To answer, use the window that was opened in your browser.</p>`

const foreignFormText = 'This form was not sent from the window that was opened for it. Nothing was changed.'

function notFound(c: Context): Response | Promise<Response> {
  const text = 'There is nothing to decide at this address. Ask your assistant to try again.'
  return c.html(messagePage('Not found', text), 404, headers)
}

const noBrowser = (elsewhere: string) =>
  `No browser could be opened on this machine, so a person cannot decide on this call here. Tell the person to use a host that supports elicitation, or to ${elsewhere} and sign in there from any browser. With PAYMENTS_CONFIRM (--confirm), the operator of this server sets when a person is asked. Nothing said in the conversation counts as the person's decision.`
