import { Client as ModernClient } from '@modelcontextprotocol/client'
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js'
import type { Transport as EarlierTransport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  ElicitRequestSchema,
  PromptListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Tool, Transport } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { resultValidator } from '../../src/client/result-schemas.ts'

/** An MCP client of either SDK version, with the features that tests need. */
export interface Host {
  connect(transport: Transport): Promise<void>
  listTools(cursor?: string): Promise<{ tools: Tool[]; nextCursor?: string | undefined }>
  callTool(name: string, input?: object, options?: CallOptions): Promise<ToolResult>
  /** The methods that have the same names in both SDK versions. */
  requests: Requests
  /**
   * Subscribes to changes. `onChange` gets the URI of a changed resource, or the name of a changed list: `tools` or
   * `prompts`.
   */
  watch(uris: string[], onChange: (change: string) => void): Promise<void>
  /** Sends a request that an extension defines. */
  request(method: string, params?: object): Promise<Record<string, unknown>>
  getInstructions(): string | undefined
  /** Returns the negotiated protocol version. */
  version(): string | undefined
  close(): Promise<void>
}

type Requests = Pick<
  ModernClient,
  | 'listResources'
  | 'listResourceTemplates'
  | 'readResource'
  | 'listPrompts'
  | 'getPrompt'
  | 'complete'
  | 'getServerVersion'
  | 'getServerCapabilities'
>

export interface CallOptions {
  signal?: AbortSignal
  onprogress?: (progress: { progress: number; message?: string | undefined }) => void
}

export interface ToolResult {
  isError?: boolean
  structuredContent?: {
    data: { id: string; attributes: Record<string, unknown> }
    meta?: Record<string, unknown>
  }
  content: { type: string; text: string }[]
}

/** A question to the person at the host. */
export interface Elicitation {
  mode?: 'form' | 'url'
  message: string
  url?: string
  requestedSchema?: { properties: Record<string, object>; required?: string[] }
}

export interface PersonAnswer {
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, string | number | boolean | string[]>
}

/** The person at the host, and the ways in which the host can ask them. */
export interface Person {
  modes: { form?: Record<string, never>; url?: Record<string, never> }
  answer(elicitation: Elicitation): PersonAnswer | Promise<PersonAnswer>
}

const identity = { name: 'test-host', version: '1' }
const capabilitiesOf = (person: Person | undefined) => (person === undefined ? {} : { elicitation: person.modes })

/** Creates a host with SDK v1, which does not support MCP 2026. */
function earlierHost(person?: Person): Host {
  const client = new EarlierClient(identity, {
    capabilities: capabilitiesOf(person),
    jsonSchemaValidator: resultValidator as never,
  })
  if (person !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({
      ...(await person.answer(params as Elicitation)),
    }))
  }
  let version: string | undefined
  return {
    connect: async (transport) => {
      const earlier = transport as EarlierTransport
      earlier.setProtocolVersion = (agreed) => {
        version = agreed
      }
      await client.connect(earlier)
    },
    listTools: async (cursor) => (await client.listTools(page(cursor))) as Awaited<ReturnType<Host['listTools']>>,
    callTool: async (name, input, options) => {
      const result = await client.callTool({ name, arguments: { ...input } }, undefined, options)
      return result as unknown as ToolResult
    },
    requests: client as unknown as Requests,
    watch: async (uris, onChange) => {
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => onChange(params.uri))
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => onChange('tools'))
      client.setNotificationHandler(PromptListChangedNotificationSchema, () => onChange('prompts'))
      for (const uri of uris) await client.subscribeResource({ uri })
    },
    request: (method, params = {}) => client.request({ method, params: { ...params } }, z.looseObject({})),
    getInstructions: () => client.getInstructions(),
    version: () => version,
    close: () => client.close(),
  }
}

function modernHost(mode: 'legacy' | 'auto' | { pin: string }, person?: Person): Host {
  const client = new ModernClient(identity, {
    versionNegotiation: { mode },
    capabilities: capabilitiesOf(person),
    jsonSchemaValidator: resultValidator,
  })
  if (person !== undefined) {
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      ...(await person.answer(params as Elicitation)),
    }))
  }
  return {
    connect: (transport) => client.connect(transport),
    listTools: async (cursor) => await client.listTools(page(cursor)),
    callTool: async (name, input, options) => {
      const result = await client.callTool({ name, arguments: { ...input } }, options)
      return result as unknown as ToolResult
    },
    requests: client,
    watch: async (uris, onChange) => {
      client.setNotificationHandler('notifications/resources/updated', ({ params }) => onChange(params.uri))
      client.setNotificationHandler('notifications/tools/list_changed', () => onChange('tools'))
      client.setNotificationHandler('notifications/prompts/list_changed', () => onChange('prompts'))
      if (mode === 'legacy') for (const uri of uris) await client.subscribeResource({ uri })
      else await client.listen({ resourceSubscriptions: uris, toolsListChanged: true, promptsListChanged: true })
    },
    request: (method, params = {}) => client.request({ method, params: { ...params } }, z.looseObject({})),
    getInstructions: () => client.getInstructions(),
    version: () => client.getNegotiatedProtocolVersion(),
    close: () => client.close(),
  }
}

const page = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor })

export const hosts = [
  { host: 'SDK v1', sdk: 'v1', open: earlierHost, version: '2025-11-25' },
  {
    host: 'SDK v2 with MCP 2025',
    sdk: 'v2',
    open: (person?: Person) => modernHost('legacy', person),
    version: '2025-11-25',
  },
  {
    host: 'SDK v2 that probes for MCP 2026',
    sdk: 'v2',
    open: (person?: Person) => modernHost('auto', person),
    version: '2026-07-28',
  },
  {
    host: 'SDK v2 pinned to MCP 2026',
    sdk: 'v2',
    open: (person?: Person) => modernHost({ pin: '2026-07-28' }, person),
    version: '2026-07-28',
  },
] as const

/** Checks that the result is an error, and returns the fields of the error. */
export function errorOf(result: ToolResult): Record<string, unknown> {
  if (result.isError !== true || result.structuredContent !== undefined) throw new Error('Expected an error result.')
  const text = result.content[0]?.text ?? ''
  // The text has two lines: the error's detail, and all fields of the error as JSON.
  const [sentence, fields, ...more] = text.split('\n')
  const { error } = JSON.parse(fields ?? '')
  if (sentence !== error.detail || more.length > 0) throw new Error(`Expected the detail and JSON, got: ${text}`)
  return error
}
