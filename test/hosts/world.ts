import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { serve } from '../packaging/served.ts'
import type { McpServer } from './hosts.ts'

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))
const agentKey = 'agent-secret-of-the-host-tests'

const settings = (home: string, more: Record<string, string> = {}) => ({
  HOME: home,
  PAYMENTS_DATABASE_URL: `sqlite:${join(home, 'sandbox.sqlite')}`,
  ...more,
})

/** Returns the command with which a host starts the MCP server and its sandbox, on a database in the home directory. */
export function stdioServer(home: string, more?: Record<string, string>): McpServer {
  return { command: process.execPath, args: [cli], env: settings(home, more) }
}

/** Starts `payments-mcp serve` on the database in the home directory. */
export function serveSandbox(home: string, more?: Record<string, string>) {
  return serve([cli, 'serve', '--port', '0'], settings(home, { PAYMENTS_SANDBOX_AGENT_KEY: agentKey, ...more }))
}

export const bearer = { Authorization: `Bearer ak_ntl_sandbox_${agentKey}` }

/** Starts a separate MCP server on the same database, and calls a tool there. Returns the structured result. */
export async function callTool(home: string, tool: string, input: Record<string, unknown> = {}) {
  const client = new Client({ name: 'tests', version: '1' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [cli], env: settings(home) }))
  try {
    const { structuredContent } = await client.callTool({ name: tool, arguments: input })
    // biome-ignore lint/suspicious/noExplicitAny: tests read the result's members by name.
    return structuredContent as any
  } finally {
    await client.close()
  }
}
