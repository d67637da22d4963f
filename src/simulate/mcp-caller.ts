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
 * Starts an MCP server process and connects to it like an AI host. Both the caller's `close` and a failure to connect
 * wait until the process has ended, because it writes to its database until then.
 * @param begun called before the process starts, with a function that kills the process
 */
export async function connectOverStdio(
  { command, args, env }: ServerProcess,
  agent: number,
  beforeStart: (kill: () => void) => void,
): Promise<Caller> {
  const environment = { ...getDefaultEnvironment(), ...env }
  const transport = new StdioClientTransport({ command, args: [...args], env: environment })
  // The transport's own `close` waits only on its first call, and never after the process was killed.
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

/** Connects to an MCP server in this process through its stdout and stdin streams. */
export async function connectOverStreams(
  { stdout, stdin }: { stdout: Readable; stdin: Writable },
  agent: number,
): Promise<Caller> {
  // The server transport works on any two streams; the client transport would start a process.
  return connectCaller(new StdioServerTransport(stdout, stdin), agent)
}

/** Connects an agent over any transport. Agents with odd numbers use the newer protocol, the others the older one. */
export async function connectCaller(transport: Transport, agent: number): Promise<Caller> {
  const mode = agent % 2 === 1 ? 'auto' : 'legacy'
  const options = { versionNegotiation: { mode }, jsonSchemaValidator: resultValidator } as const
  const client = new Client({ name: `simulated-agent-${agent}`, version: '1' }, options)
  await client.connect(transport)
  // Hosts list the tools first. This also lets the client check every result against the tool's output schema.
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

/** Removes the server's note that the answer is a replay. Everything else must be identical. */
function withoutNotes(content: unknown): unknown {
  const { replayed: _, ...answered } = (content ?? {}) as Record<string, unknown>
  return answered
}

/** Returns the service's error without the server's advice, which differs between a first call and a repeat. */
function errorContent(content: readonly { type: string; text?: unknown }[]): Pick<ToolAnswer, 'content' | 'repeatKey'> {
  const text = String(content[0]?.text)
  try {
    // The error's fields are JSON on the last line, after a sentence.
    const { error } = JSON.parse(text.slice(text.lastIndexOf('\n') + 1))
    const { next: _, idempotencyKey: repeatKey, ...refusal } = error
    return { content: { error: refusal }, repeatKey }
  } catch {
    return { content: { error: { code: `an error without fields: ${text.slice(0, 200)}` } } }
  }
}
