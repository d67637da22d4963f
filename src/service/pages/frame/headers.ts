/** Nothing but the service's own files; no inline script or style; forms go nowhere, scripts send what they hold. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
]

const common = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

const document = {
  ...common,
  'Content-Type': 'text/html; charset=utf-8',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
}

/** Of a page that a person opens: no other page may frame it. */
export const pageHeaders = {
  ...document,
  'Content-Security-Policy': [...contentSecurityPolicy, "frame-ancestors 'none'"].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
} as const

/**
 * Of a page with a form and no script: nothing but style sheets; the form goes to the page itself; no framing. The
 * referrer stays on the site instead of being left out altogether: without it browsers send `Origin: null` with a form,
 * and the answer could not be told from another site's.
 */
export const formPageHeaders = {
  ...pageHeaders,
  'Content-Security-Policy': [
    "default-src 'none'",
    "style-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'same-origin',
} as const

/** Of the card form, which any page may frame, also one that isolates itself (Cross-Origin-Embedder-Policy). */
export const frameHeaders = {
  ...document,
  'Content-Security-Policy': [...contentSecurityPolicy, 'frame-ancestors *'].join('; '),
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const

/** Of a file that only the service's own pages load. */
export const ownFileHeaders = { ...common, 'Cross-Origin-Resource-Policy': 'same-origin' } as const

/** Of a file that other sites' pages load too. */
export const sharedFileHeaders = { ...common, 'Cross-Origin-Resource-Policy': 'cross-origin' } as const

/** Of what the pages' scripts are answered. */
export const dataHeaders = { ...ownFileHeaders, 'Content-Type': 'application/json' } as const
