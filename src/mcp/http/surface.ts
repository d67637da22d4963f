import { acceptedToolsets, parseToolsets } from '../../config/values.ts'
import { show } from '../../core/errors.ts'
import { mcpPath } from '../../core/mcp-path.ts'
import type { Toolset } from '../../core/operation.ts'

/** The choice of tools that a host made. */
export interface Surface {
  /** The requested toolsets; undefined if the host requested none. */
  toolsets: readonly Toolset[] | undefined
  readOnly: boolean
}

/**
 * Returns the choice of tools that a request makes in its path (`/mcp`, `/mcp/readonly`, `/mcp/x/payments,agents`,
 * `/mcp/x/payments/readonly`) and in the headers X-MCP-Toolsets and X-MCP-Readonly. Toolsets in the path override those
 * in the header. Either the path or the header can make the connection read-only.
 */
export function surfaceOf(path: string, headers: Headers): Surface | { status: 400 | 404; problem: string } {
  const found = mcpPath(path)
  if (found === undefined) {
    return { status: 404, problem: 'There is nothing at this path. Use /mcp, /mcp/x/{toolsets} or /mcp/readonly.' }
  }
  const inPath = found.toolsets
  const list = inPath ?? headers.get('x-mcp-toolsets') ?? ''
  const readOnly = headers.get('x-mcp-readonly')?.toLowerCase() ?? 'false'
  if (readOnly !== 'true' && readOnly !== 'false') {
    return { status: 400, problem: `X-MCP-Readonly got ${show(readOnly)}; it accepts true or false.` }
  }
  // A blank header counts as missing, because hosts send a blank header for a setting that the user left empty.
  const isGiven = list.trim() !== ''
  const toolsets = isGiven ? parseToolsets(decode(list)) : undefined
  if (isGiven && toolsets === undefined) {
    const where = inPath === undefined ? 'X-MCP-Toolsets' : 'The toolset list in the path'
    const problem = `${where} got ${show(list)}; it accepts ${acceptedToolsets}.`
    return { status: inPath === undefined ? 400 : 404, problem }
  }
  return { toolsets, readOnly: readOnly === 'true' || found.readOnly }
}

/** Decodes percent-encoded commas and spaces. Clients encode no other characters in a list of toolsets. */
function decode(list: string): string {
  return list.replaceAll(/%2C/gi, ',').replaceAll(/%20/g, ' ')
}
