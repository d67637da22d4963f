import { formPageHeaders } from './headers.ts'

const { 'Cross-Origin-Opener-Policy': _, ...headers } = formPageHeaders

/**
 * The headers of a page in an application's sign-in flow. The application may open the flow in a separate window and
 * wait for the result, but Cross-Origin-Opener-Policy would disconnect the two windows.
 */
export const oauthPageHeaders: Readonly<Record<string, string>> = headers

/**
 * Returns the headers of a page whose form ends in a redirect to `redirectUri`. The policy must allow that address,
 * because browsers also apply `form-action` to redirects.
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
  const named = /^https?:$/.test(protocol) && /^[a-z0-9.-]+(:\d+)?$/.test(host)
  return named ? `${protocol}//${host}` : protocol
}
