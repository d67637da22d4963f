import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { databaseMemories } from '../../src/commands/database-memory.ts'
import { fileMemory } from '../../src/commands/file-memory.ts'
import type { CallMemory } from '../../src/mcp/dependencies.ts'
import { sentCallKeptMs } from '../../src/service/store/sent-calls.ts'
import { readAllTables } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { type Connected, connectHost, no, person, yes } from './connected.ts'
import { errorOf, hosts, type ToolResult } from './hosts.ts'

const windowMs = 900_000
const [host] = hosts
const always = { mode: 'always', aboveCents: 0 } as const
const stateSecrets = async () => ['sealed with these 32 characters..']

type Options = NonNullable<Parameters<typeof connectHost>[2]>

onEachDatabase('rules for repeated calls', (database) => {
  let world: World
  let other: OtherParty
  let memory: () => Promise<CallMemory>
  let amount = 200
  const open: Connected[] = []
  beforeAll(async () => {
    world = await createWorld(database)
    other = await addParty(world)
    const { keyId: id, partyId } = await world.whoami()
    const memoryOf = databaseMemories(world.service, world.store)
    memory = () => memoryOf({ id, partyId })
  })
  afterEach(async () => {
    for (const { close } of open.splice(0)) await close()
  })
  afterAll(() => world.drop())

  const openHost = async (options: Options & { run?: string } = {}) => {
    const repeats = { windowMs, run: options.run, memory }
    const connection = await connectHost(world, host.open, { repeats, ...options })
    open.push(connection)
    return { ...connection, call: (input: object) => connection.host.callTool('create_payment', input) }
  }
  /** Returns the input of a payment with a new amount, so that no two tests make equal calls. */
  const newPayment = (more: object = {}) => {
    amount += 1
    return { amount, counterparty: { type: 'party_id', value: other.partyId }, ...more }
  }
  const idOf = (result: ToolResult) => result.structuredContent?.data.id ?? result.content[0]?.text
  const repeatOf = (result: ToolResult) =>
    (result.structuredContent as { repeated?: { at: string; next: string } }).repeated
  const keyOf = (result: ToolResult) =>
    (result as { _meta?: Record<string, string> })._meta?.['payments-mcp/idempotencyKey']

  test('the answer to a repeat says when the first call was made; a call with a new key is carried out', async () => {
    const { call } = await openHost({ run: 'run 1' })
    const payment = newPayment()
    const at = new Date(world.system.now()).toISOString()
    const first = await call(payment)
    world.system.pass(14_000)
    const again = await call(payment)
    expect(idOf(again)).toBe(idOf(first))
    const next =
      'This is the answer to the same call 14 s ago; nothing was done now. To do it once more on purpose, pass a new idempotencyKey.'
    expect(repeatOf(again)).toEqual({ at, next })
    expect(keyOf(again)).toBe(keyOf(first))
    expect(keyOf(first)).toMatch(/^idk_/)

    const tooShort = errorOf(await call({ ...payment, idempotencyKey: 'again' }))
    expect(tooShort.next).toContain('16 or more random letters and digits')
    const onPurpose = await call({ ...payment, idempotencyKey: 'q7w8e9r1t2y3u4i5' })
    expect(idOf(onPurpose)).not.toBe(idOf(first))
    expect(repeatOf(onPurpose)).toBe(undefined)
  })

  test('without a run, all calls of a credential are compared, and the answer mentions other conversations', async () => {
    const { call } = await openHost()
    const payment = newPayment()
    await call(payment)
    const again = repeatOf(await (await openHost()).call(payment))
    expect(again?.next).toMatch(/new idempotencyKey\. Another conversation may have made that call\.$/)
  })

  test('a call counts as new in another run, with another credential or other arguments, or after the window', async () => {
    const payment = newPayment()
    const { call } = await openHost({ run: 'run 1' })
    const ids = [idOf(await call(payment))]
    ids.push(idOf(await (await openHost({ run: 'run 2' })).call(payment)))
    const memoryOf = databaseMemories(world.service, world.store)
    const { keyId: id, partyId } = await world.whoami(world.apiKey)
    const repeatsOfKey = { windowMs, run: 'run 1', memory: () => memoryOf({ id, partyId }) }
    ids.push(idOf(await (await openHost({ key: world.apiKey, repeats: repeatsOfKey })).call(payment)))
    ids.push(idOf(await call({ ...payment, description: 'Lunch' })))
    world.system.pass(windowMs)
    const anew = await call(payment)
    expect(repeatOf(anew)).toBe(undefined)
    expect(new Set([...ids, idOf(anew)]).size).toBe(5)
  })

  test('a call uses the key in its arguments, and an equal call without a key uses the same key', async () => {
    const { call } = await openHost()
    const payment = newPayment()
    const idempotencyKey = 'a key of its own, 1'
    const first = await call({ ...payment, idempotencyKey })
    expect((await call({ ...payment, idempotencyKey })).structuredContent).toMatchObject({ replayed: true })
    const without = await call(payment)
    expect([idOf(without), keyOf(without)]).toEqual([idOf(first), idempotencyKey])
    expect(repeatOf(without)).not.toBe(undefined)
  })

  test('a repeat is carried out if the first call was refused, even if the memory still contains that call', async () => {
    const tooMuch = newPayment({ amount: 90_000_000 })
    const { call, host: client } = await openHost()
    expect(errorOf(await call(tooMuch)).code).toBe('conflict')
    const callAtNewHost = async () => (await openHost()).call(tooMuch)
    // Simulates a process that dies before it deletes a refused call from the memory.
    const realMemory = memory
    memory = async () => ({ ...(await realMemory()), forget: async () => {} })
    expect(errorOf(await callAtNewHost()).code).toBe('conflict')
    memory = realMemory
    const { partyId: customerId } = await world.whoami()
    await client.callTool('fund_sandbox_wallet', { customerId, amount: 95_000_000 })
    const paid = await callAtNewHost()
    expect(paid.structuredContent?.data.attributes.amount).toBe(90_000_000)
    expect(repeatOf(paid)).toBe(undefined)
  })

  test('if a server error hides the result, a repeat changes nothing, and the error advises a new key', async () => {
    const failure = { errors: [{ code: 'server_error', detail: 'Something failed.', status: '500' }] }
    let fails = true
    const between = async (request: Request) => {
      if (request.method !== 'POST' || !fails) return undefined
      fails = false
      await world.service.fetch(request)
      return Response.json(failure, { status: 500 })
    }
    const { call } = await openHost({ between })
    const payment = newPayment()
    const error = errorOf(await call(payment))
    expect(error.next).toMatch(/then call again with a new idempotencyKey, once/)
    expect(error).not.toHaveProperty('idempotencyKey')
    expect(repeatOf(await call(payment))).not.toBe(undefined)
  })

  test('a repeat waits while the first call is running, and then gets the first answer', async () => {
    const { call: first, sent } = await openHost()
    const payment = newPayment()
    const paid = await first(payment)
    const running = { errors: [{ code: 'conflict', status: '409', detail: 'It runs.', meta: { retryable: true } }] }
    let left = 3
    const between = ({ method }: Request) =>
      method === 'POST' && left-- > 0 ? Response.json(running, { status: 409 }) : undefined
    const again = await (await openHost({ between })).call(payment)
    expect(idOf(again)).toBe(idOf(paid))
    expect(repeatOf(again)).not.toBe(undefined)
    expect(sent.filter(({ line }) => line.startsWith('POST'))).toHaveLength(1)
  })

  test('the person is asked again after declining a call, but not after approving it', async () => {
    const who = person([no, yes])
    const { call } = await openHost({ confirm: always, stateSecrets, person: who })
    const payment = newPayment()
    expect(errorOf(await call(payment)).code).toBe('confirmation_declined')
    const first = await call(payment)
    const again = await call(payment)
    expect(who.asked).toHaveLength(2)
    expect(idOf(again)).toBe(idOf(first))
    expect(repeatOf(again)).not.toBe(undefined)
  })

  test('the person is asked about a repeat if nobody was asked about the first call, and the payment is made once', async () => {
    const payment = newPayment()
    const first = await (await openHost({ confirm: { mode: 'never', aboveCents: 0 } })).call(payment)
    const who = person([no, yes])
    const { call } = await openHost({ confirm: always, stateSecrets, person: who })
    expect(errorOf(await call(payment)).code).toBe('confirmation_declined')
    const again = await call(payment)
    expect(who.asked).toHaveLength(2)
    expect(idOf(again)).toBe(idOf(first))
  })

  test('a call is not sent if the guard cannot store it first', async () => {
    const brokenMemory = { windowMs, run: undefined, memory: async () => Promise.reject(new Error('the disk is full')) }
    const { call, sent } = await openHost({ repeats: brokenMemory })
    expect(errorOf(await call(newPayment()))).toMatchObject({ code: 'service_unavailable', status: 503 })
    expect(sent.filter(({ line }) => line.startsWith('POST'))).toEqual([])
  })

  test('a repeated call that only sets a value is sent again, with a new key', async () => {
    const { host: client, sent } = await openHost()
    const wallets = await client.callTool('list_wallets')
    const { data } = wallets.structuredContent ?? {}
    const [wallet] = data as unknown as { id: string }[]
    const rename = { walletId: wallet?.id, displayName: 'Main' }
    await client.callTool('update_wallet', rename)
    await client.callTool('update_wallet', rename)
    const keys = sent.filter(({ line }) => line.startsWith('PATCH')).map(({ idempotencyKey }) => idempotencyKey)
    expect(new Set(keys).size).toBe(2)
  })

  test('the stored memory of a call contains no readable key or arguments, and is deleted after a day', async () => {
    const { call } = await openHost()
    const key = String(keyOf(await call(newPayment({ description: 'A very private reason' }))))
    const rows = JSON.stringify((await readAllTables(world.store)).get('sentCalls'))
    expect(rows).toContain('sealed')
    expect(rows).not.toContain(key)
    expect(rows).not.toContain('private')
    world.system.pass(sentCallKeptMs)
    await world.service.upkeep.once()
    expect((await readAllTables(world.store)).get('sentCalls')).toEqual([])
  })

  test('with a deployed API, calls are remembered in a private file, or in the process if the file cannot be written', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sent-calls-'))
    const path = join(directory, 'data', 'sent-calls.json')
    const warned: string[] = []
    const log = { info: () => {}, warn: (_: object, message: string) => void warned.push(message), error() {} }
    const options = { path, principal: world.agentKey, system: world.system, log }
    const repeats = (callMemory: CallMemory) => ({ windowMs, run: undefined, memory: async () => callMemory })
    const payment = newPayment()
    const first = await (await openHost({ repeats: repeats(fileMemory(options)) })).call(payment)
    expect(idOf(await (await openHost({ repeats: repeats(fileMemory(options)) })).call(payment))).toBe(idOf(first))
    const text = await readFile(path, 'utf8')
    for (const secret of [String(keyOf(first)), world.agentKey, other.partyId]) expect(text).not.toContain(secret)
    if (process.platform !== 'win32') expect((await stat(path)).mode & 0o077).toBe(0)
    expect(warned).toEqual([])

    await writeFile(join(directory, 'a file'), '')
    const unwritable = fileMemory({ ...options, path: join(directory, 'a file', 'sent-calls.json') })
    const { call } = await openHost({ repeats: repeats(unwritable) })
    const another = newPayment()
    expect(idOf(await call(another))).toBe(idOf(await call(another)))
    expect(warned).toHaveLength(1)
    await rm(directory, { recursive: true })
  })
})
