import { mayBePublicHost } from '../../core/ip-addresses.ts'
import { isLoopback } from '../../core/loopback.ts'
import type { Environment } from '../../core/operation.ts'

/**
 * Returns whether the URLs of webhooks and key sets may lead to this machine. This is allowed only in a sandbox that
 * other machines cannot reach.
 */
export function allowsLocalAddresses(environment: Environment, publicUrl: string): boolean {
  return environment === 'sandbox' && (isLoopback(publicUrl) || isUnreachable(publicUrl))
}

/**
 * Returns whether the service runs inside its caller's process and has no network address. In that case, the host name
 * of the service's public URL ends with `.invalid`, a domain that never resolves (RFC 6761 section 6.4).
 */
function isUnreachable(publicUrl: string): boolean {
  return URL.parse(publicUrl)?.hostname.endsWith('.invalid') === true
}

/**
 * Returns why the service must not send requests to a URL, worded as the end of a sentence; undefined if the service
 * may send them. The URL of a webhook is checked again before every delivery: `mayStayHere` depends on the service's
 * own URL, which may have changed since the webhook was created. The IP addresses of a host name are checked at each
 * connection (`checkedLookup`).
 */
export function addressProblem(address: string, mayStayHere: boolean): string | undefined {
  const url = URL.parse(address)
  if (url === null) return 'is not a valid URL.'
  if (url.username !== '' || url.password !== '') return 'has a user name or password in it.'
  if (url.port !== '' && blockedPorts.has(Number(url.port)))
    return `has the port ${url.port}, which HTTP clients block.`
  if (isLoopback(address) && /^https?:$/.test(url.protocol)) {
    return mayStayHere ? undefined : 'is on the machine that the service runs on, not on the public internet.'
  }
  if (url.protocol !== 'https:') return 'is not an https address on the public internet.'
  return mayBePublicHost(url.hostname) ? undefined : 'is not an address on the public internet.'
}

/**
 * Port 0, and the ports that `fetch` refuses because other protocols use them
 * (https://fetch.spec.whatwg.org/#port-blocking).
 */
const blockedPorts: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
])
