import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Served } from '../packaging/served.ts'
import { openRoute, type Route } from '../support/route.ts'
import { answerWithinMs, Clients } from './clients.ts'
import { serveOn } from './processes.ts'
import { binaries, PostgresServer } from './server.ts'

const directory = inject('fastDirectory')

describe.skipIf(binaries === undefined)("failures of PostgreSQL (installed from Debian's packages) under load", () => {
  let servers: PostgresServer[]
  let route: Route
  let served: Served[]
  let clients: Clients[]

  beforeEach(async () => {
    servers = [await PostgresServer.create(directory)]
    route = await openRoute(primary().url)
    served = [await serveOn(route.url)]
    served.push(await serveOn(route.url))
    clients = served.map(({ url }, index) => new Clients(`process ${index}`, url, 8))
    await acknowledge(100)
  })
  afterEach(async () => {
    await Promise.all(served.map((process) => process.stop()))
    await route.close()
    for (const server of servers) await server.drop()
  })

  const primary = () => servers.at(-1) as PostgresServer
  const acknowledge = (count: number) => Promise.all(clients.map((each) => each.acknowledge(count)))

  /** Stops the clients, and proves that every acknowledged request took effect exactly once. */
  const prove = async () => {
    await Promise.all(clients.map((each) => each.stop()))
    expect(clients.some(({ refused }) => refused > 0)).toBe(true)
    for (const { journal, slowestMs } of clients) {
      expect(slowestMs).toBeLessThan(answerWithinMs)
      await journal.repeatAll(served[0]?.url ?? '')
      await journal.expectOneEffectEach(primary().url)
    }
  }

  test('acknowledged requests take effect exactly once if PostgreSQL crashes and restarts', async () => {
    for (const mode of ['immediate', 'fast', 'immediate'] as const) {
      await primary().stop(mode)
      await primary().start()
      await acknowledge(100)
    }
    await prove()
  })

  test('acknowledged requests take effect exactly once if PostgreSQL keeps ending all connections', async () => {
    for (let count = 0; count < 20; count++) {
      await primary().query(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
      )
      await acknowledge(10)
    }
    await prove()
  })

  test.each([
    ['has crashed', (old: PostgresServer) => old.stop()],
    ['no longer answers', async () => route.fallSilent()],
  ])('acknowledged requests take effect exactly once if a standby replaces a primary that %s', async (_, lose) => {
    const old = primary()
    servers.push(await old.addStandby(directory))
    await acknowledge(100)
    await lose(old)
    // The old primary may still be running, so it must be stopped before the standby is promoted.
    await old.stop().catch(() => {})
    await primary().promote()
    route.open(primary().url)
    await acknowledge(100)
    await prove()
  })

  test('acknowledged requests take effect exactly once if a standby replaces a read-only primary', async () => {
    const old = primary()
    servers.push(await old.addStandby(directory))
    await acknowledge(100)
    // Makes the old primary read-only, like a standby: its connections stay open, but reject writes.
    await old.query('alter system set default_transaction_read_only = on')
    await old.query('select pg_reload_conf()')
    await primary().promote()
    route.open(primary().url)
    await acknowledge(100)
    await prove()
  })
})
