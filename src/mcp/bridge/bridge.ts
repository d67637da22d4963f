import type { Readable, Writable } from 'node:stream'
import type { Log } from '../../client/client.ts'
import type { System } from '../../core/system.ts'
import { lineTransport } from '../stdio.ts'
import { Endpoint } from './endpoint.ts'

interface BridgeOptions {
  url: URL
  key: string
  log: Log
  system: Pick<System, 'sleep'>
  stdin: Readable
  stdout: Writable
}

/** Passes each message of a host over stdio on to an MCP endpoint over HTTP, and back. */
export async function bridgeOverStdio({ url, key, log, system, stdin, stdout }: BridgeOptions): Promise<void> {
  const near = lineTransport({ stdin, stdout, system, listens: () => {} })
  const far = new Endpoint(url, key)
  near.onerror = (error) => log.warn({ err: error }, 'stdio')
  near.onclose = () => far.close()
  near.onmessage = (message) => far.pass(message)
  far.told = (message) => near.send(message).catch((error) => log.warn({ err: error }, 'stdio'))
  await far.start()
  await near.start()
}
