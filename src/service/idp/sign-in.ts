import type { IncomingMessage, ServerResponse } from 'node:http'
import { html } from 'hono/html'
import type Provider from 'oidc-provider'
import { smallPage } from '../../display/small-page.ts'
import type { Store } from '../store/engine/store.ts'
import { activeUsers } from '../store/users.ts'

/** The beginning of the sign-in page's path. The id of the interaction follows it. */
export const signInPath = '/sign-in/'

/** The maximum number of people that the page lists. */
const maxPeople = 50

/**
 * Returns the handler of the page on which a person signs in with one click. The page works only in the browser in
 * which the sign-in began.
 */
export function signInPage(provider: Provider, store: Store) {
  return async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const people = await store.read((tx) => activeUsers(tx, maxPeople))
    const interaction = await provider.interactionDetails(req, res).catch(() => undefined)
    if (interaction === undefined) return send(res, 404, ended)
    const { pathname, searchParams } = new URL(req.url ?? '', provider.issuer)
    const person = people.find(({ id }) => id === searchParams.get('as'))
    if (person === undefined) {
      const lines = people.map(({ id, name, email }) =>
        String(html`<a href="${pathname}?as=${id}">Continue as <bdi>${name}</bdi></a> (<bdi>${email}</bdi>)`),
      )
      return send(res, 200, { heading: 'Sign in with the sandbox’s identity provider', lines: [about, ...lines] })
    }
    const result = { login: { accountId: person.id }, consent: {} }
    await provider.interactionFinished(req, res, result, { mergeWithLastSubmission: false })
  }
}

const about =
  'This page stands in for a company’s identity provider. It asks for no password, because it is for testing only.'
const ended = { heading: 'This sign-in has ended', lines: ['Start the sign-in again in the application.'] }

/** Returns the page that explains why an application's request was refused. */
export function failedPage(code: string, reason: string): ReturnType<typeof smallPage> {
  return smallPage({ heading: 'The application’s request was refused', lines: [String(html`${code}: ${reason}`)] })
}

function send(res: ServerResponse, status: number, content: Parameters<typeof smallPage>[0]): void {
  const { page, headers } = smallPage(content)
  res.writeHead(status, headers).end(page)
}
