import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import type { Served } from '../packaging/served.ts'
import { openRoute, type Route } from '../support/route.ts'
import { answerWithinMs, Clients } from './clients.ts'
import { serveOn } from './processes.ts'
import { binaries, PostgresServer } from './server.ts'

const directory = inject('fastDirectory')

describe.skipIf(binaries === undefined)("a PostgreSQL of Debian's packages, under load", () => {
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
    await acknowledged(100)
  })
  afterEach(async () => {
    await Promise.all(served.map((process) => process.stop()))
    await route.close()
    for (const server of servers) await server.drop()
  })

  const primary = () => servers.at(-1) as PostgresServer
  const acknowledged = (count: number) => Promise.all(clients.map((each) => each.acknowledge(count)))

  /** Proves that every acknowledged request took effect exactly once. */
  const prove = async () => {
    await Promise.all(clients.map((each) => each.stop()))
    expect(clients.some(({ refused }) => refused > 0)).toBe(true)
    for (const { journal, slowestMs } of clients) {
      expect(slowestMs).toBeLessThan(answerWithinMs)
      await journal.repeatAll(served[0]?.url ?? '')
      await journal.expectOneEffectEach(primary().url)
    }
  }

  test('can crash and be stopped and started again', async () => {
    for (const mode of ['immediate', 'fast', 'immediate'] as const) {
      await primary().stop(mode)
      await primary().start()
      await acknowledged(100)
    }
    await prove()
  })

  test('can end all connections, again and again', async () => {
    for (let count = 0; count < 20; count++) {
      await primary().query(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
      )
      await acknowledged(10)
    }
    await prove()
  })

  test.each([
    ['that is gone', (old: PostgresServer) => old.stop()],
    ['that no longer answers', async () => route.fallSilent()],
  ])('is followed by a synchronous standby instead of one %s', async (_, lose) => {
    const old = primary()
    servers.push(await old.addStandby(directory))
    await acknowledged(100)
    await lose(old)
    // The old primary may still be alive, so it must stop answering before another one replaces it.
    await old.stop().catch(() => {})
    await primary().promote()
    route.open(primary().url)
    await acknowledged(100)
    await prove()
  })

  test('is replaced by its successor when it no longer accepts writes', async () => {
    const old = primary()
    servers.push(await old.addStandby(directory))
    await acknowledged(100)
    // Makes the primary behave as if it had become a standby: its connections are alive, but useless.
    await old.query('alter system set default_transaction_read_only = on')
    await old.query('select pg_reload_conf()')
    await primary().promote()
    route.open(primary().url)
    await acknowledged(100)
    await prove()
  })
})
