import type { Context } from 'hono'

/** The default size limit of a form, in bytes. The forms that use the default are far smaller. */
export const maxFormBytes = 4 * 1024

/** Returns whether the browser's headers show that a page of this site sent the form. */
export function isOwnForm(c: Context, publicUrl: string): boolean {
  const [site, origin] = [c.req.header('sec-fetch-site'), c.req.header('origin')]
  if (site !== undefined && site !== 'same-origin') return false
  if (origin === undefined) return site !== undefined
  const host = URL.parse(origin)?.host
  return host !== undefined && [new URL(c.req.url).host, URL.parse(publicUrl)?.host].includes(host)
}

/**
 * Returns whether the browser's headers show that another site sent the form. Programs other than browsers do not send
 * these headers, so the function returns false for their forms. Use this function only for forms that contain a secret
 * and do not rely on a cookie.
 */
export function isForeignForm(c: Context, publicUrl: string): boolean {
  const isSilent = c.req.header('sec-fetch-site') === undefined && c.req.header('origin') === undefined
  return !isSilent && !isOwnForm(c, publicUrl)
}

export function isForm(c: Context): boolean {
  return /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(c.req.header('content-type') ?? '')
}
