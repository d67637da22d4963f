import { Client, type Transport } from '@modelcontextprotocol/client'
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { ToolAnswer } from './reader.ts'
import { resultSchemas } from './result-schemas.ts'
import type { Caller } from './world.ts'

export interface ServerProcess {
  command: string
  args: readonly string[]
  /** Besides what every process gets, such as PATH. */
  env: Record<string, string>
}

/** Starts an MCP server process and connects to it as an AI host does. */
export async function connectOverStdio({ command, args, env }: ServerProcess, agent: number): Promise<Caller> {
  const environment = { ...getDefaultEnvironment(), ...env }
  return connectCaller(new StdioClientTransport({ command, args: [...args], env: environment }), agent)
}

/** An agent's connection over any transport. Agents with odd numbers speak the newer protocol, the others the older. */
export async function connectCaller(transport: Transport, agent: number): Promise<Caller> {
  const mode = agent % 2 === 1 ? 'auto' : 'legacy'
  const options = { versionNegotiation: { mode }, jsonSchemaValidator: resultSchemas } as const
  const client = new Client({ name: `simulated-agent-${agent}`, version: '1' }, options)
  await client.connect(transport)
  // Hosts begin with it; it also lets the client check every result against the tool's output schema.
  await client.listTools()
  return {
    call: async (name, input) => {
      const { isError, structuredContent, content } = await client.callTool({ name, arguments: input })
      return isError === true
        ? { isError: true, content: errorContent(content) }
        : { isError: false, content: structuredContent }
    },
    close: () => client.close(),
  }
}

function errorContent(content: readonly { type: string; text?: unknown }[]): ToolAnswer['content'] {
  const text = content[0]?.text
  try {
    return JSON.parse(String(text))
  } catch {
    return { error: { code: `an error that is not JSON: ${String(text).slice(0, 200)}` } }
  }
}
