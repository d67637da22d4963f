import { DatabaseSync } from 'node:sqlite'
import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

// The least that a tool with a durable effect can be: one row, which is on the disk before the answer is given. Calls
// that come in together share a commit. It shows how much of a call's cost the disk takes whatever is built on it.
const database = new DatabaseSync(String(process.argv[2]))
database.exec('pragma journal_mode = wal; pragma synchronous = full; create table rows (text text not null)')
const insert = database.prepare('insert into rows (text) values (?)')
const waiting: { text: string; resolve: () => void }[] = []

function durable(text: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (waiting.push({ text, resolve }) === 1) setImmediate(commit)
  return promise
}

function commit(): void {
  const group = waiting.splice(0)
  database.exec('begin immediate')
  for (const row of group) insert.run(row.text)
  database.exec('commit')
  for (const { resolve } of group) resolve()
}

serveStdio(() => {
  const server = new McpServer({ name: 'one-tool-durable', version: '1.0.0' })
  const inputSchema = z.object({ text: z.string() })
  server.registerTool('keep', { description: 'Keeps a text.', inputSchema }, async ({ text }) => {
    await durable(text)
    return { content: [{ type: 'text', text }] }
  })
  return server
})
