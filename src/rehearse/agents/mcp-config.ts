import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Start, serverName } from '../../core/host-setups.ts'
import type { AgentInput } from '../agent.ts'

/**
 * The paths of two configuration files for hosts. One file contains the URL of the trial's MCP endpoint; the other
 * contains the command that starts a stdio server.
 */
export interface McpConfigs {
  http: string
  stdio: string
}

/**
 * Writes both files into the trial's folder. The stdio server forwards messages to the trial's MCP endpoint, so a trial
 * is the same with either file.
 * @param start the command that starts this package
 */
export async function writeMcpConfigs({ folder, mcpUrl, key }: AgentInput, start: Start): Promise<McpConfigs> {
  const { command, args, env } = start
  const http = { type: 'http', url: mcpUrl, headers: { Authorization: `Bearer ${key}` } }
  const stdio = { type: 'stdio', command, args: [...args, 'bridge', mcpUrl], env: { ...env, PAYMENTS_KEY: key } }
  const write = async (name: string, server: object) => {
    const path = join(folder, name)
    await writeFile(path, `${JSON.stringify({ mcpServers: { [serverName]: server } }, null, 2)}\n`, { mode: 0o600 })
    return path
  }
  return { http: await write('.mcp.json', http), stdio: await write('.mcp-stdio.json', stdio) }
}
