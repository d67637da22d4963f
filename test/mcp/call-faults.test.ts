import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { errorTable } from '../../src/core/errors.ts'
import type { System } from '../../src/core/system.ts'
import { eventsOf, modernRequest, rawHost } from '../mcp-http/hosting.ts'
import { onEachDatabase } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { errorOf, type Host, hosts, type ToolResult } from './hosts.ts'
import { type Meeting, overHttp, overStdio } from './meeting.ts'

const eras = hosts.filter(({ version }, index) => hosts.findIndex((one) => one.version === version) === index)
const doors = { 'over stdio': overStdio, 'over HTTP': overHttp }

onEachDatabase('a call that meets a fault', (database) => {
  let world: World
  let other: OtherParty
  let amount = 100
  const open: Meeting[] = []
  beforeAll(async () => {
    world = await createWorld(database, { system: fakeSystem({ now: Date.now() }) })
    other = await addParty(world)
  })
  afterEach(async () => {
    for (const meeting of open.splice(0)) await meeting.close()
  })
  afterAll(() => world.drop())

  /** Returns the input of a payment with a new amount. `times` counts how often its money arrived. */
  const newPayment = async () => {
    amount += 1
    const input = { amount, counterparty: { type: 'party_id', value: other.partyId } }
    const received = async () => {
      const wallet = await world.get(`/wallets/${other.walletId}`, { key: other.apiKey })
      return wallet.json.data.attributes.balance.total as number
    }
    const before = await received()
    const cents = amount
    return { input, times: async () => ((await received()) - before) / cents }
  }

  describe.each(Object.entries(doors))('%s', (door, openDoor) => {
    describe.each(eras)('$host', (host) => {
      const meet = async (system?: System) => {
        const meeting = await openDoor({ world, host, ...(system && { system }) })
        open.push(meeting)
        return meeting
      }
      /**
       * Expects that the call was lost. Over HTTP, the host sees that the connection was cut. Over stdio, this call
       * gets no answer, but other calls do.
       */
      const expectLost = async (meeting: Meeting, call: Promise<ToolResult>) => {
        if (door === 'over HTTP') return expect(call).rejects.toThrow()
        let isSettled = false
        const settled = () => {
          isSettled = true
        }
        call.then(settled, settled)
        await meeting.isCut
        await awaitAnswers(meeting.host)
        expect(isSettled).toBe(false)
      }

      test('reset: nothing is done, and a repeat of the call is carried out', async () => {
        const meeting = await meet()
        const { input, times } = await newPayment()
        meeting.next.push({ kind: 'reset' })
        await expectLost(meeting, meeting.host.callTool('create_payment', input))
        expect(await times()).toBe(0)
        const repeat = await meeting.host.callTool('create_payment', input)
        expect(repeat.structuredContent).not.toHaveProperty('repeated')
        expect(await times()).toBe(1)
      })

      test('effect_then_lost: the payment is made, and a repeat gets the first answer', async () => {
        const meeting = await meet()
        const { input, times } = await newPayment()
        meeting.next.push({ kind: 'effect_then_lost' })
        await expectLost(meeting, meeting.host.callTool('create_payment', input))
        expect(await times()).toBe(1)
        const repeat = await meeting.host.callTool('create_payment', input)
        expect(repeat.structuredContent).toHaveProperty('repeated')
        expect(await times()).toBe(1)
      })

      test('effect_then_503: the payment is made, and the advice in the error leads to the answer', async () => {
        const meeting = await meet()
        const { input, times } = await newPayment()
        meeting.next.push({ kind: 'effect_then_503' })
        const { code, status, next, idempotencyKey } = errorOf(await meeting.host.callTool('create_payment', input))
        expect({ code, status }).toEqual({ code: 'service_unavailable', status: 503 })
        expect(next).toBe(
          `Repeat this call unchanged with idempotencyKey ${JSON.stringify(idempotencyKey)}: it is safe, nothing happens twice.`,
        )
        const repeat = await meeting.host.callTool('create_payment', { ...input, idempotencyKey })
        expect(repeat.structuredContent).toMatchObject({ replayed: true })
        expect(await times()).toBe(1)
      })

      test('effect_then_503 of a refused call: the refusal is returned', async () => {
        const meeting = await meet()
        meeting.next.push({ kind: 'effect_then_503' })
        expect(errorOf(await meeting.host.callTool('get_payment', { paymentId: 'pay_unknown' }))).toMatchObject({
          code: 'not_found',
        })
      })

      test('error: each code is returned as a refusal, and nothing is done', async () => {
        const meeting = await meet()
        const { input, times } = await newPayment()
        for (const code of Object.keys(errorTable) as (keyof typeof errorTable)[]) {
          meeting.next.push({ kind: 'error', code })
          const { status, detail } = errorTable[code]
          const error = errorOf(await meeting.host.callTool('create_payment', input))
          expect(error).toMatchObject({ code, status, detail, next: expect.any(String) })
          expect(error).not.toHaveProperty('idempotencyKey')
        }
        meeting.next.push({ kind: 'error', code: 'rate_limited' })
        expect(errorOf(await meeting.host.callTool('create_payment', input)).next).toBe(
          'Wait 1 s. Then make this call again.',
        )
        expect(await times()).toBe(0)
        await meeting.host.callTool('create_payment', input)
        expect(await times()).toBe(1)
      })

      test('slow: the payment is made, and the answer comes after the specified time', async () => {
        const meeting = await meet()
        const { input, times } = await newPayment()
        const before = world.system.slept.length
        meeting.next.push({ kind: 'slow', afterMs: 12_345 })
        expect((await meeting.host.callTool('create_payment', input)).isError).not.toBe(true)
        expect(world.system.slept.slice(before)).toContain(12_345)
        expect(await times()).toBe(1)
      })

      test('hang: nothing is done, and the call ends when the host cancels or the connection is cut', async () => {
        const { input, times } = await newPayment()
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
        const meeting = await meet(system)
        meeting.next.push({ kind: 'hang', afterMs: 54_321 })
        const controller = new AbortController()
        const call = meeting.host.callTool('create_payment', input, { signal: controller.signal })
        call.catch(() => {})
        expect(await waiting.promise).toBe(54_321)
        controller.abort('it takes too long')
        await expect(call).rejects.toThrow()
        await ended.promise
        expect(await times()).toBe(0)

        const other = await meet()
        other.next.push({ kind: 'hang' })
        await expectLost(other, other.host.callTool('create_payment', input))
        expect(await times()).toBe(0)
      })
    })
  })

  test('over HTTP, a lost answer cannot be fetched by resuming its stream', async () => {
    const [host] = eras
    if (host === undefined) throw new Error('no host')
    const meeting = await overHttp({ world, host })
    open.push(meeting)
    const { input, times } = await newPayment()
    const raw = rawHost(meeting.hosting.url)
    await raw.initialize()
    meeting.next.push({ kind: 'effect_then_lost' })
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
    expect(await times()).toBe(1)

    meeting.next.push({ kind: 'effect_then_lost' })
    const again = await newPayment()
    const { body, headers } = modernRequest(
      'tools/call',
      { name: 'create_payment', arguments: again.input },
      { _meta: { progressToken: 't' } },
    )
    const modern = await raw.post(body, { ...headers, 'Mcp-Session-Id': undefined })
    expect(modern.headers.get('content-type')).toBe('text/event-stream')
    for await (const { message } of eventsOf(modern)) expect(message?.id).toBe(undefined)
    expect(await again.times()).toBe(1)
  })
})

/** Makes another call: its answer arrives after everything that the server sent earlier. */
async function awaitAnswers(host: Host): Promise<void> {
  expect((await host.callTool('whoami')).isError).not.toBe(true)
}
