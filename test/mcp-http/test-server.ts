import {
  acceptedContent,
  inputRequired,
  isInputRequiredResult,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { HostContext } from '../../src/mcp/http/host-context.ts'

/** The gates by name. A call waits at a gate until a test opens the gate. */
export const gates = new Map<string, PromiseWithResolvers<void>>()

export function gate(name: string): PromiseWithResolvers<void> {
  let found = gates.get(name)
  if (found === undefined) {
    found = Promise.withResolvers<void>()
    gates.set(name, found)
  }
  return found
}

/** The markers of calls of the tool `wait` that were canceled. */
export const cancelled = new Set<string>()

type Arguments = Record<string, unknown>
type Tool = (
  args: Arguments,
  context: ServerContext,
  connection: HostContext,
  server: Server,
) => Promise<unknown> | unknown

/**
 * Waits until the gate that the argument `wait` names opens. Throws if the call is canceled first. The gate `never`
 * does not open.
 */
const waitAtGate = async ({ wait }: Arguments, { mcpReq: { signal } }: ServerContext) => {
  if (typeof wait !== 'string') return
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('cancelled')), { once: true })
  })
  // A promise for the gate `never` would keep every call that waits for it in memory.
  await (wait === 'never' ? stopped : Promise.race([gate(wait).promise, stopped]))
}

const notifyProgress = async ({ steps = 0, marker }: Arguments, context: ServerContext) => {
  const progressToken = context.mcpReq._meta?.progressToken
  if (progressToken === undefined) return
  for (let progress = 1; progress <= Number(steps); progress++) {
    const params = { progressToken, progress, message: String(marker) }
    await context.mcpReq.notify({ method: 'notifications/progress', params })
  }
}

/** The tools of the test server. They answer immediately, report progress, ask the person, or wait at a gate. */
const tools: Record<string, Tool> = {
  echo: ({ marker }) => marker,
  connection: (_args, _context, { principal, instanceId, toolsets = 'none', readOnly, era }) => ({
    ...principal(),
    instanceId,
    toolsets,
    readOnly,
    era,
  }),
  progress: async (args, context) => {
    await notifyProgress(args, context)
    await waitAtGate(args, context)
    return args.marker
  },
  wait: async (args, context) => {
    context.mcpReq.signal.addEventListener('abort', () => cancelled.add(String(args.marker)))
    await waitAtGate(args, context)
    return args.marker
  },
  flood: async ({ characters, steps, opens, wait }, context) => {
    for (let step = 0; step < Number(steps); step++) {
      const params = {
        progressToken: context.mcpReq._meta?.progressToken ?? 0,
        progress: step,
        message: 'y'.repeat(Number(characters)),
      }
      await context.mcpReq.notify({ method: 'notifications/progress', params })
    }
    gate(String(opens)).resolve()
    await waitAtGate({ wait }, context)
    return 'flooded'
  },
  ask: async (_args, context) => {
    const params = {
      message: 'Really?',
      requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } } },
    }
    return context.mcpReq.send({ method: 'elicitation/create', params } as never)
  },
  askForInput: (_args, context) => {
    const answer = acceptedContent(context.mcpReq.inputResponses, 'sure')
    if (answer !== undefined) return answer
    const requestedSchema = { type: 'object', properties: { sure: { type: 'boolean' } } } as const
    return inputRequired({ inputRequests: { sure: inputRequired.elicit({ message: 'Sure?', requestedSchema }) } })
  },
  askOutsideCall: async (_args, _context, _connection, server) =>
    server.elicitInput({ message: 'Outside the call?', requestedSchema: { type: 'object', properties: {} } }),
}

export function testServer(connection: HostContext): Server {
  const server = new Server(
    { name: 'test', version: '1' },
    { capabilities: { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { subscribe: true } } },
  )
  server.setRequestHandler('tools/list', () => ({
    tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' as const } })),
  }))
  server.setRequestHandler('resources/subscribe', () => ({}))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const result = await tools[params.name]?.(params.arguments ?? {}, context, connection, server)
    if (isInputRequiredResult(result)) return result
    return { content: [{ type: 'text', text: JSON.stringify(result ?? null) }] }
  })
  return server
}
