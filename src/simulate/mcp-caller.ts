import type { Readable, Writable } from 'node:stream'
import { Client, type Transport } from '@modelcontextprotocol/client'
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { resultValidator } from '../client/result-schemas.ts'
import type { ToolAnswer } from './reader.ts'
import type { Caller } from './world.ts'

interface ServerProcess {
  command: string
  args: readonly string[]
  /** Environment variables in addition to the usual ones (PATH and so on). */
  env: Record<string, string>
}

/**
 * Starts an MCP server process and connects to it as an AI host does. If the connection fails, throws only after the
 * process has ended, because the process may still write to its database. For the same reason, `close` waits for the
 * end of the process.
 * @param beforeStart called before the process starts, with a function that kills the process
 */
export async function connectOverStdio(
  { command, args, env }: ServerProcess,
  agent: number,
  beforeStart: (kill: () => void) => void,
): Promise<Caller> {
  const environment = { ...getDefaultEnvironment(), ...env }
  const transport = new StdioClientTransport({ command, args: [...args], env: environment })
  // The transport's own `close` waits for the end of the process only at its first call. If the process was killed, not
  // even the first call waits.
  const ended = new Promise<void>((resolve) => {
    transport.onclose = resolve
  })
  beforeStart(() => {
    if (transport.pid !== null) process.kill(transport.pid, 'SIGKILL')
  })
  const end = (close: () => Promise<void>) => Promise.all([close(), ended]).then(() => {})
  try {
    const caller = await connectCaller(transport, agent)
    return { ...caller, close: () => end(caller.close) }
  } catch (error) {
    await end(() => transport.close())
    throw error
  }
}

/** Connects to an MCP server that runs in this process, through the server's stdout and stdin streams. */
export async function connectOverStreams(
  { stdout, stdin }: { stdout: Readable; stdin: Writable },
  agent: number,
): Promise<Caller> {
  // The SDK's stdio transport for clients always starts a process. The transport for servers accepts any two streams.
  return connectCaller(new StdioServerTransport(stdout, stdin), agent)
}

/**
 * Connects an agent over any transport. Agents with odd numbers use MCP 2026, and agents with even numbers use MCP
 * 2025.
 */
export async function connectCaller(transport: Transport, agent: number): Promise<Caller> {
  const mode = agent % 2 === 1 ? 'auto' : 'legacy'
  const options = { versionNegotiation: { mode }, jsonSchemaValidator: resultValidator } as const
  const client = new Client({ name: `simulated-agent-${agent}`, version: '1' }, options)
  await client.connect(transport)
  // Lists the tools, as hosts do. The client then checks every result against the tool's output schema.
  await client.listTools()
  return {
    call: async (name, input) => {
      const { isError, structuredContent, content } = await client.callTool({ name, arguments: input })
      return isError === true
        ? { isError: true, ...errorContent(content) }
        : { isError: false, content: withoutNotes(structuredContent) }
    },
    close: () => client.close(),
  }
}

/** Removes the server's note that an answer is a replay. The rest of a replay must equal the original answer. */
function withoutNotes(content: unknown): unknown {
  const { replayed: _, ...answered } = (content ?? {}) as Record<string, unknown>
  return answered
}

/**
 * Returns the API's error without the advice that the MCP server adds. The advice for a first call and for its repeat
 * may differ, even if the error is the same.
 */
function errorContent(content: readonly { type: string; text?: unknown }[]): Pick<ToolAnswer, 'content' | 'repeatKey'> {
  const text = String(content[0]?.text)
  try {
    // The last line of the text is a JSON object with the error's fields.
    const { error } = JSON.parse(text.slice(text.lastIndexOf('\n') + 1))
    const { next: _, idempotencyKey: repeatKey, ...refusal } = error
    return { content: { error: refusal }, repeatKey }
  } catch {
    return { content: { error: { code: `an error without fields: ${text.slice(0, 200)}` } } }
  }
}
