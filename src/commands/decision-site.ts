import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { getCookie, setCookie } from 'hono/cookie'
import { html } from 'hono/html'
import { decisionPath, type HeldCall, type HeldState } from '../core/held-call.ts'
import { equalSecrets, hmac, type System } from '../core/system.ts'
import { type ListenOptions, listen } from '../service/listen.ts'
import { mountAssets } from '../service/pages/frame/assets.ts'
import { decisionButtons, decisionFacts, outcomeOf } from '../service/pages/frame/decision-facts.ts'
import { decisionWords, hostWords } from '../service/pages/frame/decision-words.ts'
import { formPage, messagePage, titleOf } from '../service/pages/frame/form-page.ts'
import { isForm, isOwnForm, mostFormBytes } from '../service/pages/frame/forms.ts'
import { formPageHeaders as headers } from '../service/pages/frame/headers.ts'

/** A decision as the page of this machine knows it. */
export interface LocalDecision {
  id: string
  call: HeldCall
  endsAtMs: number
  decision: 'yes' | 'no' | undefined
  /** What the cookie of the browser holds that this process opened; undefined: none came yet. */
  session: string | undefined
}

type Found = LocalDecision & { state: HeldState }

interface SiteOptions {
  environment: 'sandbox' | 'production'
  system: System
  log: ListenOptions['log']
  find(id: string): Found | undefined
  /** Gives what the cookie is to hold; undefined: the ticket lets nobody in. */
  enter(id: string, ticket: string): string | undefined
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
  app.get(`${address}/:ticket`, (c) => enter(c, options))
  app.post(address, limit, (c) => takeDecision(c, options, url))
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

/** The browser that this process opened comes in, and keeps nothing of the ticket in its address. */
function enter(c: Context, { enter: letIn }: SiteOptions): Response | Promise<Response> {
  const { id = '', ticket = '' } = c.req.param()
  const session = letIn(id, ticket)
  const path = decisionPath(id)
  if (session !== undefined) setCookie(c, cookie, session, { path, httpOnly: true, sameSite: 'Lax', maxAge: 3600 })
  return c.body(null, 303, { ...headers, Location: path })
}

const cookie = 'payments_decision'

function showDecision(c: Context, options: SiteOptions): Response | Promise<Response> {
  const found = options.find(c.req.param('id') ?? '')
  return found === undefined ? notThere(c) : show(c, options, found, null, 200)
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
  return c.body(null, 303, { ...headers, Location: decisionPath(found.id) })
}

const problems = {
  elsewhere: 'The answer did not come from the window that was opened for it. Nothing was changed.',
  late: 'It was decided before your answer arrived, or its time was over: your answer changed nothing.',
} as const

/** The session, where this is the browser that was let in. */
function sessionAt(c: Context, { session }: LocalDecision): string | undefined {
  return session !== undefined && equalSecrets(getCookie(c, cookie) ?? '', session) ? session : undefined
}

const formTokenOf = (session: string, { id }: LocalDecision) => hmac(session, `form decision ${id}`)

function show(c: Context, { environment }: SiteOptions, found: Found, problem: string | null, status: 200 | 403 | 409) {
  const words = decisionWords(found)
  const host = hostWords(found.call.host)
  const asker = { label: 'Asked for by', text: 'An AI assistant on this computer' }
  const beside = host === null ? [asker] : [asker, { label: 'In the program that calls itself', text: host }]
  const session = sessionAt(c, found)
  const main = html`<h1>${words.heading}</h1>
${problem === null ? '' : html`<p class="problem" role="alert">${problem}</p>`}
${outcomeOf(words)}
${decisionFacts(words, beside)}
${!words.asks ? '' : session === undefined ? html`<p class="warning">This address only shows the question. Answer it in the window that was opened in your browser for it.</p>` : form(found, session, words.yes)}`
  return c.html(
    formPage({ title: titleOf(words.heading, problem), main, sandbox: environment === 'sandbox' }),
    status,
    headers,
  )
}

function form(found: Found, session: string, yes: string) {
  return html`<form method="post" action="${decisionPath(found.id)}">
<input type="hidden" name="formToken" value="${formTokenOf(session, found)}">
${decisionButtons(yes)}
</form>`
}

function notThere(c: Context): Response | Promise<Response> {
  const text = 'There is nothing to decide at this address. Ask your assistant again.'
  return c.html(messagePage('Not found', text), 404, headers)
}
