import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

// This is the smallest server that the SDK allows. Its only tool echoes a string.
// Without an argument, it serves the tool over stdio.
// If the argument is a path, the tool also stores each string in a SQLite file there, before it answers. Calls that
// arrive together share a commit.
// If the argument is `http`, the SDK's own HTTP transports serve the tool for MCP 2025 and MCP 2026, without sign-in.
// The server prints its URL.
const [file] = process.argv.slice(2)
const store = file === undefined || file === 'http' ? async () => {} : await openFile(file)
if (file === 'http') await serveHttp()
else serveStdio(createServer)

function createServer(): McpServer {
  const server = new McpServer({ name: 'one-tool', version: '1.0.0' })
  server.registerTool(
    'echo',
    {
      title: 'Echo',
      description: 'Returns the given text.',
      inputSchema: z.object({ text: z.string() }),
      outputSchema: z.object({ text: z.string() }),
    },
    async ({ text }) => {
      await store(text)
      return { content: [{ type: 'text', text }], structuredContent: { text } }
    },
  )
  return server
}

async function openFile(path: string): Promise<(text: string) => Promise<void>> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(path)
  database.exec('pragma journal_mode = wal; pragma synchronous = full; create table rows (text text not null)')
  const insert = database.prepare('insert into rows (text) values (?)')
  const waiting: { text: string; resolve: () => void }[] = []
  const commit = () => {
    const group = waiting.splice(0)
    database.exec('begin immediate')
    for (const row of group) insert.run(row.text)
    database.exec('commit')
    for (const { resolve } of group) resolve()
  }
  return (text) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (waiting.push({ text, resolve }) === 1) setImmediate(commit)
    return promise
  }
}

async function serveHttp(): Promise<void> {
  const { serve } = await import('@hono/node-server')
  const sdk = await import('@modelcontextprotocol/server')
  type Session = InstanceType<typeof sdk.WebStandardStreamableHTTPServerTransport>
  const sessions = new Map<string, Session>()
  const modern = sdk.createMcpHandler(createServer, { legacy: 'reject' })
  const handle = async (request: Request): Promise<Response> => {
    const session = sessions.get(request.headers.get('mcp-session-id') ?? '')
    if (session !== undefined) return session.handleRequest(request)
    if (!(await sdk.isLegacyRequest(request))) return modern.fetch(request)
    const transport: Session = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      enableJsonResponse: true,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    })
    await createServer().connect(transport)
    return transport.handleRequest(request)
  }
  serve({ fetch: handle, hostname: '127.0.0.1', port: 0 }, ({ port }) => {
    process.stdout.write(`http://127.0.0.1:${port}/mcp\n`)
  })
  process.stdin.once('end', () => process.exit(0)).resume()
}
