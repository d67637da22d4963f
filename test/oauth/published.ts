import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createService, type Service } from '../../src/service/service.ts'
import { sqlite } from '../support/databases.ts'
import { type FakeSystem, fakeSystem } from '../support/fake-system.ts'

/** A service whose fetches of what applications publish go where the test says. */
export interface FetchingService {
  service: Service
  system: FakeSystem
  close(): Promise<void>
}

export async function openFetchingService(publicFetch?: typeof fetch): Promise<FetchingService> {
  const system = fakeSystem({ now: Date.now() })
  const { store, drop } = await sqlite.create(system)
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
  const grounds = { store, system, log, environment: 'sandbox', rateLimit: 1_000_000 } as const
  const service = createService({ ...grounds, ...(publicFetch && { publicFetch }) })
  await service.seed({ apiKey: undefined, agentKey: undefined })
  return { service, system, close: drop }
}

/** A real site that stands in for https://app.example, and every address that it was asked for. */
export interface Site {
  asked: string[]
  fetch: typeof fetch
  close(): Promise<void>
}

export const siteAddress = 'https://app.example'

export async function openSite(answer: RequestListener): Promise<Site> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(String(request.url))
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    asked,
    fetch: async (input, init) => {
      const { origin, pathname } = new URL(String(input))
      if (origin !== siteAddress) throw new Error(`There is no site at ${origin}.`)
      // The guard against private addresses, which this site has, comes with the dispatcher.
      const { dispatcher: _, ...rest } = init as RequestInit & { dispatcher?: unknown }
      return fetch(`http://127.0.0.1:${port}${pathname}`, rest)
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
