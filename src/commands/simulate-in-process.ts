import { PassThrough } from 'node:stream'
import { loadConfig } from '../config/load.ts'
import { createLogger, type Logger } from '../config/log.ts'
import { newSecret, realSystem, type System } from '../core/system.ts'
import { connectOverStreams } from '../simulate/mcp-caller.ts'
import { withInstantSleep } from '../simulate/moved-clock.ts'
import type { World } from '../simulate/world.ts'
import { type ClientConfig, type OpenClient, openClient, openEmbeddedClient, openSandbox } from './open-client.ts'
import { serveConnection } from './stdio.ts'

/**
 * Opens a world for a simulation in this process. Each agent has its own MCP server, which uses streams in memory
 * instead of stdin and stdout. All servers share one payments service.
 */
export async function openInProcess(env: Record<string, string>, { isolated = false } = {}): Promise<World> {
  const config = loadConfig({ env })
  const log = createLogger({ level: config.logLevel })
  const system = isolated ? withInstantSleep(realSystem) : realSystem
  const { clientOf, close } = await openApi(config, system, log)
  const connect = async (agent: number) => {
    const instanceId = isolated ? instanceIdOf(agent) : `run_${newSecret(realSystem, 16)}`
    const client = clientOf(instanceId)
    const api = { get: async () => client, close: () => client.close() }
    const [stdin, stdout] = [new PassThrough(), new PassThrough()]
    const server = serveConnection({ config, api, instanceId: () => instanceId, log, stdin, stdout })
    const caller = await connectOverStreams({ stdin, stdout }, agent)
    const close = async () => {
      await caller.close()
      await server.close()
    }
    return { ...caller, close }
  }
  return { connect, close, ...(isolated ? { instanceIdOf } : {}) }
}

/**
 * Returns the instance id of an agent in an isolated world. The id is the same in every simulation, so that injected
 * faults hit the same agent each time.
 */
export const instanceIdOf = (agent: number) => `simulated-agent-${agent}`

interface Api {
  clientOf(instanceId: string): OpenClient
  close(): Promise<void>
}

/** Connects to the configured deployed API, or opens the sandbox on the configured database. */
async function openApi(config: ClientConfig, system: System, log: Logger): Promise<Api> {
  if (config.baseUrl !== undefined) {
    return { clientOf: (instanceId) => openClient({ ...config, instanceId }, system, log), close: async () => {} }
  }
  const sandbox = await openSandbox(config, system, log)
  const shared = { ...sandbox, close: async () => {} }
  const clientOf = (instanceId: string) => openEmbeddedClient(config, instanceId, system, log, async () => shared)
  return { clientOf, close: sandbox.close }
}
