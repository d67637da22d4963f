import { createSite } from '../../src/commands/site.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { BodyBounds } from '../../src/core/body-budget.ts'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { sqlite, type TestDatabase } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { createWorld, type World } from '../support/world.ts'

export interface Served {
  world: World
  /** The URL at which the site listens. It is also the site's public URL. */
  url: string
  listener: Listener
  close(): Promise<void>
}

/** Creates a world, and starts the whole site for it on a free port, as the command `serve` does. */
export async function serveWorld({
  database = sqlite,
  env = {},
  bodyBounds,
}: {
  database?: TestDatabase
  env?: Record<string, string>
  bodyBounds?: BodyBounds
} = {}): Promise<Served> {
  let url = ''
  const publicUrl = () => url
  const system = { ...fakeSystem({ now: Date.now() }), sleep: realSystem.sleep, now: realSystem.now }
  const world = await createWorld(database, { system, publicUrl })
  const record = (fields: object, message: string) => void world.logged.push(`${message} ${JSON.stringify(fields)}`)
  const log = { debug: record, info: record, warn: record, error: record }
  const config = loadConfig({ env, flags: {} })
  const site = await createSite({ config, service: world.service, store: world.store, publicUrl, system, log })
  const { fetch, corsPaths, publicPaths } = site
  const binding = { host: '127.0.0.1', port: 0, ...(bodyBounds && { bodyBounds }) }
  const listener = await listen({ fetch, corsPaths, publicPaths, ...binding, system: realSystem, log })
  url = listener.url
  return {
    world,
    url,
    listener,
    close: async () => {
      await site.close()
      await listener.close()
      await world.drop()
    },
  }
}
