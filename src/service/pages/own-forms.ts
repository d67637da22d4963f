import type { Context } from 'hono'

/**
 * Of a page with a form and no script: nothing but style sheets; the form goes to the page itself; no framing. The
 * referrer stays on the site instead of being left out altogether: without it browsers send `Origin: null` with a form,
 * and the answer could not be told from another site's.
 */
export const formPageHeaders = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': [
    "default-src 'none'",
    "style-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
} as const

/** More than the forms have by far. */
export const mostFormBytes = 4 * 1024

/** Whether the browser says that a page of this site sent the form. */
export function isOwnForm(c: Context, publicUrl: string): boolean {
  const [site, origin] = [c.req.header('sec-fetch-site'), c.req.header('origin')]
  if (site !== undefined && site !== 'same-origin') return false
  if (origin === undefined) return site !== undefined
  const host = URL.parse(origin)?.host
  return host !== undefined && [new URL(c.req.url).host, URL.parse(publicUrl)?.host].includes(host)
}

export function isForm(c: Context): boolean {
  return /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(c.req.header('content-type') ?? '')
}
