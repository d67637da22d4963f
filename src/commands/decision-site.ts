import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { getCookie, setCookie } from 'hono/cookie'
import { html } from 'hono/html'
import { decisionPath, type HeldCall, type HeldState } from '../core/held-call.ts'
import { equalSecrets, hmac, newSecret, type System } from '../core/system.ts'
import { type ListenOptions, listen } from '../service/listen.ts'
import { mountAssets } from '../service/pages/frame/assets.ts'
import { type Beside, decisionButtons, decisionFacts, outcomeOf } from '../service/pages/frame/decision-facts.ts'
import { decisionWords, hostWords } from '../service/pages/frame/decision-words.ts'
import type { Html } from '../service/pages/frame/document.ts'
import { formPage, messagePage, titleOf } from '../service/pages/frame/form-page.ts'
import { isForm, isOwnForm, mostFormBytes } from '../service/pages/frame/forms.ts'
import { formPageHeaders as headers } from '../service/pages/frame/headers.ts'

/** A decision as the page of this machine knows it. */
export interface LocalDecision {
  id: string
  call: HeldCall
  endsAtMs: number
  decision: 'yes' | 'no' | undefined
  /**
   * By the ticket in a window's address: what the cookie of the browser holds that opened it; undefined: none came yet.
   */
  windows: Map<string, string | undefined>
}

type Found = LocalDecision & { state: HeldState }

interface SiteOptions {
  environment: 'sandbox' | 'production'
  system: System
  log: ListenOptions['log']
  find(id: string): Found | undefined
  /** All that wait. */
  waiting(): Found[]
  /** Gives the path of a window, which lets the first browser in that comes. */
  open(decision: Found): string
  /** What is left of what a call may spend, as far as it can be told. */
  limits(call: HeldCall): Promise<Beside[]>
  decide(id: string, decision: 'yes' | 'no'): boolean
}

export interface DecisionSite {
  addressOf(id: string): string
  close(): Promise<void>
}

/** Serves the pages of decisions on a free port of this machine, with the look of the service's own. */
export async function openDecisionSite(options: SiteOptions): Promise<DecisionSite> {
  const { system, log } = options
  let url = ''
  const app = new Hono()
  mountAssets(app)
  const address = decisionPath(':id')
  const limit = bodyLimit({ maxSize: mostFormBytes, onError: (c) => notThere(c) })
  app.get(address, (c) => showDecision(c, options))
  app.get(`${address}/:ticket`, (c) => showDecision(c, options))
  for (const path of [address, `${address}/:ticket`]) app.post(path, limit, (c) => takeDecision(c, options, url))
  app.notFound((c) => notThere(c))
  const listener = await listen({
    fetch: async (request) => app.fetch(request),
    host: '127.0.0.1',
    port: 0,
    mostConnections: 64,
    closeWithinMs: 500,
    system,
    log,
  })
  url = listener.url
  return { addressOf: (id) => `${url}${decisionPath(id)}`, close: listener.close }
}

const cookie = 'payments_decision'
/** The session of a browser that comes in by this very request, which has no cookie yet. */
const entered = 'session'

function showDecision(c: Context, options: SiteOptions): Response | Promise<Response> {
  const { id = '' } = c.req.param()
  const found = options.find(id)
  if (found === undefined) return notThere(c)
  enter(c, options, found)
  return show(c, options, found, null, 200)
}

/**
 * Lets one browser in by the ticket in the address, and no other later. Its cookie comes back to this one path only:
 * browsers send cookies to every port of a machine, and what listens at another must not be able to ask for it.
 */
function enter(c: Context, { system }: SiteOptions, { id, windows }: Found): void {
  const ticket = ticketAt(c, windows)
  if (ticket === undefined || windows.get(ticket) !== undefined) return
  const session = newSecret(system)
  windows.set(ticket, session)
  c.set(entered, session)
  setCookie(c, cookie, session, { path: windowPath(id, ticket), httpOnly: true, sameSite: 'Lax', maxAge: 3600 })
}

const windowPath = (id: string, ticket: string) => `${decisionPath(id)}/${ticket}`

function ticketAt(c: Context, windows: LocalDecision['windows']): string | undefined {
  const given = c.req.param('ticket') ?? ''
  return [...windows.keys()].find((ticket) => equalSecrets(ticket, given))
}

async function takeDecision(c: Context, options: SiteOptions, url: string): Promise<Response> {
  const found = options.find(c.req.param('id') ?? '')
  if (found === undefined) return notThere(c)
  const sent = isOwnForm(c, url) && isForm(c) ? new URLSearchParams(await c.req.text()) : undefined
  const session = sessionAt(c, found)
  const isShown = session !== undefined && equalSecrets(sent?.get('formToken') ?? '', formTokenOf(session, found))
  const decision = sent?.get('decision')
  if (!isShown || (decision !== 'yes' && decision !== 'no')) return show(c, options, found, problems.elsewhere, 403)
  if (!options.decide(found.id, decision) && found.state !== decision) {
    return show(c, options, options.find(found.id) ?? found, problems.late, 409)
  }
  return c.body(null, 303, { ...headers, Location: c.req.path })
}

const problems = {
  elsewhere: 'The answer did not come from the window that was opened for it. Nothing was changed.',
  late: 'It was decided before your answer arrived, or its time was over: your answer changed nothing.',
} as const

/** The session, where this is the window of the browser that was let in. */
function sessionAt(c: Context, { windows }: LocalDecision): string | undefined {
  const session = windows.get(ticketAt(c, windows) ?? '')
  const given = c.get(entered) ?? getCookie(c, cookie) ?? ''
  return session !== undefined && equalSecrets(given, session) ? session : undefined
}

const formTokenOf = (session: string, { id }: LocalDecision) => hmac(session, `form decision ${id}`)

async function show(
  c: Context,
  options: SiteOptions,
  found: Found,
  problem: string | null,
  status: 200 | 403 | 409,
): Promise<Response> {
  const words = decisionWords(found)
  const session = sessionAt(c, found)
  const main = html`<h1>${words.heading}</h1>
${problem === null ? '' : html`<p class="problem" role="alert">${problem}</p>`}
${outcomeOf(words)}
${decisionFacts(words, await besideOf(options, found))}
${!words.asks ? '' : session === undefined ? html`<p class="warning">This address only shows the question. Answer it in the window that was opened in your browser for it.</p>` : form(c.req.path, formTokenOf(session, found), words.yes)}
${session === undefined ? '' : othersThatWait(options, found)}`
  const sandbox = options.environment === 'sandbox'
  return c.html(formPage({ title: titleOf(words.heading, problem), main, sandbox }), status, headers)
}

/** Who asks, through which host, and what is known of the limits. */
async function besideOf({ limits }: SiteOptions, { call, state }: Found): Promise<Beside[]> {
  const host = hostWords(call.host)
  return [
    { label: 'Asked for by', text: 'An AI assistant on this computer' },
    ...(host === null ? [] : [{ label: 'In the program that calls itself', text: host }]),
    ...(call.spends && state === 'pending' ? await limits(call) : []),
  ]
}

/** What else waits, in windows of its own: only the browser that was let in learns their addresses. */
function othersThatWait({ waiting, open }: SiteOptions, { id }: Found): Html | '' {
  const others = waiting().filter((other) => other.id !== id)
  if (others.length === 0) return ''
  return html`<section aria-labelledby="others">
<h2 id="others">What else waits for you</h2>
<ul>
${others.map((other) => html`<li><a href="${open(other)}">${decisionWords(other).facts[0]?.text ?? other.call.tool}</a></li>`)}
</ul>
</section>`
}

function form(action: string, token: string, yes: string) {
  return html`<form method="post" action="${action}">
<input type="hidden" name="formToken" value="${token}">
${decisionButtons(yes)}
</form>`
}

function notThere(c: Context): Response | Promise<Response> {
  const text = 'There is nothing to decide at this address. Ask your assistant again.'
  return c.html(messagePage('Not found', text), 404, headers)
}
