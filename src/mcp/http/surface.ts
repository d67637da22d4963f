import { show } from '../../core/errors.ts'
import { mcpPath } from '../../core/mcp-path.ts'
import { toolsets } from '../../core/operation.ts'
import type { Surface } from './host-context.ts'

/**
 * Which tools a request asks for, by its path (`/mcp`, `/mcp/readonly`, `/mcp/x/payments,agents`, both together) and the
 * headers X-MCP-Toolsets and X-MCP-Readonly. The path wins over a header; either one can make it read-only.
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
  const chosen = chosenToolsets(list)
  if (chosen === 'unknown') {
    const where = inPath === undefined ? 'X-MCP-Toolsets' : 'The path'
    const accepts = `a comma list of ${toolsets.join(', ')}, or all`
    return { status: inPath === undefined ? 400 : 404, problem: `${where} got ${show(list)}; it accepts ${accepts}.` }
  }
  return { toolsets: chosen, readOnly: readOnly === 'true' || found.readOnly }
}

function chosenToolsets(list: string): Surface['toolsets'] | 'unknown' {
  if (list.trim() === '') return undefined
  const words = decoded(list)
    .split(',')
    .map((word) => word.trim())
  const known = (word: string) => word === 'all' || toolsets.some((toolset) => toolset === word)
  if (!words.every(known)) return 'unknown'
  return toolsets.filter((toolset) => words.includes('all') || words.includes(toolset))
}

/** A comma may stand percent-encoded in a path; what is wrongly encoded is no toolset as it is. */
function decoded(list: string): string {
  return list.replaceAll(/%2C/gi, ',').replaceAll(/%20/g, ' ')
}
