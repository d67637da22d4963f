import { foreignName, shortForeignText } from '../../../core/foreign-text.ts'
import { isLoopback } from '../../../core/loopback.ts'

/** An application's name and host. Plain text, not HTML. */
export interface ApplicationWords {
  name: string
  /**
   * The application's verified host; null if no host is verified. It is never shortened, because the end of a host name
   * shows who owns the host.
   */
  host: string | null
}

/**
 * Returns an application's name and verified host.
 * @param id The client id. If it is an https address, the application's metadata was read from that address, so the
 * host is verified.
 */
export function applicationWords({ id, name }: { id: string; name: string }): ApplicationWords {
  const address = URL.parse(id)
  const host = address?.protocol === 'https:' ? address.host : null
  return { name: foreignName(name, host ?? `An application without a name (${shortForeignText(id)})`), host }
}

/** Describes the place to which the authorization will be sent, such as a host name or `This computer`. */
export function destinationWords(redirectUri: string | null): string {
  if (redirectUri === null) return 'The device that showed you the code'
  const address = URL.parse(redirectUri)
  if (address === null) return shortForeignText(redirectUri)
  if (isLoopback(redirectUri)) return 'This computer'
  if (!/^https?:$/.test(address.protocol))
    return `This computer: the app that opens ${shortForeignText(address.protocol)} addresses`
  return address.host
}
