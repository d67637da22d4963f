import type { World } from '../support/world.ts'

/** The address of a service that tests call without a network. */
export const address = 'http://127.0.0.1:4010'

/** A service, called directly or through its listener. */
export interface Reachable {
  service: Pick<World['service'], 'fetch'> & Partial<Pick<World['service'], 'signInLink'>>
  /** The owner's login, if the service is another process. */
  owner?: { email: string; password: string }
}

export interface Page {
  url: string
  status: number
  headers: Headers
  text: string
}

/** A headless browser: it keeps cookies, follows redirects within the service and sends forms. */
export interface Browser {
  get(url: string): Promise<Page>
  /** Sends the page's form. `fields` overrides the form's values. */
  submit(page: Page, fields: Record<string, string>, action?: string): Promise<Page>
  /** Signs the owner in by password or one-time link. Returns the next page. */
  prove(next: string): Promise<Page>
  cookies: Map<string, string>
}

export function openBrowser({ service, owner }: Reachable, at = address): Browser {
  const cookies = new Map<string, string>()
  const request = async (url: string, init: RequestInit, redirects = 0): Promise<Page> => {
    const headers = new Headers(init.headers)
    const sent = [...cookies].map(([name, value]) => `${name.split(' ')[0]}=${value}`)
    if (sent.length > 0) headers.set('cookie', sent.join('; '))
    const response = await service.fetch(new Request(url, { ...init, headers, redirect: 'manual' }))
    for (const cookie of response.headers.getSetCookie()) keep(cookies, cookie)
    const location = response.headers.get('location')
    const text = await response.text()
    if (location === null) return { url, status: response.status, headers: response.headers, text }
    const next = new URL(location, url)
    // A redirect to an application leaves the service.
    if (next.origin !== at || redirects > 10) {
      return { url: next.href, status: response.status, headers: response.headers, text }
    }
    return request(next.href, { method: 'GET' }, redirects + 1)
  }
  const browser: Browser = {
    cookies,
    get: (url) => request(new URL(url, at).href, { method: 'GET' }),
    prove: async (next) => {
      const form = `/sign-in?next=${encodeURIComponent(next)}`
      if (owner !== undefined) return browser.submit(await browser.get(form), owner, '/sign-in')
      const link = await service.signInLink?.(next)
      if (link === undefined) throw new Error('This service gives its test no link to sign in with.')
      const { pathname, search } = new URL(link)
      return browser.submit(await browser.get(pathname + search), {})
    },
    submit: (page, fields, action) => {
      const body = new URLSearchParams(hiddenFields(page.text))
      for (const [name, value] of Object.entries(fields)) body.set(name, value)
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        origin: at,
        'sec-fetch-site': 'same-origin',
      }
      const target = action ?? formAction(page.text) ?? page.url
      return request(new URL(target, page.url).href, { method: 'POST', headers, body: body.toString() })
    },
  }
  return browser
}

/** Stores a cookie by name and path, because concurrent authorization requests have cookies of the same name. */
function keep(cookies: Map<string, string>, cookie: string): void {
  const [pair = '', ...attributes] = cookie.split('; ')
  const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
  const path = attributes.find((attribute) => /^path=/i.test(attribute))?.slice(5) ?? '/'
  const ended = value === '' || attributes.some((attribute) => /^(max-age=0|expires=thu, 01 jan 1970)/i.test(attribute))
  // Requests do not contain a cookie's path, so an older cookie of another path must not shadow a newer one.
  for (const key of cookies.keys()) if (key.split(' ')[0] === name) cookies.delete(key)
  if (!ended) cookies.set(`${name} ${path}`, value)
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
