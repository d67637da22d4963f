/**
 * A Content-Security-Policy that allows the service's own files, and forbids inline scripts and styles. It also forbids
 * the submission of forms, because scripts send the forms' values instead.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
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

/** The headers of a page that a person opens directly. No other page may frame it. */
export const pageHeaders = {
  ...document,
  'Content-Security-Policy': [...contentSecurityPolicy, "frame-ancestors 'none'"].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
} as const

/**
 * The headers of a page with a form and no script. The page may load only style sheets and the logo, it may send its
 * form only to this site, and no page may frame it. The `Referrer-Policy` is `same-origin`, because with `no-referrer`,
 * browsers send `Origin: null` with the form. The form would then seem to come from another site.
 */
export const formPageHeaders = {
  ...pageHeaders,
  'Content-Security-Policy': [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'same-origin',
} as const

/** The headers of a page that may have forms and scripts, and that also works without JavaScript. */
export const scriptedPageHeaders = {
  ...formPageHeaders,
  'Content-Security-Policy': [
    formPageHeaders['Content-Security-Policy'],
    "script-src 'self'",
    "require-trusted-types-for 'script'",
  ].join('; '),
} as const

/**
 * The headers of the console. Its script redraws parts of the page. Only the Trusted Types policy `console` may turn
 * strings into HTML. The script uses this policy only for HTML from this service.
 */
export const consoleHeaders = {
  ...scriptedPageHeaders,
  'Content-Security-Policy': [
    scriptedPageHeaders['Content-Security-Policy'],
    "connect-src 'self'",
    'trusted-types console',
  ].join('; '),
} as const

/**
 * The headers of the card form. Any page may frame it, even a page that is isolated by Cross-Origin-Embedder-Policy.
 */
export const frameHeaders = {
  ...document,
  'Content-Security-Policy': [...contentSecurityPolicy, 'frame-ancestors *'].join('; '),
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const

/** The headers of a file that only the service's own pages load. */
export const ownFileHeaders = { ...common, 'Cross-Origin-Resource-Policy': 'same-origin' } as const

/** The headers of a file that pages of other sites load too. */
export const sharedFileHeaders = { ...common, 'Cross-Origin-Resource-Policy': 'cross-origin' } as const

/** The headers of JSON that a script on one of the service's pages requests. */
export const dataHeaders = { ...ownFileHeaders, 'Content-Type': 'application/json' } as const
