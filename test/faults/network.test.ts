import { afterAll, beforeAll, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

onEachDatabase('faults over a network connection', (database) => {
  let world: World
  let listener: Listener
  beforeAll(async () => {
    world = await createWorld(database)
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const fetch = (request: Request) => world.service.fetch(request)
    listener = await listen({ fetch, host: '127.0.0.1', port: 0, system: realSystem, log })
  })
  afterAll(async () => {
    await listener.close()
    await world.drop()
  })

  const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
  const requests = {
    'a request without a body': ['GET', '/whoami', undefined],
    'a request whose body was read completely': [
      'POST',
      '/agent-cards',
      JSON.stringify({ data: { attributes: card } }),
    ],
  } as const

  test.each(Object.entries(requests))('a fault cuts the connection of %s', async (_name, [method, path, body]) => {
    const headers = {
      Authorization: `Bearer ${world.agentKey}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': `a key on ${path}`,
      'X-Instance-ID': 'run',
    }
    const send = (more: Record<string, string>) =>
      fetch(`${listener.url}${path}`, { method, headers: { ...headers, ...more }, ...(body && { body }) })
    await expect(send({ 'X-Sandbox-Fault': 'reset' })).rejects.toThrow('fetch failed')
    await expect(send({ 'X-Sandbox-Fault': 'effect_then_lost' })).rejects.toThrow('fetch failed')
    const repeat = await send({})
    expect(repeat.status).toBe(200)
    expect(repeat.headers.get('x-idempotency-replayed')).toBe(method === 'POST' ? 'true' : null)
  })
})
