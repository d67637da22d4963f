import { randomBytes } from 'node:crypto'
import {
  createRequestStateCodec,
  fromJsonSchema,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerEvent,
} from '@modelcontextprotocol/server'
import type { HostContext } from '../../src/mcp/http/host-context.ts'
import { prompts, readResource, resources, resourceTemplates } from './everything-answers.ts'
import { askingTools } from './everything-questions.ts'
import { type Tool, tools } from './everything-tools.ts'

const allTools: Record<string, Tool> = { ...tools, ...askingTools }

const stateCodec = createRequestStateCodec({ key: randomBytes(32) })

/** Creates a server with the fixtures (tools, prompts and resources) that the conformance tests call by name. */
export function createEverythingServer(
  notify: (event: ServerEvent) => void,
  { era }: Pick<HostContext, 'era'>,
): Server {
  const everything = new McpServer(
    { name: 'everything', version: '1' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        completions: {},
        logging: {},
      },
      requestState: { verify: stateCodec.verify },
    },
  )
  const { server } = everything
  for (const [name, { description, inputSchema }] of Object.entries(allTools)) {
    const parameters = fromJsonSchema({ type: 'object', ...inputSchema })
    everything.registerTool(name, { description, inputSchema: parameters }, () => ({ content: [] }))
  }
  // These handlers replace the handlers of McpServer, which would turn a protocol error into a result.
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const tool = find(allTools, params.name, 'tool')
    return tool.call(params.arguments ?? {}, context, { notify, seal: stateCodec.mint })
  })
  server.setRequestHandler('resources/list', () => ({ resources }))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates }))
  server.setRequestHandler('resources/read', ({ params }) => readResource(params.uri))
  server.setRequestHandler('resources/subscribe', () => ({}))
  server.setRequestHandler('resources/unsubscribe', () => ({}))
  server.setRequestHandler('prompts/list', () => ({
    prompts: Object.entries(prompts).map(([name, { get: _, ...prompt }]) => ({ name, ...prompt })),
  }))
  server.setRequestHandler('prompts/get', ({ params }, context) => {
    return find(prompts, params.name, 'prompt').get(params.arguments ?? {}, context)
  })
  server.setRequestHandler('completion/complete', () => ({ completion: { values: [], total: 0, hasMore: false } }))
  // For MCP 2026, the SDK needs the McpServer, because it knows the parameters that are also sent in headers.
  return era === 'modern' ? (everything as unknown as Server) : server
}

function find<T>(table: Record<string, T>, name: string, kind: string): T {
  const found = table[name]
  if (found === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no ${kind} ${name}.`)
  return found
}
