import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type FaultKind, faultKinds } from '../../src/core/faults.ts'
import type { FaultRule } from '../../tools/sandbox-faults.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { clearFaults, counts, outcome, setFault } from './rules.ts'

/**
 * For each fault, the outcomes of a command, of a read of one record and of a list, and whether the command is carried
 * out.
 */
const expectedOutcomes: Record<FaultKind, { command: string; one: string; list: string; done: boolean }> = {
  error: { command: '429 rate_limited', one: '429 rate_limited', list: '429 rate_limited', done: false },
  slow: { command: '200 one', one: '200 one', list: '200 1', done: true },
  hang: { command: 'cut', one: 'cut', list: 'cut', done: false },
  reset: { command: 'cut', one: 'cut', list: 'cut', done: false },
  effect_then_lost: { command: 'cut', one: 'cut', list: 'cut', done: true },
  effect_then_503: {
    ...{ command: '503 service_unavailable', one: '503 service_unavailable', list: '503 service_unavailable' },
    done: true,
  },
  stale: { command: '200 one', one: '200 one', list: '200 1', done: true },
  empty_page: { command: '200 one', one: '200 one', list: '200 0', done: true },
}

const extra: Partial<Record<FaultKind, Partial<FaultRule>>> = { error: { code: 'rate_limited' } }

onEachDatabase('each fault', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterEach(() => clearFaults(world))
  afterAll(() => world.drop())

  test.each(faultKinds)(
    'the fault "%s" causes the expected answers, and repeating a command is safe',
    async (fault) => {
      const expected = expectedOutcomes[fault]
      const card = await world.issueCard()
      await setFault(world, { id: 'all', path: '/**', fault, ...extra[fault] })
      const key = { idempotencyKey: `the command with ${fault}` }
      const authorize = () =>
        world.post(
          `/simulations/agent-cards/${card}/authorize`,
          { amount: 100, currency: 'USD', merchant: { name: 'Books' } },
          key,
        )
      expect(await outcome(authorize())).toBe(expected.command)
      expect(await outcome(world.get(`/agent-cards/${card}`))).toBe(expected.one)
      expect(await outcome(world.get('/wallets'))).toBe(expected.list)
      await clearFaults(world)
      const purchases = async () => (await world.get(`/card-transactions?cardId=${card}`)).json.data as { id: string }[]
      expect(await purchases()).toHaveLength(expected.done ? 1 : 0)
      // The repeat has the same idempotency key. It carries out the command only if the first request did not.
      const repeat = await authorize()
      expect(repeat.status).toBe(200)
      expect(repeat.headers.get('x-idempotency-replayed')).toBe(expected.done ? 'true' : null)
      expect((await purchases()).map(({ id }) => id)).toEqual([repeat.json.data.id])
    },
  )

  test('errors with the codes rate_limited and service_unavailable say when to retry', async () => {
    await setFault(world, { id: 'limit', operation: 'whoami', fault: 'error', code: 'rate_limited', when: { nth: 1 } })
    await setFault(world, { id: 'down', operation: 'whoami', fault: 'error', code: 'service_unavailable' })
    const limited = await world.get('/whoami')
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '1'])
    const down = await world.get('/whoami')
    expect([down.status, down.headers.get('retry-after'), down.json.errors[0].meta.retryable]).toEqual([503, '1', true])
    expect(await counts(world)).toEqual({ limit: [2, 1], down: [2, 1] })
  })

  test('the faults "slow" and "hang" last as long as the rule specifies', async () => {
    const { slept } = world.system
    await setFault(world, { id: 'slow', operation: 'whoami', fault: 'slow', afterMs: 700, when: { nth: 1 } })
    await setFault(world, { id: 'hang', operation: 'whoami', fault: 'hang', afterMs: 3000 })
    const before = slept.length
    expect(await outcome(world.get('/whoami'))).toBe('200 one')
    expect(await outcome(world.get('/whoami'))).toBe('cut')
    expect(slept.slice(before)).toEqual([700, 3000])
  })
})
