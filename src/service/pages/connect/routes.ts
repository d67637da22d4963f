import type { Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { Logger } from '../../../config/log.ts'
import { Failure } from '../../../core/errors.ts'
import { isLoopback } from '../../../core/loopback.ts'
import type { Environment } from '../../../core/operation.ts'
import { newId, type System } from '../../../core/system.ts'
import { callerOf } from '../../request/client-address.ts'
import { looksLikeSignature } from '../../store/root-keys.ts'
import { createAssets } from '../frame/assets.ts'
import { failingAs } from '../frame/failure.ts'
import { isForm, isOwnForm, mostFormBytes } from '../frame/forms.ts'
import { formPageHeaders as headers } from '../frame/headers.ts'
import type { Connect, Decision, Invitation } from './invitation.ts'
import { connectMessage, connectPage } from './view.ts'
import { connectWords } from './words.ts'

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
  return looksLikeSignature(token) ? use(token) : undefined
}

/**
 * The sandbox has no accounts of customers: at this machine whoever has the link is the invited person. Who is at it the
 * listener tells; the address that the browser used must be of this machine as well.
 */
export function mayAnswer(c: Context, environment: Environment): boolean {
  return environment === 'sandbox' && callerOf(c)?.local !== false && isLoopback(c.req.url)
}

export function notFound(c: Context) {
  const text = 'There is no invitation at this address. Check the link, or ask for a new one.'
  return c.html(connectMessage('Not found', text), 404, headers)
}

export function refused(c: Context, status: 400 | 403 | 409, text: string) {
  const retry = { href: c.req.path, text: 'Open the invitation' }
  return c.html(connectMessage('Not answered', text, retry), status, headers)
}

const orFailed = failingAs({ page: 'a connect page', message: connectMessage, headers })

/** A refusal of the service's is told; any other failure only that it is one. */
export function orFailure(c: Context, grounds: ConnectGrounds, show: () => Promise<Response>): Promise<Response> {
  return orFailed(c, grounds, async () => {
    try {
      return await show()
    } catch (error) {
      if (!(error instanceof Failure) || (error.status !== 403 && error.status !== 409)) throw error
      const { system, log } = grounds
      log.info({ supportId: newId('req', system, system.now()), status: error.status }, 'refused')
      return refused(c, error.status, error.message)
    }
  })
}
