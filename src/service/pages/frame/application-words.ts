import { foreignName, shortForeignText } from '../../../core/foreign-text.ts'
import { isLoopback } from '../../../core/loopback.ts'

/** An application in the words of a page. Texts, not HTML. */
export interface ApplicationWords {
  name: string
  /** The host that it is known to belong to, whole, since its end is what counts; null: nothing is known. */
  host: string | null
}

/** @param id A client id that is an address is where the application's description was read, so its host is certain. */
export function applicationWords({ id, name }: { id: string; name: string }): ApplicationWords {
  const address = URL.parse(id)
  const host = address?.protocol === 'https:' ? address.host : null
  return { name: foreignName(name, host ?? `An application without a name (${shortForeignText(id)})`), host }
}

/** Where the browser goes with the answer, in words. */
export function destinationWords(redirectUri: string | null): string {
  if (redirectUri === null) return 'The device that showed you the code'
  const address = URL.parse(redirectUri)
  if (address === null) return shortForeignText(redirectUri)
  if (isLoopback(redirectUri)) return 'This computer'
  if (!/^https?:$/.test(address.protocol))
    return `This computer: the app that opens ${shortForeignText(address.protocol)} addresses`
  return address.host
}
