import { formPageHeaders } from './headers.ts'

const { 'Cross-Origin-Opener-Policy': _, ...headers } = formPageHeaders

/**
 * The headers of a page on the way from an application and back to it. An application may open this flow in its own
 * window and wait for the result; Cross-Origin-Opener-Policy would separate the two.
 */
export const oauthPageHeaders: Readonly<Record<string, string>> = headers

/** Returns the headers of the page whose form leads to `redirectUri`: browsers check form-action on redirects too. */
export function consentHeaders(redirectUri: string | null): Readonly<Record<string, string>> {
  const source = redirectUri === null ? '' : ` ${sourceOf(redirectUri)}`
  const policy = headers['Content-Security-Policy'].replace("form-action 'self'", `form-action 'self'${source}`)
  return { ...headers, 'Content-Security-Policy': policy }
}

/**
 * Returns the address as a source for the Content-Security-Policy. If the policy cannot express the host (for example
 * IPv6), it is only the scheme.
 */
function sourceOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri)
  const named = /^https?:$/.test(protocol) && /^[a-z0-9.-]+(:\d+)?$/.test(host)
  return named ? `${protocol}//${host}` : protocol
}
