import { expect, it } from 'vitest'
import { openInProcess } from '../../src/commands/simulate-in-process.ts'
import { realSystem } from '../../src/core/system.ts'

const settings = {
  PAYMENTS_DATABASE_URL: 'sqlite::memory:',
  PAYMENTS_TOOLSETS: 'default,sandbox',
  PAYMENTS_LOG_LEVEL: 'error',
  PAYMENTS_REPEAT_WINDOW: '0',
}

/**
 * Makes purchases that succeed only when retried. Returns how much farther than the real clock the sandbox clock
 * advanced meanwhile, in ms.
 */
async function measureClockAdvance({ isolated, purchases }: { isolated: boolean; purchases: number }): Promise<number> {
  const world = await openInProcess(settings, { isolated })
  const caller = await world.connect(1)
  const callTool = async (tool: string, input = {}) => {
    const { isError, content } = await caller.call(tool, input)
    expect({ tool, isError }).toEqual({ tool, isError: false })
    return (content as { data: { id: string; attributes: { now?: string; status?: string } } }).data
  }
  const clock = async () => Date.parse((await callTool('get_sandbox_clock')).attributes.now ?? '')
  try {
    const [beganAtMs, clockAtMs] = [realSystem.now(), await clock()]
    for (let number = 0; number < purchases; number++) {
      const money = { currency: 'USD', merchant: { name: 'Sandbox Unresolved' } }
      const card = await callTool('issue_agent_card', { ...money, maximumAmount: 500 })
      const purchase = await callTool('simulate_card_authorization', { ...money, cardId: card.id, amount: 400 })
      expect(purchase.attributes.status).toBe('authorized')
    }
    return (await clock()) - clockAtMs - (realSystem.now() - beganAtMs)
  } finally {
    await caller.close()
    await world.close()
  }
}

it('a simulation on its own sandbox does not wait for retries, but advances the sandbox clock to the time of each retry', async () => {
  // Each retry comes one second later on the sandbox clock, but far less than a second later in real time.
  expect(await measureClockAdvance({ isolated: true, purchases: 6 })).toBeGreaterThan(3_000)
})

it('a simulation on a sandbox that others may use really waits for retries, and does not advance the clock', async () => {
  expect(await measureClockAdvance({ isolated: false, purchases: 1 })).toBeLessThan(500)
})

it('agents with MCP 2025 and MCP 2026 share a sandbox, and one can go on after the other disconnects', async () => {
  const world = await openInProcess(settings, { isolated: true })
  const [first, second] = [await world.connect(1), await world.connect(2)]
  try {
    const input = { merchant: { name: 'Books' }, currency: 'USD', maximumAmount: 500 }
    const issued = await first.call('issue_agent_card', input)
    const { data } = issued.content as { data: { id: string } }
    const read = await second.call('get_agent_card', { cardId: data.id })
    expect(read.isError).toBe(false)
    await first.close()
    expect((await second.call('get_agent_card', { cardId: data.id })).isError).toBe(false)
  } finally {
    await second.close()
    await world.close()
  }
})
