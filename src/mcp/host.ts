import { CLIENT_INFO_META_KEY, type ServerContext } from '@modelcontextprotocol/server'
import type { CallOptions, Client } from '../client/client.ts'
import type { HostProgram } from '../core/user-agent.ts'
import type { Dependencies } from './dependencies.ts'

/** Returns the name and version that the host reports. They are not verified. */
export function hostOf(
  server: Pick<Dependencies['server'], 'getClientVersion'>,
  context: ServerContext,
): HostProgram | undefined {
  const envelope = context.mcpReq.envelope as { [CLIENT_INFO_META_KEY]?: HostInfo } | undefined
  // In MCP 2026 each request contains the host's name; in MCP 2025 only `initialize` does.
  const { title, name, version }: Partial<HostInfo> =
    envelope?.[CLIENT_INFO_META_KEY] ?? server.getClientVersion() ?? {}
  const hostName = title ?? name
  return hostName === undefined ? undefined : { name: hostName, version }
}

interface HostInfo {
  name: string
  title?: string | undefined
  version?: string | undefined
}

/** Returns the dependencies for one request. The API calls of this request report the host's name and version. */
export function forRequest(dependencies: Dependencies, context: ServerContext): Dependencies {
  const { server, api } = dependencies
  const host = hostOf(server, context)
  return host === undefined
    ? dependencies
    : { ...dependencies, api: { ...api, client: async () => withOptions(await api.client(), { host }) } }
}

/**
 * Returns the dependencies for one tool call, with a new id for the call. All API requests and run notes of the call
 * contain this id.
 */
export function forToolCall(dependencies: Dependencies, context: ServerContext): Dependencies {
  const own = forRequest(dependencies, context)
  const toolCall = Buffer.from(own.system.randomBytes(8)).toString('hex')
  return {
    ...own,
    api: { ...own.api, client: async () => withOptions(await own.api.client(), { toolCall }) },
    run: { ...own.run, note: (runNote) => own.run.note({ ...runNote, toolCall }) },
  }
}

function withOptions({ call }: Pick<Client, 'call'>, more: CallOptions): Pick<Client, 'call'> {
  return { call: (operation, input, options) => call(operation, input, { ...options, ...more }) }
}
