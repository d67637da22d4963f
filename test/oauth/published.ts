import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createService, type Service, type ServiceOptions } from '../../src/service/service.ts'
import { sqlite } from '../support/databases.ts'
import { type FakeSystem, fakeSystem } from '../support/fake-system.ts'

/** A running service that fetches the metadata documents of applications. */
export interface FetchingService {
  service: Service
  system: FakeSystem
  logged: string[]
  /** Creates a second service on the same database, as after a restart or in a second process. */
  restarted(change?: Partial<ServiceOptions>): FetchingService
  close(): Promise<void>
}

export async function openFetchingService(
  publicFetch?: typeof fetch,
  change: Partial<ServiceOptions> = {},
): Promise<FetchingService> {
  const system = fakeSystem({ now: Date.now() })
  const { store, drop } = await sqlite.create(system)
  const logged: string[] = []
  const logAt = (level: string) => (fields: object, message: string) =>
    void logged.push(`${level} ${message} ${JSON.stringify(fields)}`)
  const log = { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') }
  const options = { store, system, log, environment: 'sandbox', rateLimit: 1_000_000, ...change } as const
  const start = (more: Partial<ServiceOptions> = {}): FetchingService => ({
    service: createService({ ...options, ...(publicFetch && { publicFetch }), ...more }),
    system,
    logged,
    restarted: start,
    close: drop,
  })
  const { service } = start()
  await service.seed({ apiKey: undefined, agentKey: undefined })
  return { ...start(), service }
}

/** An HTTP server on this machine that stands in for https://app.example. */
export interface Site {
  /** The requested paths. */
  requestedUrls: string[]
  /** Fetches a URL of https://app.example from this server. Throws an error for any other site. */
  fetch: typeof fetch
  close(): Promise<void>
}

export const siteAddress = 'https://app.example'

export async function openSite(answer: RequestListener): Promise<Site> {
  const requestedUrls: string[] = []
  const server = createServer((request, response) => {
    requestedUrls.push(String(request.url))
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    requestedUrls,
    fetch: async (input, init) => {
      const { origin, pathname } = new URL(String(input))
      if (origin !== siteAddress) throw new Error(`There is no site at ${origin}.`)
      // Leaves out the service's dispatcher, which would refuse the private address of this server.
      const { dispatcher: _, ...rest } = init as RequestInit & { dispatcher?: unknown }
      return fetch(`http://127.0.0.1:${port}${pathname}`, rest)
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
