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
 * @param id If the client id is an address, the application's description was read from it, so its host is certain.
 */
export function applicationWords({ id, name }: { id: string; name: string }): ApplicationWords {
  const address = URL.parse(id)
  const host = address?.protocol === 'https:' ? address.host : null
  return { name: foreignName(name, host ?? `An application without a name (${shortForeignText(id)})`), host }
}

/** Returns the destination of the answer in words. */
export function destinationWords(redirectUri: string | null): string {
  if (redirectUri === null) return 'The device that showed you the code'
  const address = URL.parse(redirectUri)
  if (address === null) return shortForeignText(redirectUri)
  if (isLoopback(redirectUri)) return 'This computer'
  if (!/^https?:$/.test(address.protocol))
    return `This computer: the app that opens ${shortForeignText(address.protocol)} addresses`
  return address.host
}
