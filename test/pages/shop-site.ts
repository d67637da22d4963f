import type { TestDatabase } from '../support/databases.ts'
import { createWorld, type World, type WorldOptions } from '../support/world.ts'
import { decoded } from './decoded.ts'

const address = 'http://127.0.0.1:4010'

export interface PageAnswer {
  status: number
  headers: Headers
  text: string
  location: string | null
}

type Fields = Record<string, string | string[]>

/** The headers that a browser sends with a form from this site. */
export const sameOriginHeaders = { Origin: address, 'Sec-Fetch-Site': 'same-origin' }

/** A test world, and an HTTP client that uses its shops as a browser does. */
export interface ShopSite {
  world: World
  open(path: string): Promise<PageAnswer>
  /** Submits the form with a button whose text begins with `button`. The given fields replace fields of the form. */
  send(page: PageAnswer, button: string, fields?: Fields, headers?: Record<string, string>): Promise<PageAnswer>
  post(path: string, fields: Fields, headers?: Record<string, string>): Promise<PageAnswer>
  /** Follows the redirect of an answer. */
  follow(page: PageAnswer): Promise<PageAnswer>
}

export async function createShopSite(database: TestDatabase, options: WorldOptions = {}): Promise<ShopSite> {
  const world = await createWorld(database, options)
  const ask = async (path: string, init: RequestInit = {}): Promise<PageAnswer> => {
    const answer = await world.service.fetch(new Request(address + path, init))
    const { status, headers } = answer
    return { status, headers, text: await answer.text(), location: headers.get('location') }
  }
  const site: ShopSite = {
    world,
    open: (path) => ask(path),
    send: (page, button, fields = {}, headers = sameOriginHeaders) => {
      const form = formsOf(page.text).find(({ buttons }) => buttons.some((name) => name.startsWith(button)))
      if (form === undefined) throw new Error(`There is no form with the button ${button}:\n${page.text}`)
      return site.post(form.action, { ...form.fields, ...fields }, headers)
    },
    post: (path, fields, headers = sameOriginHeaders) => {
      const body = new URLSearchParams()
      for (const [name, value] of Object.entries(fields)) for (const one of [value].flat()) body.append(name, one)
      return ask(path, { method: 'POST', body, headers })
    },
    follow: ({ location, text }) => {
      if (location === null) throw new Error(`The response is not a redirect:\n${text}`)
      return ask(location)
    },
  }
  return site
}

/** Returns the forms of a page, with the fields that a browser would send. */
export function formsOf(page: string): { action: string; fields: Fields; buttons: string[] }[] {
  return [...page.matchAll(/<form method="post" action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)].map(
    ([, action = '', form = '']) => {
      const fields: Record<string, string[]> = {}
      for (const [input] of form.matchAll(/<input [^>]*>|<textarea [^>]*>/g)) {
        const [name, value] = [attributeOf(input, 'name'), attributeOf(input, 'value') ?? '']
        const isSent = attributeOf(input, 'type') !== 'checkbox' || / checked>$/.test(input)
        if (name !== undefined && isSent) fields[name] = [...(fields[name] ?? []), value]
      }
      const buttons = [...form.matchAll(/<button [^>]*>([^<]*)</g)].map(([, name]) => String(name))
      return { action: decoded(action), fields, buttons }
    },
  )
}

function attributeOf(tag: string, name: string): string | undefined {
  const value = new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1]
  return value === undefined ? undefined : decoded(value)
}
