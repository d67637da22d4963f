import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { databaseMemories } from '../../src/commands/database-memory.ts'
import { fileMemory } from '../../src/commands/file-memory.ts'
import type { CallMemory } from '../../src/mcp/dependencies.ts'
import { readAllTables } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Connected, connectHost } from './connected.ts'
import { errorOf, hosts, type ToolResult } from './hosts.ts'
import { shortenWaits } from './repeating.ts'

type Options = NonNullable<Parameters<typeof connectHost>[2]>

const [host] = hosts

onEachDatabase('repeats of calls for which the API takes no idempotency key', (database) => {
  let world: World
  let databaseMemory: CallMemory
  let keyCount = 0
  const open: Connected[] = []
  beforeAll(async () => {
    world = await createWorld(database)
    const { keyId: id, partyId } = await world.whoami(world.apiKey)
    databaseMemory = await databaseMemories(world.service, world.store)({ id, partyId })
  })
  afterEach(async () => {
    for (const { close } of open.splice(0)) await close()
  })
  afterAll(() => world.drop())

  const openHost = async (memory = databaseMemory, between: Options['between'] = () => undefined) => {
    const repeats = { windowMs: 900_000, run: undefined, memory: async () => memory }
    const system = shortenWaits(world.system)
    const connection = await connectHost(world, host.open, {
      key: world.apiKey,
      actor: 'user',
      repeats,
      between,
      system,
    })
    open.push(connection)
    return (input: object, signal?: AbortSignal) =>
      connection.host.callTool('create_api_key', input, signal && { signal })
  }
  const newKey = () => ({ name: `Key ${++keyCount}`, scopes: ['payments.read'] })
  const dataIn = (result: ToolResult) => {
    const { data } = result.structuredContent ?? {}
    return JSON.stringify(data)
  }
  const isRepeat = (result: ToolResult) => Object.hasOwn(result.structuredContent ?? {}, 'repeated')
  const countKeys = async (name: string) => {
    const { json } = await world.get('/api-keys?limit=100', { key: world.apiKey })
    return json.data.filter((key: { attributes: { name: string } }) => key.attributes.name === name).length
  }

  test('a repeat gets the first answer with its secret, which is not readable in the database', async () => {
    const key = newKey()
    const first = await (await openHost())(key)
    const secret = String((first.structuredContent?.data.attributes as Record<string, unknown> | undefined)?.apiKey)
    const again = await (await openHost())(key)
    expect([dataIn(again), isRepeat(first), isRepeat(again)]).toEqual([dataIn(first), false, true])
    expect(await countKeys(key.name)).toBe(1)
    expect(dataIn(again)).toContain(secret)
    const rows = JSON.stringify((await readAllTables(world.store)).get('sentCalls'))
    for (const hidden of [key.name, secret]) expect(rows).not.toContain(hidden)
    const onPurpose = { ...key, idempotencyKey: 'q7w8e9r1t2y3u4i5' }
    const another = await (await openHost())(onPurpose)
    expect([isRepeat(another), dataIn(another) === dataIn(first)]).toEqual([false, false])
    expect(dataIn(await (await openHost())(onPurpose))).toBe(dataIn(another))
    expect(await countKeys(key.name)).toBe(2)
  })

  test('a repeat waits for the answer to the first call, even if both are simultaneous or the first host gave up', async () => {
    const key = newKey()
    const [one, other] = [await openHost(), await openHost()]
    const both = await Promise.all([one(key), other(key)])
    expect(both.map(isRepeat).sort()).toEqual([false, true])
    expect(dataIn(both[0])).toBe(dataIn(both[1]))
    expect(await countKeys(key.name)).toBe(1)

    const another = newKey()
    const [arrived, released, controller] = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
      new AbortController(),
    ]
    const slow = await openHost(databaseMemory, async (request) => {
      if (request.method !== 'POST') return undefined
      arrived.resolve()
      await released.promise
      return await world.service.fetch(request)
    })
    const abortedCall = expect(slow(another, controller.signal)).rejects.toThrow()
    await arrived.promise
    controller.abort('it takes too long')
    await abortedCall
    const repeat = other(another)
    released.resolve()
    expect(isRepeat(await repeat)).toBe(true)
    expect(await countKeys(another.name)).toBe(1)
  })

  test('a repeat is carried out if the first call was refused, and is a conflict if the first answer was lost', async () => {
    const key = newKey()
    const ways = [
      () => Response.json({ errors: [{ code: 'conflict', detail: 'No.', status: '409' }] }, { status: 409 }),
      async (request: Request) => {
        await world.service.fetch(request)
        throw new TypeError('fetch failed')
      },
    ]
    const call = await openHost(databaseMemory, (request) =>
      request.method === 'POST' ? ways.shift()?.(request) : undefined,
    )
    expect(errorOf(await call(key)).code).toBe('conflict')
    expect((await call(key)).isError).toBe(true)
    world.system.pass(60_000)
    const error = errorOf(await call(key))
    expect(error.detail).toMatch(/^An equal call was sent at .*pass a new idempotencyKey\.$/)
    expect(error.next).toContain('list_api_keys')
    expect(await countKeys(key.name)).toBe(1)
  })

  test('with a deployed API, only the process that got the first answer can return it again, because the answer is stored in no file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'answers-'))
    const path = join(directory, 'sent-calls.json')
    const newMemory = () =>
      fileMemory({ path, principal: world.apiKey, system: world.system, log: { info() {}, warn() {}, error() {} } })
    const memory = newMemory()
    const key = newKey()
    const first = await (await openHost(memory))(key)
    expect(dataIn(await (await openHost(memory))(key))).toBe(dataIn(first))
    expect((await readFile(path, 'utf8')).length).toBeLessThan(600)
    world.system.pass(60_000)
    expect(errorOf(await (await openHost(newMemory()))(key)).code).toBe('conflict')
    expect(await countKeys(key.name)).toBe(1)
    await rm(directory, { recursive: true })
  })
})
