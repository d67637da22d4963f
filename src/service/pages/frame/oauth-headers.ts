import { formPageHeaders } from './headers.ts'

const { 'Cross-Origin-Opener-Policy': _, ...headers } = formPageHeaders

/**
 * The headers of a page on the way from an application and back to it. An application may open that way in a window of
 * its own and wait for what comes back: with Cross-Origin-Opener-Policy the two would lose each other.
 */
export const oauthPageHeaders: Readonly<Record<string, string>> = headers

/** The headers of the page whose form leads to `redirectUri`: browsers check form-action at redirects too. */
export function consentHeaders(redirectUri: string | null): Readonly<Record<string, string>> {
  const source = redirectUri === null ? '' : ` ${sourceOf(redirectUri)}`
  const policy = headers['Content-Security-Policy'].replace("form-action 'self'", `form-action 'self'${source}`)
  return { ...headers, 'Content-Security-Policy': policy }
}

/** The address as a source of the policy; its scheme only, where the host can't be named in one (IPv6 is such). */
function sourceOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri)
  const named = /^https?:$/.test(protocol) && /^[a-z0-9.-]+(:\d+)?$/.test(host)
  return named ? `${protocol}//${host}` : protocol
}
