import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { errorTable } from '../../src/core/errors.ts'
import type { System } from '../../src/core/system.ts'
import { eventsOf, modernRequest, rawHost } from '../mcp-http/hosting.ts'
import { onEachDatabase } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { connectOverHttp, connectOverStdio, type FaultyConnection } from './faulty-connection.ts'
import { errorOf, type Host, hosts, type ToolResult } from './hosts.ts'

const hostPerVersion = hosts.filter(({ version }, index) => hosts.findIndex((one) => one.version === version) === index)
const transports = { 'over stdio': connectOverStdio, 'over HTTP': connectOverHttp }

onEachDatabase('calls with an injected fault', (database) => {
  let world: World
  let other: OtherParty
  let amount = 100
  const connections: FaultyConnection[] = []
  beforeAll(async () => {
    world = await createWorld(database, { system: fakeSystem({ now: Date.now() }) })
    other = await addParty(world)
  })
  afterEach(async () => {
    for (const connection of connections.splice(0)) await connection.close()
  })
  afterAll(() => world.drop())

  /**
   * Returns the input of a payment with a new amount, and `timesPaid`, which returns how many times the payee has
   * received the payment.
   */
  const newPayment = async () => {
    amount += 1
    const input = { amount, counterparty: { type: 'party_id', value: other.partyId } }
    const received = async () => {
      const wallet = await world.get(`/wallets/${other.walletId}`, { key: other.apiKey })
      return wallet.json.data.attributes.balance.total as number
    }
    const before = await received()
    const cents = amount
    return { input, timesPaid: async () => ((await received()) - before) / cents }
  }

  describe.each(Object.entries(transports))('%s', (transport, open) => {
    describe.each(hostPerVersion)('$host', (host) => {
      const connect = async (system?: System) => {
        const connection = await open({ world, host, ...(system && { system }) })
        connections.push(connection)
        return connection
      }
      /**
       * Checks that the call got no answer. Over HTTP, the call fails, because its connection is cut. Over stdio, the
       * call stays unanswered, although a later call is answered.
       */
      const expectLost = async (connection: FaultyConnection, call: Promise<ToolResult>) => {
        if (transport === 'over HTTP') return expect(call).rejects.toThrow()
        let isSettled = false
        const settled = () => {
          isSettled = true
        }
        call.then(settled, settled)
        await connection.whenCut
        await awaitEarlierAnswers(connection.host)
        expect(isSettled).toBe(false)
      }

      test('the fault "reset" drops the call before the payment is made; a repeat of the call makes the payment', async () => {
        const connection = await connect()
        const { input, timesPaid } = await newPayment()
        connection.nextFaults.push({ kind: 'reset' })
        await expectLost(connection, connection.host.callTool('create_payment', input))
        expect(await timesPaid()).toBe(0)
        const repeat = await connection.host.callTool('create_payment', input)
        expect(repeat.structuredContent).not.toHaveProperty('repeated')
        expect(await timesPaid()).toBe(1)
      })

      test('with the fault effect_then_lost, the payment is made but the answer is lost; a repeat of the call gets that answer', async () => {
        const connection = await connect()
        const { input, timesPaid } = await newPayment()
        connection.nextFaults.push({ kind: 'effect_then_lost' })
        await expectLost(connection, connection.host.callTool('create_payment', input))
        expect(await timesPaid()).toBe(1)
        const repeat = await connection.host.callTool('create_payment', input)
        expect(repeat.structuredContent).toHaveProperty('repeated')
        expect(await timesPaid()).toBe(1)
      })

      test('with the fault effect_then_503, the payment is made, and the error contains a key for repeating the call', async () => {
        const connection = await connect()
        const { input, timesPaid } = await newPayment()
        connection.nextFaults.push({ kind: 'effect_then_503' })
        const { code, status, next, idempotencyKey } = errorOf(await connection.host.callTool('create_payment', input))
        expect({ code, status }).toEqual({ code: 'service_unavailable', status: 503 })
        expect(next).toBe(
          `Repeat this call unchanged with idempotencyKey ${JSON.stringify(idempotencyKey)}: it is safe; nothing happens twice.`,
        )
        const repeat = await connection.host.callTool('create_payment', { ...input, idempotencyKey })
        expect(repeat.structuredContent).toMatchObject({ replayed: true })
        expect(await timesPaid()).toBe(1)
      })

      test('if the API refuses a call, the host gets this refusal despite the fault effect_then_503', async () => {
        const connection = await connect()
        connection.nextFaults.push({ kind: 'effect_then_503' })
        expect(errorOf(await connection.host.callTool('get_payment', { paymentId: 'pay_unknown' }))).toMatchObject({
          code: 'not_found',
        })
      })

      test('the fault "error" returns any error code, and no payment is made', async () => {
        const connection = await connect()
        const { input, timesPaid } = await newPayment()
        for (const code of Object.keys(errorTable) as (keyof typeof errorTable)[]) {
          connection.nextFaults.push({ kind: 'error', code })
          const { status, detail } = errorTable[code]
          const error = errorOf(await connection.host.callTool('create_payment', input))
          expect(error).toMatchObject({ code, status, detail, next: expect.any(String) })
          expect(error).not.toHaveProperty('idempotencyKey')
        }
        connection.nextFaults.push({ kind: 'error', code: 'rate_limited' })
        expect(errorOf(await connection.host.callTool('create_payment', input)).next).toBe(
          'Wait 1 s. Then make this call again.',
        )
        expect(await timesPaid()).toBe(0)
        await connection.host.callTool('create_payment', input)
        expect(await timesPaid()).toBe(1)
      })

      test('with the fault "slow", the payment is made, and the answer is delayed by the specified time', async () => {
        const connection = await connect()
        const { input, timesPaid } = await newPayment()
        const before = world.system.slept.length
        connection.nextFaults.push({ kind: 'slow', afterMs: 12_345 })
        expect((await connection.host.callTool('create_payment', input)).isError).not.toBe(true)
        expect(world.system.slept.slice(before)).toContain(12_345)
        expect(await timesPaid()).toBe(1)
      })

      test('with the fault "hang", no payment is made; the call ends when it is canceled or its connection is cut', async () => {
        const { input, timesPaid } = await newPayment()
        const waiting = Promise.withResolvers<number>()
        const ended = Promise.withResolvers<void>()
        const system: System = {
          ...world.system,
          sleep: (ms, signal) => {
            waiting.resolve(ms)
            return new Promise((_, reject) =>
              signal?.addEventListener('abort', () => {
                ended.resolve()
                reject(signal.reason)
              }),
            )
          },
        }
        const connection = await connect(system)
        connection.nextFaults.push({ kind: 'hang', afterMs: 54_321 })
        const controller = new AbortController()
        const call = connection.host.callTool('create_payment', input, { signal: controller.signal })
        call.catch(() => {})
        expect(await waiting.promise).toBe(54_321)
        controller.abort('it takes too long')
        await expect(call).rejects.toThrow()
        await ended.promise
        expect(await timesPaid()).toBe(0)

        const second = await connect()
        second.nextFaults.push({ kind: 'hang' })
        await expectLost(second, second.host.callTool('create_payment', input))
        expect(await timesPaid()).toBe(0)
      })
    })
  })

  test('over HTTP, an answer lost to a fault cannot be fetched by resuming the stream', async () => {
    const [host] = hostPerVersion
    if (host === undefined) throw new Error('no host')
    const connection = await connectOverHttp({ world, host })
    connections.push(connection)
    const { input, timesPaid } = await newPayment()
    const raw = rawHost(connection.hosting.url)
    await raw.initialize()
    connection.nextFaults.push({ kind: 'effect_then_lost' })
    const response = await raw.call(7, 'create_payment', input, { _meta: { progressToken: 't' } })
    const ids: (string | undefined)[] = []
    for await (const { id, message } of eventsOf(response)) {
      ids.push(id)
      expect(message?.id).toBe(undefined)
    }
    expect(ids.length).toBeGreaterThan(1)
    for (const id of ids) {
      const resumed = await raw.send('GET', undefined, { 'Last-Event-ID': String(id) })
      for await (const { message } of eventsOf(resumed)) expect(message?.id).toBe(undefined)
    }
    expect((await raw.send('GET', undefined, { 'Last-Event-ID': String(ids.at(-1)) })).status).toBe(204)
    expect(await timesPaid()).toBe(1)

    connection.nextFaults.push({ kind: 'effect_then_lost' })
    const again = await newPayment()
    const { body, headers } = modernRequest(
      'tools/call',
      { name: 'create_payment', arguments: again.input },
      { _meta: { progressToken: 't' } },
    )
    const modern = await raw.post(body, { ...headers, 'Mcp-Session-Id': undefined })
    expect(modern.headers.get('content-type')).toBe('text/event-stream')
    for await (const { message } of eventsOf(modern)) expect(message?.id).toBe(undefined)
    expect(await again.timesPaid()).toBe(1)
  })
})

/** Makes a new call and waits for its answer. The server sends this answer after all earlier answers. */
async function awaitEarlierAnswers(host: Host): Promise<void> {
  expect((await host.callTool('whoami')).isError).not.toBe(true)
}
