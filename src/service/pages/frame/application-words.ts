import { foreignName, shortForeignText } from '../../../core/foreign-text.ts'
import { isLoopback } from '../../../core/loopback.ts'

/** The texts of an application. Plain text, not HTML. */
export interface ApplicationWords {
  name: string
  /** The application's verified host; null if unknown. It is never shortened, because its end identifies the owner. */
  host: string | null
}

/**
 * Returns the texts of an application.
 * @param id If the client id is an https address, the application's metadata was read from that address, so its host is
 * verified.
 */
export function applicationWords({ id, name }: { id: string; name: string }): ApplicationWords {
  const address = URL.parse(id)
  const host = address?.protocol === 'https:' ? address.host : null
  return { name: foreignName(name, host ?? `An application without a name (${shortForeignText(id)})`), host }
}

/** Describes where the person's answer is sent, such as a host name or `This computer`. */
export function destinationWords(redirectUri: string | null): string {
  if (redirectUri === null) return 'The device that showed you the code'
  const address = URL.parse(redirectUri)
  if (address === null) return shortForeignText(redirectUri)
  if (isLoopback(redirectUri)) return 'This computer'
  if (!/^https?:$/.test(address.protocol))
    return `This computer: the app that opens ${shortForeignText(address.protocol)} addresses`
  return address.host
}
