import type { Context, Hono } from 'hono'
import { Failure } from '../../../core/errors.ts'
import { type Connections, createConnections, managesParty } from '../../oauth/connections.ts'
import { ownForm, redirectTo, refuseForeignForm, type Show, type Take, withFailurePage } from '../frame/answers.ts'
import type { PageDependencies } from '../frame/dependencies.ts'
import { messagePage } from '../frame/form-page.ts'
import { oauthPageHeaders } from '../frame/oauth-headers.ts'
import { pageRoutes } from '../frame/page-routes.ts'
import { connectionsPage } from './view.ts'
import { connectionWords, type Done, isDone, statusWords } from './words.ts'

interface ConnectionsDependencies extends PageDependencies {
  connections: Connections
}

const address = '/connections'

/**
 * Mounts the page that lists a person's connected applications, and the handler of the page's forms. With these forms,
 * the person limits or disconnects an application.
 */
export function mountConnections(app: Hono, dependencies: PageDependencies): void {
  const pages: ConnectionsDependencies = { ...dependencies, connections: createConnections(dependencies) }
  const takeForm = ownForm((c) => purposeOf(grantIdOf(c)), takeChange, address)
  const serve = pageRoutes(app, pages, withFailurePage)
  serve('GET /connections', showConnections)
  serve('POST /connections/:grantId', takeForm, { back: () => address })
}

const showConnections: Show<ConnectionsDependencies> = async (c, pages, signedIn) => {
  const { user, formToken } = signedIn
  const done = c.req.query('done')
  const page = connectionsPage({
    connections: (await pages.connections.list(user)).map((connection) => ({
      ...connectionWords(connection),
      formToken: formToken(purposeOf(connection.grantId)),
    })),
    mayRegister: managesParty(user),
    status: isDone(done) ? statusWords[done] : null,
  })
  return c.html(page, 200, oauthPageHeaders)
}

const takeChange: Take<ConnectionsDependencies> = async (c, pages, signedIn, sent) => {
  const grantId = grantIdOf(c)
  const action = sent.get('action')
  if (action !== 'narrow' && action !== 'revoke') return refuseForeignForm(c, address)
  const scopes = sent.getAll('scope')
  if (action === 'narrow' && scopes.length === 0) return redirectTo(c, addressAfter('none_kept'))
  try {
    if (action === 'narrow') await pages.connections.narrow(signedIn.user, grantId, scopes)
    else await pages.connections.revoke(signedIn.user, grantId)
  } catch (error) {
    if (error instanceof Failure && error.code === 'not_found') return notFound(c)
    throw error
  }
  pages.log.info({ connection: action, grantId }, 'changed')
  return redirectTo(c, addressAfter(action === 'narrow' ? 'narrowed' : 'revoked'))
}

function grantIdOf(c: Context): string {
  return c.req.param('grantId') ?? ''
}

function purposeOf(grantId: string): string {
  return `connection ${grantId}`
}

function addressAfter(done: Done): string {
  return `${address}?done=${done}`
}

function notFound(c: Context) {
  const link = { href: address, text: 'See your connected applications' }
  return c.html(messagePage('Not found', 'Connection not found.', link), 404, oauthPageHeaders)
}
