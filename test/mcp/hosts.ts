import { Client as ModernClient } from '@modelcontextprotocol/client'
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport as EarlierTransport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { Transport } from '@modelcontextprotocol/server'

/** What the tests need of a host's client; the two SDKs agree on it. */
export interface Host {
  connect(transport: Transport): Promise<void>
  listTools(): Promise<{ tools: { name: string; outputSchema?: unknown }[] }>
  callTool(name: string, input?: object, options?: CallOptions): Promise<ToolResult>
  getInstructions(): string | undefined
  /** The protocol version that the two agreed on. */
  version(): string | undefined
  close(): Promise<void>
}

interface CallOptions {
  signal?: AbortSignal
  onprogress?: (progress: { progress: number; message?: string | undefined }) => void
}

export interface ToolResult {
  isError?: boolean
  structuredContent?: { data: { id: string; attributes: Record<string, unknown> }; meta?: unknown }
  content: { type: string; text: string }[]
}

const identity = { name: 'test-host', version: '1' }

/** The host of the 2025 era: its SDK knows no other. */
function earlierHost(): Host {
  const client = new EarlierClient(identity)
  let version: string | undefined
  return {
    connect: async (transport) => {
      const earlier = transport as EarlierTransport
      earlier.setProtocolVersion = (agreed) => {
        version = agreed
      }
      await client.connect(earlier)
    },
    listTools: () => client.listTools(),
    callTool: async (name, input, options) => {
      const result = await client.callTool({ name, arguments: { ...input } }, undefined, options)
      return result as unknown as ToolResult
    },
    getInstructions: () => client.getInstructions(),
    version: () => version,
    close: () => client.close(),
  }
}

function modernHost(mode: 'legacy' | 'auto' | { pin: string }): Host {
  const client = new ModernClient(identity, { versionNegotiation: { mode } })
  return {
    connect: (transport) => client.connect(transport),
    listTools: () => client.listTools(),
    callTool: async (name, input, options) => {
      const result = await client.callTool({ name, arguments: { ...input } }, options)
      return result as unknown as ToolResult
    },
    getInstructions: () => client.getInstructions(),
    version: () => client.getNegotiatedProtocolVersion(),
    close: () => client.close(),
  }
}

export const hosts = [
  { host: 'SDK v1', sdk: 'v1', open: earlierHost, version: '2025-11-25' },
  { host: 'SDK v2 as a 2025 host', sdk: 'v2', open: () => modernHost('legacy'), version: '2025-11-25' },
  { host: 'SDK v2 that probes', sdk: 'v2', open: () => modernHost('auto'), version: '2026-07-28' },
  { host: 'SDK v2 pinned', sdk: 'v2', open: () => modernHost({ pin: '2026-07-28' }), version: '2026-07-28' },
] as const

/** The `error` of a failed result, after checking that it is one. */
export function errorOf(result: ToolResult): Record<string, unknown> {
  if (result.isError !== true || result.structuredContent !== undefined) throw new Error('not a plain error result')
  return JSON.parse(result.content[0]?.text ?? '').error
}
