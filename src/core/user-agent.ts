/** The self-reported name of a program that calls through the MCP server; anybody may have written it. */
export interface HostProgram {
  name: string
  version?: string | undefined
}

/** The maximum lengths of a name and of a version. */
const [maxNameLength, maxVersionLength] = [60, 19]

/**
 * Returns the User-Agent, such as `payments-mcp/1.2.3 (Claude%20Desktop/4.5)`. It is percent-encoded, so that any name
 * fits a header.
 */
export function userAgentOf(program: string, host: HostProgram | undefined): string {
  if (host === undefined || host.name === '') return program
  const { name, version = '' } = host
  const suffix = version === '' ? '' : `/${encoded(version, maxVersionLength)}`
  return `${program} (${encoded(name, maxNameLength)}${suffix})`
}

/**
 * Encodes at most `maxLength` whole characters. Parentheses are encoded too, because they would end the header's
 * comment.
 */
function encoded(text: string, maxLength: number): string {
  const short = [...text.slice(0, 2 * maxLength)].slice(0, maxLength).join('').toWellFormed()
  return encodeURIComponent(short).replace(/[()]/g, (sign) => (sign === '(' ? '%28' : '%29'))
}
