/** A program that calls through the MCP server, by what it calls itself: anybody may have written it. */
export interface HostProgram {
  name: string
  version?: string | undefined
}

/** More than a program is called, together. */
const [mostOfName, mostOfVersion] = [60, 19]

/** Who sends a request: `payments-mcp/1.2.3 (Claude%20Desktop/4.5)`, percent-encoded, so that any name fits a header. */
export function userAgentOf(program: string, host: HostProgram | undefined): string {
  if (host === undefined || host.name === '') return program
  const { name, version = '' } = host
  const behind = version === '' ? '' : `/${encoded(version, mostOfVersion)}`
  return `${program} (${encoded(name, mostOfName)}${behind})`
}

/** The program that a request says it came from; undefined: it says none. */
export function hostIn(userAgent: string | null): HostProgram | undefined {
  const [, name, version] = pattern.exec(userAgent ?? '') ?? []
  const known = decoded(name)
  if (known === undefined) return undefined
  return { name: known, version: decoded(version) }
}

const pattern = /^payments-mcp\/\S{1,40} \(([^()/\s]{1,720})(?:\/([^()/\s]{1,228}))?\)$/

/** At most so many whole characters; the parentheses around it are none of its own. */
function encoded(text: string, most: number): string {
  const short = [...text.slice(0, 2 * most)].slice(0, most).join('').toWellFormed()
  return encodeURIComponent(short).replace(/[()]/g, (sign) => (sign === '(' ? '%28' : '%29'))
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text)
  } catch {
    return undefined
  }
}
