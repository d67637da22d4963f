import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Start, serverName } from '../../core/host-setups.ts'
import type { Given } from '../agent.ts'

/** The paths of two files that hosts are configured by: the trial's MCP endpoint at its address, and as what they start. */
export interface McpConfigs {
  http: string
  stdio: string
}

/**
 * Writes both into the trial's folder. Over stdio the messages are passed on to the same endpoint, so that tools, faults
 * and the person who decides are the same whichever way a host takes.
 * @param start How this package is started.
 */
export async function writeMcpConfigs({ folder, mcpUrl, key }: Given, start: Start): Promise<McpConfigs> {
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
