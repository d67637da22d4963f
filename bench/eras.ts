import type { HttpServer } from './http-server.ts'
import { opening } from './stdio-server.ts'

/** How a host of an era calls over HTTP. */
export interface Era {
  name: string
  /** What a host does before its first call; the headers of its calls of that tool. */
  greet(server: HttpServer, tool: string): Promise<Record<string, string>>
  params(tool: string, input: object): object
  /** The goal: how many calls of ours there are to one of the SDK's, which do nothing. */
  atLeastOfEcho: number
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': opening.clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
}

export const eras: readonly Era[] = [
  {
    name: '2025 era',
    greet: (server) => openSession(server),
    params: (name, input) => ({ name, arguments: input }),
    atLeastOfEcho: 0.6,
  },
  {
    name: '2026 era',
    greet: async (_server, tool) => ({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': tool,
    }),
    params: (name, input) => ({ name, arguments: input, _meta: meta }),
    atLeastOfEcho: 0.8,
  },
]

export async function openSession(server: HttpServer): Promise<Record<string, string>> {
  const { sessionId } = await server.post({ id: 0, method: 'initialize', params: opening })
  const headers = { 'mcp-session-id': sessionId ?? '', 'mcp-protocol-version': opening.protocolVersion }
  await server.post({ method: 'notifications/initialized' }, headers)
  return headers
}
