import type { Context } from 'hono'

/** The limit of a form's size, bytes. No form here comes near it. */
export const mostFormBytes = 4 * 1024

/** Whether the browser says that a page of this site sent the form. */
export function isOwnForm(c: Context, publicUrl: string): boolean {
  const [site, origin] = [c.req.header('sec-fetch-site'), c.req.header('origin')]
  if (site !== undefined && site !== 'same-origin') return false
  if (origin === undefined) return site !== undefined
  const host = URL.parse(origin)?.host
  return host !== undefined && [new URL(c.req.url).host, URL.parse(publicUrl)?.host].includes(host)
}

/**
 * Whether the browser says that another site sent the form. A program that is no browser says nothing of where a form
 * comes from: it is let in where the form needs a secret that no other site's page knows, and no cookie.
 */
export function isForeignForm(c: Context, publicUrl: string): boolean {
  const isSilent = c.req.header('sec-fetch-site') === undefined && c.req.header('origin') === undefined
  return !isSilent && !isOwnForm(c, publicUrl)
}

export function isForm(c: Context): boolean {
  return /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(c.req.header('content-type') ?? '')
}
