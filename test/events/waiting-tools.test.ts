import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectHost } from '../mcp/connected.ts'
import { hosts } from '../mcp/hosts.ts'
import { ok } from '../payments/payer.ts'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { type SleepingSystem, sleepingSystem } from './clock.ts'

describe.each(hosts)('a tool call that waits, from $host', ({ open }) => {
  let world: World
  let system: SleepingSystem

  beforeAll(async () => {
    system = sleepingSystem()
    world = await createWorld(sqlite, { system })
  })
  afterAll(async () => {
    await world.service.waits.close()
    await world.drop()
  })

  test('a call that waits reports progress every ten seconds, and returns when the status changes', async () => {
    const { host, close } = await connectHost(world, open, { system })
    const cardId = await world.issueCard()
    const notifications: string[] = []
    const reports = [20, 10].map((seconds) => ({ seconds, ...Promise.withResolvers<void>() }))
    const onprogress = ({ message = '' }: { message?: string | undefined }) => {
      notifications.push(message)
      for (const { seconds, resolve } of reports) if (message.endsWith(`after ${seconds} s`)) resolve()
    }
    const call = host.callTool('get_agent_card', { cardId, waitSeconds: '40' }, { onprogress })
    for (const { promise } of reports.toReversed()) {
      await system.sleepers(2)
      system.pass(10_000)
      await promise
    }
    ok(await world.authorize(cardId, 10))
    expect(JSON.stringify(await call)).toContain('used')
    const waiting = ['still waiting for a change after 10 s', 'still waiting for a change after 20 s']
    expect(notifications).toEqual(['asking the payments API', ...waiting])
    await close()
  })

  test('a retry after a 503 answer waits only for the rest of the requested time', async () => {
    const waits: (string | null)[] = []
    const { host, close } = await connectHost(world, open, {
      system,
      between: async (request) => {
        waits.push(new URL(request.url).searchParams.get('waitSeconds'))
        if (waits.length > 1) return undefined
        system.pass(30_000)
        return new Response('', { status: 503 })
      },
    })
    const cardId = await world.issueCard()
    const call = host.callTool('get_agent_card', { cardId, waitSeconds: 50 })
    await system.sleepers(1)
    system.pass(20_000)
    expect(JSON.stringify(await call)).toContain('active')
    expect(waits).toEqual(['50', '20'])
    await close()
  })
})
