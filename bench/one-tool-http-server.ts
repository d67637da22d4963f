import { randomUUID } from 'node:crypto'
import { serve } from '@hono/node-server'
import {
  createMcpHandler,
  isLegacyRequest,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { z } from 'zod'

// What the bench compares with over HTTP: the SDK's own transports, of both eras, without sign-in. Prints its address.
const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
const modern = createMcpHandler(createServer, { legacy: 'reject' })

serve({ fetch: answer, hostname: '127.0.0.1', port: 0 }, ({ port }) => {
  process.stdout.write(`http://127.0.0.1:${port}/mcp\n`)
})
process.stdin.once('end', () => process.exit(0)).resume()

async function answer(request: Request): Promise<Response> {
  const known = sessions.get(request.headers.get('mcp-session-id') ?? '')
  if (known !== undefined) return known.handleRequest(request)
  if (!(await isLegacyRequest(request))) return modern.fetch(request)
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  })
  await createServer().connect(transport)
  return transport.handleRequest(request)
}

function createServer(): McpServer {
  const server = new McpServer({ name: 'one-tool', version: '1.0.0' })
  server.registerTool(
    'echo',
    {
      title: 'Echo',
      description: 'Answers with the text it was given.',
      inputSchema: z.object({ text: z.string() }),
      outputSchema: z.object({ text: z.string() }),
    },
    ({ text }) => ({ content: [{ type: 'text', text }], structuredContent: { text } }),
  )
  return server
}
