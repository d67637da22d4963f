import type { Readable, Writable } from 'node:stream'
import { lineTransport } from '../stdio.ts'
import { Endpoint, type EndpointOptions } from './endpoint.ts'

interface BridgeOptions extends EndpointOptions {
  stdin: Readable
  stdout: Writable
}

/** Relays messages between a host on stdio and an MCP endpoint on HTTP. */
export async function bridgeOverStdio({ url, key, log, system, stdin, stdout }: BridgeOptions): Promise<void> {
  const near = lineTransport({ stdin, stdout, system, listens: () => {} })
  const far = new Endpoint({ url, key, log, system })
  near.onerror = (error) => log.warn({ err: error }, 'stdio')
  near.onclose = () => far.close()
  near.onmessage = (message) => far.pass(message)
  far.sendToHost = (message) => near.send(message)
  await far.start()
  await near.start()
}
