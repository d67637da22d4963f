import { renameSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { databases, sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

let world: World
afterEach(() => world.drop())

const health = async (path = '/healthz') => {
  const response = await world.service.fetch(new Request(`http://sandbox.test${path}`))
  return [response.status, ((await response.json()) as { status: string }).status]
}

test.each(databases)('the service is healthy on $name until its database is closed', async (database) => {
  world = await createWorld(database)
  expect(await health()).toEqual([200, 'ok'])
  expect(await health('/readyz')).toEqual([200, 'ready'])
  world.system.pass(10_000)
  expect(await health()).toEqual([200, 'ok'])
  await world.store.close()
  world.system.pass(10_000)
  expect(await health()).toEqual([503, 'unavailable'])
  expect(await health('/readyz')).toEqual([503, 'unavailable'])
})

test('a service that is shutting down is not ready, but still healthy', async () => {
  world = await createWorld(sqlite)
  const { readiness } = world.service
  await readiness.end()
  // Nothing has polled /readyz yet, so there is no load balancer to wait for.
  expect(world.system.slept).toEqual([])
  expect(await health('/readyz')).toEqual([503, 'ending'])
  expect(await health()).toEqual([200, 'ok'])
  await readiness.end()
  expect(world.system.slept).toEqual([3_000])
})

test('the health check writes to the database at most once in ten seconds', async () => {
  world = await createWorld(sqlite)
  await health()
  const { aside } = world.store
  let writes = 0
  world.store.aside = (work) => {
    writes += 1
    return aside.call(world.store, work) as never
  }
  for (let count = 0; count < 20; count++) await health()
  expect(writes).toBe(0)
  world.system.pass(10_000)
  await Promise.all([health(), health()])
  expect(writes).toBe(1)
})

describe('SQLite files', () => {
  let path: string
  beforeEach(async () => {
    world = await createWorld(sqlite)
    path = world.url.slice('sqlite:'.length)
  })
  const write = () =>
    world.issueCard().then(
      () => 200,
      (error: Error) => JSON.parse(error.message).errors[0].status,
    )

  test.each([
    ['was deleted', () => rmSync(path)],
    [
      'was replaced',
      () => {
        renameSync(path, `${path}.old`)
        new DatabaseSync(path).exec('create table other (a)')
      },
    ],
    ['lost its write-ahead log', () => rmSync(`${path}-wal`)],
  ])('after a SQLite file %s, no write is acknowledged, and the health check fails', async (_, damage) => {
    expect(await write()).toBe(200)
    damage()
    expect(await write()).toBe('503')
    world.system.pass(10_000)
    expect(await health()).toEqual([503, 'unavailable'])
  })

  test('once a missing SQLite file is restored, writes succeed again', async () => {
    renameSync(path, `${path}.away`)
    expect(await write()).toBe('503')
    renameSync(`${path}.away`, path)
    expect(await write()).toBe(200)
  })

  test('while another process locks the SQLite file, the health check fails', async () => {
    const other = new DatabaseSync(path)
    other.exec('begin immediate')
    world.system.sleep = () => new Promise((resolve) => setImmediate(resolve))
    expect(await health()).toEqual([503, 'unavailable'])
    other.exec('rollback')
    other.close()
    world.system.pass(1_000)
    expect(await health()).toEqual([200, 'ok'])
  })

  test('the write-ahead log of a SQLite file shrinks to at most 8 MiB after a burst of writes', async () => {
    const { journal_size_limit: limit } = await world.store.transaction(async ({ db }) => {
      const { rows } = await (await import('kysely')).sql<{
        journal_size_limit: number
      }>`pragma journal_size_limit`.execute(db)
      return rows[0] as { journal_size_limit: number }
    })
    expect(limit).toBe(8 * 1024 * 1024)
  })
})
