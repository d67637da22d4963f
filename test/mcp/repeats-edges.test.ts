import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { databaseMemories } from '../../src/commands/database-memory.ts'
import type { CallMemory } from '../../src/mcp/dependencies.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { type Connected, connectHost } from './connected.ts'
import { hosts, type ToolResult } from './hosts.ts'

type Options = NonNullable<Parameters<typeof connectHost>[2]>

const windowMs = 900_000
const [host] = hosts

onEachDatabase('recognition of equal calls', (database) => {
  let world: World
  let other: OtherParty
  let memory: () => Promise<CallMemory>
  let amount = 300
  const open: Connected[] = []
  beforeAll(async () => {
    world = await createWorld(database)
    other = await addParty(world)
    const { keyId: id, partyId } = await world.whoami()
    const memoryOf = databaseMemories(world.service, world.store)
    memory = async () => memoryOf({ id, partyId })
  })
  afterEach(async () => {
    for (const { close } of open.splice(0)) await close()
  })
  afterAll(() => world.drop())

  const openHost = async (between: Options['between'] = () => undefined) => {
    const connection = await connectHost(world, host.open, { repeats: { windowMs, run: undefined, memory }, between })
    open.push(connection)
    const { host: client } = connection
    return { client, call: (input: object) => client.callTool('create_payment', input) }
  }
  const newPayment = () => {
    amount += 1
    return { amount, counterparty: { type: 'party_id', value: other.partyId } }
  }
  const idOf = (result: ToolResult) => result.structuredContent?.data.id ?? result.content[0]?.text
  const isRepeat = (result: ToolResult) => Object.hasOwn(result.structuredContent ?? {}, 'repeated')
  const isPost = ({ method }: Request) => method === 'POST'
  const received = async () => {
    const wallet = await world.get(`/wallets/${other.walletId}`, { key: other.apiKey })
    return wallet.json.data.attributes.balance.total as number
  }

  test('a call is equal to an earlier one even if it states the defaults or sends numbers as strings', async () => {
    const { client } = await openHost()
    const card = { merchant: { name: 'Books' }, maximumAmount: 1_000, currency: 'USD' }
    const first = await client.callTool('issue_agent_card', card)
    const again = await client.callTool('issue_agent_card', { ...card, maximumAmount: '1000', expiresInMinutes: 60 })
    expect(idOf(again)).toBe(idOf(first))
    expect(isRepeat(again)).toBe(true)
    const longer = await client.callTool('issue_agent_card', { ...card, expiresInMinutes: 61 })
    expect(idOf(longer)).not.toBe(idOf(first))
  })

  test('a payment is made once, even if a proxy in front of the API answers the repeat with a 404', async () => {
    const ways = [
      async (request: Request) => {
        await world.service.fetch(request)
        return Response.json({ errors: [{ code: 'server_error', detail: 'Lost.', status: '500' }] }, { status: 500 })
      },
      () => new Response('<h1>Not Found</h1>', { status: 404 }),
    ]
    const before = await received()
    const { call } = await openHost((request) => (isPost(request) ? ways.shift()?.(request) : undefined))
    const payment = newPayment()
    for (let times = 0; times < 2; times++) expect((await call(payment)).isError).toBe(true)
    expect(isRepeat(await call(payment))).toBe(true)
    expect((await received()) - before).toBe(payment.amount)
  })

  test('the window for repeats begins when the call is carried out, not when it is first sent', async () => {
    const limited = { errors: [{ code: 'rate_limited', detail: 'Too many.', status: '429' }] }
    let refuses = true
    const between = (request: Request) =>
      isPost(request) && refuses ? Response.json(limited, { status: 429 }) : undefined
    const { call } = await openHost(between)
    const payment = newPayment()
    expect((await call(payment)).isError).toBe(true)
    refuses = false
    world.system.pass(windowMs - 60_000)
    const paid = await call(payment)
    expect(isRepeat(paid)).toBe(false)
    world.system.pass(windowMs - 60_000)
    const again = await call(payment)
    expect([idOf(again), isRepeat(again)]).toEqual([idOf(paid), true])
    world.system.pass(120_000)
    expect(isRepeat(await call(payment))).toBe(false)
  })

  test('a call with a new idempotencyKey restarts the window, and later equal calls get its answer', async () => {
    const { call } = await openHost()
    const payment = newPayment()
    await call(payment)
    world.system.pass(windowMs - 1_000)
    const onPurpose = await call({ ...payment, idempotencyKey: 'q7w8e9r1t2y3u4i5' })
    world.system.pass(2_000)
    const again = await call(payment)
    expect([idOf(again), isRepeat(again)]).toEqual([idOf(onPurpose), true])
  })
})
