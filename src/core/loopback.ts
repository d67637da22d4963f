/** Returns whether the host of a URL is the local machine. */
export function isLoopbackHost(host: string): boolean {
  // The name comes from RFC 6761 section 6.3. The addresses come from RFC 1122 section 3.2.1.3 (all of 127.0.0.0/8) and
  // RFC 4291 section 2.5.3.
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host)
}

/** Returns whether a URL points to the local machine. */
export function isLoopback(address: string): boolean {
  return isLoopbackHost(URL.parse(address)?.hostname ?? '')
}
