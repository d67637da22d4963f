import { formPageHeaders } from './headers.ts'

const { 'Cross-Origin-Opener-Policy': _, ...headers } = formPageHeaders

/**
 * The headers of the pages in an application's sign-in flow. They omit Cross-Origin-Opener-Policy. An application may
 * open the flow in a popup and wait for the result, and the policy would cut the popup off from it.
 */
export const oauthPageHeaders: Readonly<Record<string, string>> = headers

/**
 * Returns the headers of a page whose form redirects to `redirectUri` after it is sent. The policy must allow that
 * address, because browsers also apply `form-action` to redirects.
 */
export function consentHeaders(redirectUri: string | null): Readonly<Record<string, string>> {
  const source = redirectUri === null ? '' : ` ${sourceOf(redirectUri)}`
  const policy = headers['Content-Security-Policy'].replace("form-action 'self'", `form-action 'self'${source}`)
  return { ...headers, 'Content-Security-Policy': policy }
}

/**
 * Returns the Content-Security-Policy source for the address. If a policy cannot express the host, such as an IPv6
 * address, the source is only the scheme.
 */
function sourceOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri)
  const isExpressible = /^https?:$/.test(protocol) && /^[a-z0-9.-]+(:\d+)?$/.test(host)
  return isExpressible ? `${protocol}//${host}` : protocol
}
