import type { Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { Failure } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import type { Environment } from '../../operation.ts'
import { newId, type System } from '../../system.ts'
import type { Connect, Decision, Invitation } from '../connect.ts'
import { StoreBusyError } from '../store/store.ts'
import { connectMessage, connectPage } from './connect-page.ts'
import { connectWords } from './connect-words.ts'
import { formPageHeaders as headers, isForm, isOwnForm, mostFormBytes } from './own-forms.ts'
import { createAssets } from './page-assets.ts'

/** What the pages need besides their own part of the service. */
export interface ConnectGrounds {
  environment: Environment
  publicUrl: () => string
  system: System
  log: Logger
}

interface ConnectPages extends ConnectGrounds {
  connect: Connect
}

/** The invited person's side: the page at an invitation's `url`, and the answer that its form sends. */
export function mountConnect(app: Hono, pages: ConnectPages): void {
  const asset = createAssets()
  app.get('/connect/style.css', () => asset('connect.css'))
  app.get('/connect/:token', (c) => orFailure(c, pages, () => showPage(c, pages)))
  const limit = bodyLimit({ maxSize: mostFormBytes, onError: (c) => refused(c, 400, 'The form is too long.') })
  app.post('/connect/:token', limit, (c) => orFailure(c, pages, () => takeAnswer(c, pages)))
}

async function showPage(c: Context, { connect, environment }: ConnectPages): Promise<Response> {
  const invitation = await whenToken(c, (token) => connect.open(token))
  if (invitation === undefined) return notFound(c)
  const form = mayAnswer(c, environment) ? { action: c.req.path, token: invitation.formToken } : null
  return c.html(connectPage(connectWords(invitation), form, environment === 'sandbox'), 200, headers)
}

async function takeAnswer(c: Context, { connect, environment, publicUrl, log }: ConnectPages): Promise<Response> {
  if (!mayAnswer(c, environment)) return refused(c, 403, 'Sign in to your account to answer.')
  if (!isOwnForm(c, publicUrl())) return refused(c, 403, 'The answer did not come from this page.')
  const sent = new URLSearchParams(await c.req.text())
  const decision = sent.get('decision')
  if (!isForm(c) || (decision !== 'accept' && decision !== 'decline')) {
    return refused(c, 400, 'The form has to say whether you accept or decline.')
  }
  const answered = await whenToken(c, (token) => connect.answer(token, sent.get('formToken') ?? '', decision))
  if (answered === undefined) return notFound(c)
  log.debug({ connect: decision satisfies Decision, invitation: answered.status }, 'answered')
  // To the page by GET: a reload repeats nothing.
  return c.body(null, 303, { ...headers, Location: c.req.path })
}

function whenToken(c: Context, use: (token: string) => Promise<Invitation | undefined>) {
  const token = c.req.param('token') ?? ''
  return /^[0-9a-f]{64}$/.test(token) ? use(token) : undefined
}

/** The sandbox has no accounts of customers: at this machine whoever has the link is the invited person. */
export function mayAnswer(c: Context, environment: Environment): boolean {
  return environment === 'sandbox' && isLoopback(c.req.url)
}

export function isLoopback(address: string): boolean {
  return /^(localhost|127\.0\.0\.1|\[::1\])$/.test(URL.parse(address)?.hostname ?? '')
}

export function notFound(c: Context) {
  const text = 'There is no invitation at this address. Check the link, or ask for a new one.'
  return c.html(connectMessage('Not found', text), 404, headers)
}

export function refused(c: Context, status: 400 | 403 | 409, text: string) {
  const retry = { href: c.req.path, text: 'Open the invitation' }
  return c.html(connectMessage('Not answered', text, retry), status, headers)
}

/** Also to somebody at a browser, what went wrong inside is not told. */
export async function orFailure(
  c: Context,
  { system, log }: ConnectGrounds,
  show: () => Promise<Response>,
): Promise<Response> {
  try {
    return await show()
  } catch (error) {
    const supportId = newId('req', system, system.now())
    if (error instanceof Failure && (error.status === 403 || error.status === 409)) {
      log.info({ supportId, status: error.status }, 'refused')
      return refused(c, error.status, error.message)
    }
    log.error({ supportId, err: error }, 'a connect page failed')
    const status = error instanceof StoreBusyError ? 503 : 500
    const text = `The page can’t be shown right now. Try again in a moment. (${supportId})`
    return c.html(connectMessage('Something went wrong', text), status, headers)
  }
}
