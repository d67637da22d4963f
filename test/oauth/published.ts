import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createService, type Service, type ServiceOptions } from '../../src/service/service.ts'
import { sqlite } from '../support/databases.ts'
import { type FakeSystem, fakeSystem } from '../support/fake-system.ts'

/** A service that fetches applications' metadata documents with the test's `fetch`. */
export interface FetchingService {
  service: Service
  system: FakeSystem
  logged: string[]
  /** Starts another service on the same database, like a second process or a restarted one. */
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
  const at = (level: string) => (fields: object, text: string) =>
    void logged.push(`${level} ${text} ${JSON.stringify(fields)}`)
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const grounds = { store, system, log, environment: 'sandbox', rateLimit: 1_000_000, ...change } as const
  const start = (more: Partial<ServiceOptions> = {}): FetchingService => ({
    service: createService({ ...grounds, ...(publicFetch && { publicFetch }), ...more }),
    system,
    logged,
    restarted: start,
    close: drop,
  })
  const { service } = start()
  await service.seed({ apiKey: undefined, agentKey: undefined })
  return { ...start(), service }
}

/** A real site behind the name https://app.example, with the list of requested addresses. */
export interface Site {
  requestedUrls: string[]
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
      // The dispatcher is left out, because it would refuse this site's private address.
      const { dispatcher: _, ...rest } = init as RequestInit & { dispatcher?: unknown }
      return fetch(`http://127.0.0.1:${port}${pathname}`, rest)
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
