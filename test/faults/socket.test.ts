import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { createRemoteFetch } from '../../src/client/remote.ts'
import { createLogger } from '../../src/config/log.ts'
import { type FaultKind, faultKinds } from '../../src/core/faults.ts'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import type { FaultRule } from '../../tools/sandbox-faults.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { clearFaults, counts, setFault } from './rules.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 500, currency: 'USD' }
const extra: Partial<Record<FaultKind, Partial<FaultRule>>> = { error: { code: 'conflict' } }
const isCut = (fault: FaultKind) => fault === 'hang' || fault === 'reset' || fault === 'effect_then_lost'

onEachDatabase('faults and retries', (database) => {
  let world: World
  let listener: Listener
  let url: string
  beforeAll(async () => {
    world = await createWorld(database)
    const { service } = world
    listener = await listen({
      ...{ fetch: service.fetch, host: '127.0.0.1', port: 0, system: realSystem },
      log: createLogger({ level: 'silent' }),
    })
    url = listener.url
  })
  afterAll(async () => {
    await listener.close()
    await world.drop()
  })

  /**
   * Sends a request over a socket. Returns the text that the service sent, which is empty if the connection was cut.
   */
  const ask = (method: string, path: string, key: string, body = '') =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      let received = ''
      socket.setEncoding('utf8').on('data', (text) => {
        received += text
      })
      socket.on('error', (error) => (received === '' && 'code' in error ? resolve('') : reject(error)))
      socket.on('close', () => resolve(received))
      const head = [
        `${method} ${path} HTTP/1.1`,
        `Host: ${new URL(url).host}`,
        `Authorization: Bearer ${world.agentKey}`,
        'X-Instance-ID: run 1',
        `Idempotency-Key: ${key}`,
        ...(body === '' ? [] : ['Content-Type: application/json']),
        `Content-Length: ${Buffer.byteLength(body)}`,
        'Connection: close',
      ]
      socket.on('connect', () => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`))
    })

  test.each(faultKinds)('the fault "%s" affects the connection and the request as documented', async (fault) => {
    await setFault(world, { id: 'all', path: '/**', fault, ...extra[fault] })
    const body = JSON.stringify({ data: { attributes: card } })
    const issue = () => ask('POST', '/agent-cards', `a card with ${fault}`, body)
    const answers = [await issue(), await ask('GET', '/whoami', 'none'), await ask('GET', '/wallets', 'none')]
    for (const answer of answers) expect(answer === '', answer).toBe(isCut(fault))
    await clearFaults(world)
    const repeat = await issue()
    expect(repeat).toMatch(/^HTTP\/1.1 200 /)
    const hadEffect = fault !== 'error' && fault !== 'hang' && fault !== 'reset'
    expect(/x-idempotency-replayed: true/i.test(repeat)).toBe(hadEffect)
  })

  test('the client retries with the same key after a cut or a temporary error, and issues one card', async () => {
    const remote = createRemoteFetch()
    const client = createClient({
      ...{ fetch: remote.fetch, baseUrl: url, credential: () => world.agentKey, instanceId: 'client' },
      // The client's pauses between retries take no time.
      system: { ...realSystem, sleep: async () => {} },
    })
    const faults = ['effect_then_lost', 'reset', 'effect_then_503'] as const
    for (const [index, fault] of faults.entries()) {
      const when = { instanceId: 'client', nth: index + 1 }
      await setFault(world, { id: `fault-${index}`, operation: 'issue_agent_card', fault, when }, { key: world.apiKey })
    }
    const cards = async () => (await world.get('/agent-cards')).json.data.length as number
    const before = await cards()
    const { attempts, replayed } = await client.operations.issueAgentCard({ ...card, currency: 'USD' })
    expect({ attempts, replayed }).toEqual({ attempts: 4, replayed: true })
    expect(await counts(world)).toEqual({ 'fault-0': [4, 1], 'fault-1': [4, 1], 'fault-2': [4, 1] })
    expect(await cards()).toBe(before + 1)
    await clearFaults(world)
    await remote.close()
  })

  test('a client in the same process as the service also retries with the same key after a cut', async () => {
    const client = createClient({
      ...{ fetch: world.service.fetch, carry: world.service.carry(), baseUrl: 'http://sandbox.test' },
      ...{ credential: () => world.agentKey, instanceId: 'in-process', system: world.system },
    })
    await setFault(world, {
      id: 'lost',
      operation: '*',
      fault: 'effect_then_lost',
      when: { times: 2, instanceId: 'in-process' },
    })
    const { attempts, replayed } = await client.operations.issueAgentCard({ ...card, currency: 'USD' })
    expect({ attempts, replayed }).toEqual({ attempts: 3, replayed: true })
    await clearFaults(world)
  })
})

test('a request with the fault "hang" ends when its client cancels it, and when the service shuts down', async () => {
  const world = await createWorld(sqlite)
  let waiting = Promise.withResolvers<void>()
  world.system.sleep = async (_ms, signal) => {
    waiting.resolve()
    waiting = Promise.withResolvers()
    if (signal !== undefined) await once(signal, 'abort')
  }
  await setFault(world, { id: 'hang', operation: 'whoami', fault: 'hang' })
  const leaving = new AbortController()
  const request = (signal?: AbortSignal) =>
    world.service.fetch(
      new Request('http://sandbox.test/whoami', {
        headers: { Authorization: `Bearer ${world.apiKey}` },
        ...(signal && { signal }),
      }),
    )
  const left = request(leaving.signal)
  await waiting.promise
  leaving.abort()
  await expect(left).rejects.toThrow('cut')
  const hanging = request()
  hanging.catch(() => {})
  await waiting.promise
  await world.service.readiness.end()
  await expect(hanging).rejects.toThrow('cut')
  await world.drop()
})
