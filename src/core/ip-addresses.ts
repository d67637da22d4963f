import ipaddr from 'ipaddr.js'
import { builtin } from './builtin.ts'

const net = builtin<typeof import('node:net')>('node:net')
const isIP = (text: string) => net().isIP(text)

/**
 * Returns an IP address in the form in which addresses are compared and counted; undefined if the string is not an IP
 * address. An IPv6 address gets its canonical form (RFC 5952), without a zone. An IPv4 address that is mapped into IPv6
 * (`::ffff:192.0.2.1`) becomes the IPv4 address.
 */
export function canonicalAddress(text: string): string | undefined {
  const address = text.replace(/%.*$/s, '')
  if (isIP(address) === 4) return address
  if (isIP(address) !== 6) return undefined
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [, high = '', low = ''] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(canonical) ?? []
  return high === '' ? canonical : [...bytesOf(high), ...bytesOf(low)].join('.')
}

/** The range from which all public IPv6 addresses have been allocated so far (RFC 4291, section 2.4). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Returns whether an address is on the public internet. Addresses of this machine, of private networks, and for special
 * purposes do not count as public (IANA: IPv4 and IPv6 Special-Purpose Address Registries). An IPv4 address that is
 * mapped into IPv6 counts as the IPv4 address.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  return address.range() === 'unicast' && (address instanceof ipaddr.IPv4 || address.match(globalUnicast))
}

/** Names reserved for local hosts: RFC 6761 (localhost), 6762 (local), 8375 (home.arpa), and ICANN's `internal`. */
const nearbyName = /(?:^|\.)(?:localhost|local|internal|home\.arpa)$/

/**
 * Returns whether the host of a URL can be on the public internet, judged by the name alone, without a DNS lookup. A
 * name without a dot never counts as public, because the machine may complete it from its DNS search list.
 */
export function mayBePublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (isIP(host) !== 0) return isPublicAddress(host)
  return host.length <= 253 && /^(?:[^.]{1,63}\.)+[^.]{1,63}$/.test(host) && !nearbyName.test(host)
}

/**
 * Returns the address or network that identifies a client in rate limits. An IPv6 client is identified by its /64
 * network, because one subscriber has at least 2^64 addresses (RFC 6177). Takes a canonical address.
 */
export function countedAddress(canonical: string): string {
  if (isIP(canonical) === 4) return canonical
  const [before = '', after] = canonical.split('::')
  const [head, tail] = [groupsOf(before), groupsOf(after ?? '')]
  const between = after === undefined ? 0 : 8 - head.length - tail.length
  return `${[...head, ...Array(between).fill('0'), ...tail].slice(0, 4).join(':')}::/64`
}

/** Returns whether the string is an address, or a range of addresses such as `10.0.0.0/8` or `2001:db8::/32`. */
export function isAddressRange(text: string): boolean {
  const { address, bits } = rangeOf(text)
  const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  return bits === undefined ? maxBits > 0 : /^\d{1,3}$/.test(bits) && Number(bits) <= maxBits
}

/** Returns a function that checks whether a canonical address is in one of the ranges. */
export function inRanges(ranges: readonly string[]): (canonical: string) => boolean {
  const list = new (net().BlockList)()
  for (const range of ranges) {
    const { address, bits } = rangeOf(range)
    const family = familyOf(address)
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (canonical) => isIP(canonical) !== 0 && list.check(canonical, familyOf(canonical))
}

function rangeOf(text: string): { address: string; bits: string | undefined } {
  const [address = '', bits, ...rest] = text.split('/')
  return { address: rest.length > 0 ? '' : address, bits }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6'
}

function groupsOf(part: string): string[] {
  return part === '' ? [] : part.split(':')
}

function bytesOf(group: string): [number, number] {
  const value = Number.parseInt(group, 16)
  return [value >> 8, value & 0xff]
}
