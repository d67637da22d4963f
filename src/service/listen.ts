import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { Failure } from '../errors.ts'
import type { Logger } from '../log.ts'
import { newId, type System } from '../system.ts'
import { refusal } from './reply.ts'

export interface ListenOptions {
  fetch: (request: Request) => Promise<Response>
  host: string
  /** 0 takes any free port. */
  port: number
  system: System
  log: Logger
}

export interface Listener {
  /** The address to reach it at, without a slash at its end. */
  url: string
  /** Stops taking requests and resolves when those under way are answered. */
  close(): Promise<void>
}

/** Serves a fetch function over HTTP. Whoever was led here by another site's name or page is refused with 403. */
export async function listen({ fetch, host, port, system, log }: ListenOptions): Promise<Listener> {
  const guarded = async (request: Request) => {
    const detail = refusedCaller(request.headers, host)
    if (detail === undefined) return fetch(request)
    const supportId = newId('req', system, system.now())
    log.info({ supportId, status: 403 }, 'refused')
    const { status, body } = refusal(new Failure('forbidden', { detail }), supportId)
    return new Response(body, { status, headers: { 'Content-Type': 'application/json' } })
  }
  const server = createAdaptorServer({ fetch: guarded, serverOptions: { requestTimeout: 30_000 } })
  let closing = false
  server.on('request', (_request, response: ServerResponse) => {
    // Node keeps a connection whose last answer was under way when the closing began; nobody sends on it any more.
    response.once('close', () => {
      if (closing && 'closeIdleConnections' in server) server.closeIdleConnections()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
  const { port: boundPort } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${boundPort}`,
    close: () =>
      new Promise((resolve, reject) => {
        closing = true
        server.close((error) => (error === undefined ? resolve() : reject(error)))
        if ('closeIdleConnections' in server) server.closeIdleConnections()
      }),
  }
}

/**
 * Why a request must not be served, undefined when it may: a name that was rebound to this machine stands in Host, a
 * page of another site in Origin.
 */
function refusedCaller(headers: Headers, boundHost: string): string | undefined {
  const host = headers.get('host')
  const name = host === null ? undefined : URL.parse(`http://${host}`)?.hostname
  if (name === undefined || !isOwnName(name, boundHost)) {
    return 'The Host header does not name this server. Use the address that it printed when it started.'
  }
  const origin = headers.get('origin')
  if (origin !== null && URL.parse(origin)?.host !== host) {
    return 'The Origin header names another site than this server. Requests of its pages are not served.'
  }
  return undefined
}

const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

function isOwnName(name: string, boundHost: string): boolean {
  const bound = boundHost.includes(':') ? `[${boundHost}]` : boundHost.toLowerCase()
  if (loopbackNames.includes(name) || name === bound) return true
  // Bound to every address: any of them may stand in Host, but no name, for only names can be rebound.
  return (bound === '0.0.0.0' || bound === '[::]') && (/^\d+\.\d+\.\d+\.\d+$/.test(name) || name.startsWith('['))
}
