import type { World } from '../support/world.ts'

/** The base URL of a service that tests call without a network. */
export const address = 'http://127.0.0.1:4010'

/** A service that tests call directly or over the network. */
export interface Reachable {
  service: Pick<World['service'], 'fetch'> & Partial<Pick<World['service'], 'signInLink'>>
  /** The owner's login. It is needed only if the service runs in a different process and can give no sign-in link. */
  owner?: { email: string; password: string }
}

export interface Page {
  url: string
  status: number
  headers: Headers
  text: string
}

/** A browser without JavaScript. It stores cookies, follows redirects within the service and submits forms. */
export interface Browser {
  get(url: string): Promise<Page>
  /** Submits the page's form with its hidden fields and with `fields`. The values in `fields` take precedence. */
  submit(page: Page, fields: Record<string, string>, action?: string): Promise<Page>
  /** Signs the owner in with a password or a one-time link. Returns the page at `next`. */
  signInOwner(next: string): Promise<Page>
  cookies: Map<string, string>
}

export function openBrowser({ service, owner }: Reachable, origin = address): Browser {
  const cookies = new Map<string, string>()
  const request = async (url: string, init: RequestInit, redirects = 0): Promise<Page> => {
    const headers = new Headers(init.headers)
    const sent = [...cookies].map(([name, value]) => `${name}=${value}`)
    if (sent.length > 0) headers.set('cookie', sent.join('; '))
    const response = await service.fetch(new Request(url, { ...init, headers, redirect: 'manual' }))
    for (const cookie of response.headers.getSetCookie()) storeCookie(cookies, cookie)
    const location = response.headers.get('location')
    const text = await response.text()
    if (location === null) return { url, status: response.status, headers: response.headers, text }
    const next = new URL(location, url)
    // A redirect to an application leads away from the service, so it is not followed.
    if (next.origin !== origin || redirects > 10) {
      return { url: next.href, status: response.status, headers: response.headers, text }
    }
    return request(next.href, { method: 'GET' }, redirects + 1)
  }
  const browser: Browser = {
    cookies,
    get: (url) => request(new URL(url, origin).href, { method: 'GET' }),
    signInOwner: async (next) => {
      const form = `/sign-in?next=${encodeURIComponent(next)}`
      if (owner !== undefined) return browser.submit(await browser.get(form), owner, '/sign-in')
      const link = await service.signInLink?.(next)
      if (link === undefined) throw new Error('The test has neither a password nor a sign-in link for this service.')
      const { pathname, search } = new URL(link)
      return browser.submit(await browser.get(pathname + search), {})
    },
    submit: (page, fields, action) => {
      const body = new URLSearchParams(hiddenFields(page.text))
      for (const [name, value] of Object.entries(fields)) body.set(name, value)
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        origin,
        'sec-fetch-site': 'same-origin',
      }
      const target = action ?? formAction(page.text) ?? page.url
      return request(new URL(target, page.url).href, { method: 'POST', headers, body: body.toString() })
    },
  }
  return browser
}

/** Stores a cookie under its name only, so that it replaces a cookie with the same name and a different path. */
function storeCookie(cookies: Map<string, string>, cookie: string): void {
  const [pair = '', ...attributes] = cookie.split('; ')
  const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
  const ended = value === '' || attributes.some((attribute) => /^(max-age=0|expires=thu, 01 jan 1970)/i.test(attribute))
  cookies.delete(name)
  if (!ended) cookies.set(name, value)
}

function hiddenFields(html: string): Record<string, string> {
  const main = html.slice(html.indexOf('<main'))
  const found = [...main.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  return Object.fromEntries(found.map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]))
}

function formAction(html: string): string | undefined {
  const main = html.slice(html.indexOf('<main'))
  return /<form[^>]*action="([^"]*)"/.exec(main)?.[1]?.replaceAll('&amp;', '&')
}
