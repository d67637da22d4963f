import { ProtocolError, ProtocolErrorCode, Server, type ServerContext } from '@modelcontextprotocol/server'
import type { Environment } from '../core/operation.ts'
import { realSystem } from '../core/system.ts'
import {
  asksPeople,
  type Dependencies,
  longestAddress,
  type McpServerOptions,
  type ToolChoice,
  type Ways,
} from './dependencies.ts'
import { instructionsFor } from './instructions.ts'

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
export function createMcpServer(options: McpServerOptions): Server {
  const { system = realSystem, stateSecrets, principal, version, environment } = options
  const seal = createRequestStates({ secrets: stateSecrets, principal, system })
  const server = new IdentifiedServer(
    { name: 'payments-mcp', title: 'Payments', version, icons: serverIcons },
    {
      capabilities,
      instructions: instructionsFor(options, asksPeople(options.confirm, environment)),
      requestState: seal,
    },
  )
  const ways = options.ways ?? waysOf(environment)
  const dependencies: Dependencies = {
    ...options,
    server,
    system,
    seal,
    ways,
    subscribed: undefined,
  }
  answerTools(dependencies)
  answerResources(dependencies)
  answerPrompts(dependencies)
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
 * Each answer of 2026-07-28 says who gives it. The icon, most of it, is told where it is shown: by `initialize`, and
 * beside each tool.
 */
class IdentifiedServer extends Server {
  protected override _outboundServerInfo() {
    const { icons: _, ...info } = super._outboundServerInfo() ?? { name: '', version: '' }
    return info
  }
}

function answerTools(dependencies: Dependencies): void {
  const { server, client, log } = dependencies
  server.setRequestHandler('tools/list', async ({ params }) => {
    // A host that lists the tools is about to call them. What fails here fails again, and is told, at the call.
    client().catch((error: unknown) => log.warn({ err: error }, 'the client is not ready'))
    return (await import('./tools/definitions.ts')).toolPage(dependencies, params?.cursor)
  })
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    return (await import('./tools/call.ts')).callTool(dependencies, params, context)
  })
}

/** More than any host watches at a time, and than it takes to name that. */
const mostSubscriptions = 1_000
const mostSubscribedCharacters = 64 * 1024

function answerResources(dependencies: Dependencies): void {
  const { server } = dependencies
  const load = () => import('./resources/resources.ts')
  server.setRequestHandler('resources/list', async ({ params }) =>
    (await load()).listResources(dependencies, params?.cursor),
  )
  server.setRequestHandler('resources/templates/list', async ({ params }) => {
    return (await load()).listTemplates(dependencies, params?.cursor)
  })
  server.setRequestHandler('resources/read', async ({ params }, context: ServerContext) => {
    return (await load()).readResource(dependencies, params.uri, context.mcpReq.signal)
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
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    dependencies.subscribed?.delete(params.uri)
    return {}
  })
}

function answerPrompts(dependencies: Dependencies): void {
  const { server } = dependencies
  server.setRequestHandler('prompts/list', async ({ params }) => {
    return (await import('./prompts.ts')).listPrompts(dependencies, params?.cursor)
  })
  server.setRequestHandler('prompts/get', async ({ params }) => {
    return (await import('./prompts.ts')).getPrompt(dependencies, params.name, params.arguments)
  })
  server.setRequestHandler('completion/complete', async ({ params }) => {
    return (await import('./resources/completions.ts')).complete(dependencies, params)
  })
}
