import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Transport,
} from '@modelcontextprotocol/server'
import type { Environment } from '../core/operation.ts'
import { displayName } from '../core/product.ts'
import { nextTurn, realSystem } from '../core/system.ts'
import {
  asksPeople,
  type Dependencies,
  longestAddress,
  type McpServerOptions,
  type ToolChoice,
  type Ways,
} from './dependencies.ts'
import { ofRequest } from './host.ts'
import { instructionsFor } from './instructions.ts'
import type { Listening } from './listened.ts'
import { createRequestStates } from './people/request-states.ts'
import { serverIcons } from './tools/icons.ts'

export type { McpServerOptions } from './dependencies.ts'

/** Whom a key acts as by its first letters (docs/service.md#credential-modes); undefined for another credential. */
export function actorOf(credential: string): ToolChoice['actor'] {
  if (credential.startsWith('ak_ntl_')) return 'agent'
  return credential.startsWith('sk_ntl_') ? 'party' : undefined
}

const capabilities = Object.freeze({
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true },
  completions: {},
})

/**
 * An MCP server whose tools are the operations of the choice. One per connection; it serves either era. What only the
 * tools need is loaded when they are first asked for: the answer to `initialize` does not wait for it.
 */
export function createMcpServer(options: McpServerOptions): Listening {
  const { system = realSystem, stateSecrets, principal, version, environment, decisions } = options
  const asks = asksPeople(options.confirm, environment)
  const seal = createRequestStates({ secrets: stateSecrets, principal, system })
  const server = new PaymentsServer(
    { name: 'payments-mcp', title: displayName, version, icons: serverIcons },
    {
      capabilities,
      instructions: instructionsFor(options, asks),
      requestState: seal,
    },
  )
  const ways = options.ways ?? waysOf(environment)
  const dependencies: Dependencies = {
    ...options,
    decides: asks && decisions !== undefined,
    server,
    system,
    seal,
    ways,
    subscribed: undefined,
    hearsOthers: false,
  }
  answerTools(dependencies)
  answerResources(dependencies)
  answerPrompts(dependencies)
  server.listens = (addresses) => {
    const known = dependencies.subscribed ?? new Set()
    const fitting = addresses.filter((address) => address.length <= longestAddress)
    dependencies.subscribed = new Set([...known, ...fitting].slice(-mostSubscriptions))
    hearOfOthers(dependencies)
  }
  return server
}

/** The sentences for a server of which nobody says how it was started. */
function waysOf(environment: Environment): Ways {
  return {
    signIn: `Have the person sign in again, or give this server a key of ${environment} that was not revoked.`,
    reach: 'Have the person check the address of the payments API, and whether it is running.',
    offer: (toolsets) => `PAYMENTS_TOOLSETS=${toolsets.join()}`,
  }
}

/**
 * The SDK's server, with two habits of its own. Each answer of 2026-07-28 says who gives it. The icon, most of it, is told where it is shown: by `initialize`, and
 * beside each tool.
 */
class PaymentsServer extends Server implements Listening {
  listens: (addresses: readonly string[]) => void = () => {}

  protected override _outboundServerInfo() {
    const { icons: _, ...info } = super._outboundServerInfo() ?? { name: '', version: '' }
    return info
  }

  /**
   * A request goes straight to where the SDK carries it out. Each door has checked what a message is before it gets
   * here; the SDK would first try again whether it is an answer of either kind, which takes longer than the rest.
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

/** Loads a module when it is first asked for; an import costs as much the thousandth time as some queries do. */
function once<Module>(load: () => Promise<Module>): () => Promise<Module> {
  let loading: Promise<Module> | undefined
  return () => {
    loading ??= load()
    return loading
  }
}

const loaded = {
  definitions: once(() => import('./tools/definitions.ts')),
  call: once(() => import('./tools/call.ts')),
  resources: once(() => import('./resources/resources.ts')),
  heard: once(() => import('./resources/heard.ts')),
  prompts: once(() => import('./prompts.ts')),
  completions: once(() => import('./resources/completions.ts')),
}

/**
 * Opens the client once the list of tools is on its way: a host that lists them is about to call them, and loading the
 * sandbox takes longer than some hosts wait for the list. If it fails, the call fails too and tells why.
 */
async function openSoon({ client, log }: Dependencies): Promise<void> {
  await nextTurn()
  await client().catch((error: unknown) => log.warn({ err: error }, 'the client is not ready'))
}

function answerTools(dependencies: Dependencies): void {
  const { server } = dependencies
  server.setRequestHandler('tools/list', async ({ params }) => {
    const page = (await loaded.definitions()).toolPage(dependencies, params?.cursor)
    void openSoon(dependencies)
    return page
  })
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    return (await loaded.call()).callTool(ofRequest(dependencies, context), params, context)
  })
}

/** More than any host watches at a time, and than it takes to name that. */
const mostSubscriptions = 1_000
const mostSubscribedCharacters = 64 * 1024

function answerResources(dependencies: Dependencies): void {
  const { server } = dependencies
  server.setRequestHandler('resources/list', async ({ params }, context) =>
    (await loaded.resources()).listResources(ofRequest(dependencies, context), params?.cursor),
  )
  server.setRequestHandler('resources/templates/list', async ({ params }) => {
    return (await loaded.resources()).listTemplates(dependencies, params?.cursor)
  })
  server.setRequestHandler('resources/read', async ({ params }, context: ServerContext) => {
    return (await loaded.resources()).readResource(ofRequest(dependencies, context), params.uri, context.mcpReq.signal)
  })
  server.setRequestHandler('resources/subscribe', ({ params }) => {
    dependencies.subscribed ??= new Set()
    const { subscribed } = dependencies
    const characters = [...subscribed].reduce((sum, { length }) => sum + length, params.uri.length)
    const fits = subscribed.size < mostSubscriptions && characters <= mostSubscribedCharacters
    if (params.uri.length > longestAddress || (!fits && !subscribed.has(params.uri))) {
      const message = `A connection watches at most ${mostSubscriptions} resources, with addresses of at most ${longestAddress} characters, ${mostSubscribedCharacters} together.`
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
    }
    subscribed.add(params.uri)
    hearOfOthers(dependencies)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    dependencies.subscribed?.delete(params.uri)
    return {}
  })
}

function hearOfOthers(dependencies: Dependencies): void {
  if (dependencies.follow === undefined) return
  void loaded.heard().then(({ hearOfOthers }) => hearOfOthers(dependencies))
}

function answerPrompts(dependencies: Dependencies): void {
  const { server } = dependencies
  server.setRequestHandler('prompts/list', async ({ params }) => {
    return (await loaded.prompts()).listPrompts(dependencies, params?.cursor)
  })
  server.setRequestHandler('prompts/get', async ({ params }) => {
    return (await loaded.prompts()).getPrompt(dependencies, params.name, params.arguments)
  })
  server.setRequestHandler('completion/complete', async ({ params }, context) => {
    return (await loaded.completions()).complete(ofRequest(dependencies, context), params)
  })
}
