import { formPageHeaders } from './headers.ts'

const { 'Cross-Origin-Opener-Policy': _, ...headers } = formPageHeaders

/**
 * The headers of the pages in an application's sign-in flow. They omit Cross-Origin-Opener-Policy, because an
 * application may open the flow in a popup and wait for the result. The policy would cut the popup off from the
 * application.
 */
export const oauthPageHeaders: Readonly<Record<string, string>> = headers

/**
 * Returns the headers of a page with a form that leads, through a redirect, to `redirectUri`. The
 * Content-Security-Policy must allow this address, because browsers also apply `form-action` to redirects.
 */
export function consentHeaders(redirectUri: string | null): Readonly<Record<string, string>> {
  const source = redirectUri === null ? '' : ` ${sourceOf(redirectUri)}`
  const policy = headers['Content-Security-Policy'].replace("form-action 'self'", `form-action 'self'${source}`)
  return { ...headers, 'Content-Security-Policy': policy }
}

/**
 * Returns the address's scheme and host as a source for a Content-Security-Policy. Returns only the scheme if the
 * policy cannot express the host, for example an IPv6 address.
 */
function sourceOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri)
  const isExpressible = /^https?:$/.test(protocol) && /^[a-z0-9.-]+(:\d+)?$/.test(host)
  return isExpressible ? `${protocol}//${host}` : protocol
}
