import { failAttribute, show } from '../../../core/errors.ts'
import { isPublicAddress } from '../../../core/ip-addresses.ts'
import { isLoopback } from '../../../core/loopback.ts'
import { mostLike } from '../../../core/nearest.ts'
import type { Environment } from '../../../core/operation.ts'
import { eventTypes, isEventType } from '../../rules/event-types.ts'

/**
 * The address of a webhook as it is kept. What its name stands for is looked up at each delivery: here is refused what can
 * be none, whatever that is. @throws 422 naming `url`.
 */
export function webhookUrl(given: string, environment: Environment): string {
  const url = URL.parse(given)
  const refuse = (why: string) =>
    failAttribute('url', `url ${why} It got ${show(shown(url, given))}. ${accepted(environment)}`)
  if (url === null) return refuse('is no address.')
  if (url.username !== '' || url.password !== '') return refuse('has a name or password in it.')
  const staysHere = isLoopback(given)
  if (staysHere && environment === 'sandbox' && /^https?:$/.test(url.protocol)) return withoutFragment(url)
  if (url.protocol !== 'https:') return refuse('is not an https address.')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const isAddress = /^[\d.]+$|:/.test(host)
  if (staysHere || (isAddress && !isPublicAddress(host))) return refuse('is not of the public internet.')
  return withoutFragment(url)
}

/** Nobody is to read a password in an error. */
function shown(url: URL | null, given: string): string {
  return url === null ? given : `${url.protocol}//${url.host}${url.pathname}`
}

function accepted(environment: Environment): string {
  const here = environment === 'sandbox' ? ', and in the sandbox http or https at localhost, 127.0.0.1 or [::1]' : ''
  return `Accepted is https at a public host name or address, without user name and password${here}.`
}

function withoutFragment(url: URL): string {
  const kept = new URL(url)
  kept.hash = ''
  return kept.href
}

/** The types that a webhook is enabled for, each once. @throws 422 naming the first that is none. */
export function enabledTypes(given: readonly string[]): string[] {
  const at = given.findIndex((type) => type !== '*' && !isEventType(type))
  if (at === -1) return [...new Set(given)]
  const unknown = given[at] ?? ''
  const similar = mostLike(unknown, [...eventTypes], 3).join(', ')
  return failAttribute(
    `enabledEvents/${at}`,
    `enabledEvents got ${show(unknown)}, which is no type of event. Like it are ${similar}; * is all. docs/events.md lists the types.`,
  )
}
