import { formPageHeaders } from './headers.ts'

const { 'Cross-Origin-Opener-Policy': _, ...headers } = formPageHeaders

/**
 * The headers of a page in the sign-in flow of an application. The application may open the flow in a separate window
 * and wait for the result. Cross-Origin-Opener-Policy would cut the link between the two windows.
 */
export const oauthPageHeaders: Readonly<Record<string, string>> = headers

/**
 * Returns the headers of the page whose form leads to `redirectUri`. The policy must allow that address, because
 * browsers check `form-action` on redirects too.
 */
export function consentHeaders(redirectUri: string | null): Readonly<Record<string, string>> {
  const source = redirectUri === null ? '' : ` ${sourceOf(redirectUri)}`
  const policy = headers['Content-Security-Policy'].replace("form-action 'self'", `form-action 'self'${source}`)
  return { ...headers, 'Content-Security-Policy': policy }
}

/**
 * Returns the address as a source for the Content-Security-Policy. If the policy cannot express the host (for example
 * IPv6), the source is only the scheme.
 */
function sourceOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri)
  const named = /^https?:$/.test(protocol) && /^[a-z0-9.-]+(:\d+)?$/.test(host)
  return named ? `${protocol}//${host}` : protocol
}
