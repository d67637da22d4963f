import { Server, type ServerContext, type Transport } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { displayName } from '../core/product.ts'
import { nextTurn } from '../core/system.ts'
import { asksPeople, type Dependencies, type McpServerOptions, type ToolChoice } from './dependencies.ts'
import { forRequest, forToolCall } from './host.ts'
import { instructionsFor } from './instructions.ts'
import type { ListenAwareServer } from './listen-request.ts'
import { Subscriptions } from './subscriptions.ts'
import { serverIcons } from './tools/icons.ts'

export type { McpServerOptions } from './dependencies.ts'

/** Returns the role of a key, according to its prefix (docs/service.md#credential-modes). */
export function actorOf(credential: string): ToolChoice['actor'] {
  if (credential.startsWith('ak_ntl_')) return 'agent'
  return credential.startsWith('sk_ntl_') ? 'party' : undefined
}

const capabilities = Object.freeze({
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true },
  completions: {},
  extensions: { 'io.modelcontextprotocol/skills': {} },
})

/**
 * Creates the MCP server of one connection, which uses MCP 2025 or MCP 2026. The server offers the chosen operations as
 * tools. The code for tools, resources and prompts is loaded on first use, so that loading does not delay the answer to
 * `initialize`.
 */
export function createMcpServer(options: McpServerOptions): ListenAwareServer {
  const { version, choice, people } = options
  const asks = asksPeople(people.confirm, choice.environment)
  const server = new PaymentsServer(
    { name: 'payments-mcp', title: displayName, version, icons: serverIcons },
    {
      capabilities,
      instructions: instructionsFor(choice, asks),
      requestState: people.states,
    },
  )
  const dependencies: Dependencies = {
    ...options,
    choice: { ...choice, offersDecisions: asks && people.decisions !== undefined },
    server,
    subscriptions: new Subscriptions(),
  }
  handleTools(dependencies)
  handleResources(dependencies)
  handleSkills(dependencies)
  handlePrompts(dependencies)
  server.onListen = (addresses) => {
    dependencies.subscriptions.addAccepted(addresses)
    followChanges(dependencies)
  }
  return server
}

/**
 * The SDK's server with two changes. First, `connect` avoids a slow test of each request. Second, the icon is left out
 * of the server info that the SDK adds to each answer in MCP 2026, because the icon would be most of the answer. Hosts
 * still get the icon with `initialize` (MCP 2025) and with each tool.
 */
class PaymentsServer extends Server implements ListenAwareServer {
  onListen: (addresses: readonly string[]) => void = () => {}

  protected override _outboundServerInfo() {
    const { icons: _, ...info } = super._outboundServerInfo() ?? { name: '', version: '' }
    return info
  }

  /**
   * Passes requests straight to the SDK's request handler. Each transport has already checked that the message is a
   * request. The SDK would first test whether the message is a result or an error, and this test takes longer than all
   * other steps.
   */
  override async connect(transport: Transport): Promise<void> {
    await super.connect(transport)
    const { onmessage } = transport
    const { _onrequest } = this as unknown as { _onrequest: NonNullable<Transport['onmessage']> }
    transport.onmessage = (message, extra) => {
      if ('method' in message && 'id' in message) _onrequest.call(this, message, extra)
      else onmessage?.(message, extra)
    }
  }
}

/** Returns a function that imports a module once. A repeated `import()` would take as long as some database queries. */
function loadOnce<Module>(load: () => Promise<Module>): () => Promise<Module> {
  let loading: Promise<Module> | undefined
  return () => {
    loading ??= load()
    return loading
  }
}

const loaded = {
  definitions: loadOnce(() => import('./tools/definitions.ts')),
  call: loadOnce(() => import('./tools/call.ts')),
  resources: loadOnce(() => import('./resources/resources.ts')),
  skills: loadOnce(() => import('./resources/skills.ts')),
  followChanges: loadOnce(() => import('./resources/follow-changes.ts')),
  prompts: loadOnce(() => import('./prompts.ts')),
  completions: loadOnce(() => import('./resources/completions.ts')),
}

/**
 * Opens the API client right after the answer to `tools/list`, because the host will probably call a tool next. Opening
 * the client earlier would delay the tool list too long for some hosts. If opening fails, tool calls report the error.
 */
async function openClientSoon({ api, log }: Dependencies): Promise<void> {
  await nextTurn()
  await api.client().catch((error: unknown) => log.warn({ err: error }, 'the API client could not be opened'))
}

function handleTools(dependencies: Dependencies): void {
  const { server } = dependencies
  server.setRequestHandler('tools/list', async ({ params }) => {
    const page = (await loaded.definitions()).toolPage(dependencies, params?.cursor)
    void openClientSoon(dependencies)
    return page
  })
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    return (await loaded.call()).callTool(forToolCall(dependencies, context), params, context)
  })
}

function handleResources(dependencies: Dependencies): void {
  const { server } = dependencies
  server.setRequestHandler('resources/list', async ({ params }, context) =>
    (await loaded.resources()).listResources(forRequest(dependencies, context), params?.cursor),
  )
  server.setRequestHandler('resources/templates/list', async ({ params }) => {
    return (await loaded.resources()).listTemplates(dependencies, params?.cursor)
  })
  server.setRequestHandler('resources/read', async ({ params }, context: ServerContext) => {
    return (await loaded.resources()).readResource(forRequest(dependencies, context), params.uri, context.mcpReq.signal)
  })
  server.setRequestHandler('resources/subscribe', ({ params }) => {
    dependencies.subscriptions.add(params.uri)
    followChanges(dependencies)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    dependencies.subscriptions.remove(params.uri)
    return {}
  })
}

const skillsPage = z.looseObject({ cursor: z.string().optional() })
const skillAddress = z.looseObject({ uri: z.string() })

/** Handles the requests of the Skills extension (SEP-2640). */
function handleSkills(dependencies: Dependencies): void {
  const { server } = dependencies
  server.setRequestHandler('skills/list', { params: skillsPage }, async ({ cursor }) => {
    return (await loaded.skills()).listSkills(dependencies, cursor)
  })
  server.setRequestHandler('skills/get', { params: skillAddress }, async ({ uri }) => {
    return (await loaded.skills()).getSkill(dependencies, uri)
  })
}

function followChanges(dependencies: Dependencies): void {
  void loaded.followChanges().then(({ followChanges }) => followChanges(dependencies))
}

function handlePrompts(dependencies: Dependencies): void {
  const { server } = dependencies
  server.setRequestHandler('prompts/list', async ({ params }) => {
    return (await loaded.prompts()).listPrompts(dependencies, params?.cursor)
  })
  server.setRequestHandler('prompts/get', async ({ params }) => {
    return (await loaded.prompts()).getPrompt(dependencies, params.name, params.arguments)
  })
  server.setRequestHandler('completion/complete', async ({ params }, context) => {
    return (await loaded.completions()).complete(forRequest(dependencies, context), params)
  })
}
