import { failAttribute, show } from '../../../core/errors.ts'
import type { Environment } from '../../../core/operation.ts'
import { closestWords } from '../../../core/spelling.ts'
import { addressProblem, allowsLocalAddresses } from '../../request/webhook-addresses.ts'
import { eventTypes, isEventType } from '../../rules/event-types.ts'

/**
 * Returns a webhook's URL without the fragment, because URLs are stored in this form.
 * @throws 422 for `url` if the service does not deliver events to this URL.
 */
export function webhookUrl(
  url: string,
  { environment, publicUrl }: { environment: Environment; publicUrl: () => string },
): string {
  const mayStayHere = allowsLocalAddresses(environment, publicUrl())
  const problem = addressProblem(url, mayStayHere)
  if (problem === undefined) return withoutFragment(new URL(url))
  return failAttribute(
    'url',
    `url ${problem} Got ${show(withoutSecrets(url))}. ${acceptedUrls(environment, mayStayHere)}`,
  )
}

/** Removes the credentials and the query from a URL, so that an error message does not show passwords. */
function withoutSecrets(rawUrl: string): string {
  const url = URL.parse(rawUrl)
  return url === null ? rawUrl : `${url.protocol}//${url.host}${url.pathname}`
}

function acceptedUrls(environment: Environment, mayStayHere: boolean): string {
  const localText = mayStayHere ? ', and in the sandbox http or https at localhost, 127.0.0.1 or [::1]' : ''
  const forward =
    environment === 'sandbox' && !mayStayHere
      ? ' To receive events on your own machine, run payments-mcp listen --forward-to ADDRESS there.'
      : ''
  return `It accepts https at a public host name or IP address, without a user name or password${localText}.${forward}`
}

function withoutFragment(url: URL): string {
  url.hash = ''
  return url.href
}

/** Returns the enabled event types without duplicates. @throws 422 for the first unknown type. */
export function enabledTypes(types: readonly string[]): string[] {
  const at = types.findIndex((type) => type !== '*' && !isEventType(type))
  if (at === -1) return [...new Set(types)]
  const unknown = types[at] ?? ''
  const similar = closestWords(unknown, [...eventTypes], 3).join(', ')
  return failAttribute(
    `enabledEvents/${at}`,
    `enabledEvents must contain event types, got ${show(unknown)}. Similar types: ${similar}; * means all. docs/events.md lists the types.`,
  )
}
