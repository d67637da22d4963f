import type { Readable, Writable } from 'node:stream'
import { lineTransport } from '../stdio.ts'
import { Endpoint, type EndpointOptions } from './endpoint.ts'

interface BridgeOptions extends EndpointOptions {
  stdin: Readable
  stdout: Writable
}

/** Relays messages between a host on stdio and an MCP endpoint on HTTP. */
export async function bridgeOverStdio({ url, key, log, system, stdin, stdout }: BridgeOptions): Promise<void> {
  const host = lineTransport({ stdin, stdout, system, onListen: () => {} })
  const endpoint = new Endpoint({ url, key, log, system })
  host.onerror = (error) => log.warn({ err: error }, 'stdio')
  host.onclose = () => endpoint.close()
  host.onmessage = (message) => endpoint.pass(message)
  endpoint.sendToHost = (message) => host.send(message)
  await endpoint.start()
  await host.start()
}
