import type { Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { Failure } from '../../../core/errors.ts'
import type { Connections } from '../../oauth/connections.ts'
import { hasFormToken, leadTo, leadToSignIn, notFromHere, orFailure, ownFields, tooLong } from '../frame/answers.ts'
import { type SessionPages, signedInAt } from '../frame/browser-session.ts'
import { mostFormBytes } from '../frame/forms.ts'
import { oauthPageHeaders } from '../frame/oauth-headers.ts'
import { accountOf, oauthMessage } from '../sign-in/view.ts'
import { connectionsPage } from './view.ts'
import { connectionWords, type Done, isDone, statusWords } from './words.ts'

export interface ConnectionsPages extends SessionPages {
  connections: Connections
}

const address = '/connections'

/** The page of the applications that a person connected: what each may do, and what takes that away. */
export function mountConnections(app: Hono, pages: ConnectionsPages): void {
  const limit = bodyLimit({ maxSize: mostFormBytes, onError: tooLong })
  app.get(address, (c) => orFailure(c, pages, () => showConnections(c, pages)))
  app.post(`${address}/:grantId`, limit, (c) => orFailure(c, pages, () => takeChange(c, pages)))
}

async function showConnections(c: Context, pages: ConnectionsPages): Promise<Response> {
  const signedIn = await signedInAt(c, pages)
  if (signedIn === undefined) return leadToSignIn(c, address)
  const { user, formToken } = signedIn
  const done = c.req.query('done')
  const page = connectionsPage({
    connections: (await pages.connections.list(user)).map((connection) => ({
      ...connectionWords(connection),
      formToken: formToken(purposeOf(connection.grantId)),
    })),
    account: accountOf(signedIn),
    status: isDone(done) ? statusWords[done] : null,
    sandbox: pages.environment === 'sandbox',
  })
  return c.html(page, 200, oauthPageHeaders)
}

async function takeChange(c: Context, pages: ConnectionsPages): Promise<Response> {
  const signedIn = await signedInAt(c, pages)
  if (signedIn === undefined) return leadToSignIn(c, address)
  const grantId = c.req.param('grantId') ?? ''
  const sent = await ownFields(c, pages)
  if (sent === undefined || !hasFormToken(signedIn, purposeOf(grantId), sent)) return notFromHere(c, address)
  const action = sent.get('action')
  if (action !== 'narrow' && action !== 'revoke') return notFromHere(c, address)
  const scopes = sent.getAll('scope')
  if (action === 'narrow' && scopes.length === 0) return leadTo(c, placeOf('none_kept'))
  try {
    if (action === 'narrow') await pages.connections.narrow(signedIn.user, grantId, scopes)
    else await pages.connections.revoke(signedIn.user, grantId)
  } catch (error) {
    if (error instanceof Failure && error.code === 'not_found') return notThere(c)
    throw error
  }
  pages.log.info({ connection: action, grantId }, 'changed')
  return leadTo(c, placeOf(action === 'narrow' ? 'narrowed' : 'revoked'))
}

function purposeOf(grantId: string): string {
  return `connection ${grantId}`
}

function placeOf(done: Done): string {
  return `${address}?done=${done}`
}

function notThere(c: Context) {
  const link = { href: address, text: 'See your connected applications' }
  return c.html(oauthMessage('Not found', 'There is no such connection of yours.', link), 404, oauthPageHeaders)
}
