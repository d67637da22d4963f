/** The name and version that an MCP host reports about itself. They are not verified. */
export interface HostProgram {
  name: string
  version?: string | undefined
}

/** The maximum lengths of a name and of a version. */
const [maxNameLength, maxVersionLength] = [60, 19]

/**
 * Returns the User-Agent header, such as `payments-mcp/1.2.3 (Claude%20Desktop/4.5)`. The host's part is
 * percent-encoded, because a header cannot contain all characters.
 */
export function userAgentOf(program: string, host: HostProgram | undefined): string {
  if (host === undefined || host.name === '') return program
  const { name, version = '' } = host
  const suffix = version === '' ? '' : `/${encoded(version, maxVersionLength)}`
  return `${program} (${encoded(name, maxNameLength)}${suffix})`
}

/**
 * Percent-encodes the first `maxLength` characters. Parentheses are encoded too, because they enclose the host's part
 * of the header.
 */
function encoded(text: string, maxLength: number): string {
  const short = [...text.slice(0, 2 * maxLength)].slice(0, maxLength).join('').toWellFormed()
  return encodeURIComponent(short).replace(/[()]/g, (sign) => (sign === '(' ? '%28' : '%29'))
}
