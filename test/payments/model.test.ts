import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { type Action, moneyAction } from '../model/actions.ts'
import { compareMoney } from '../model/compare.ts'
import { perform, start } from '../model/run.ts'
import type { Side } from '../model/state.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { createWorld, type World } from '../support/world.ts'
import { ok, payer } from './payer.ts'

const funds = 1000
const limits = { perTransaction: 100, perDay: 250, perMonth: 600 }

/** Payments that first reach the daily limit exactly, and then exceed it by one cent. */
const pastDailyLimit = [100, 100, 50, 1].map((amount): [Side, Action] => {
  return [0, { type: 'pay', by: 'agent', amount, to: 'partner' }]
})

onEachDatabase('money', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  test('balances and records agree with an independent model after any sequence of actions', async () => {
    const steps = fc.array(fc.tuple(fc.constantFrom<Side[]>(0, 1), moneyAction), { minLength: 20, maxLength: 30 })
    const property = fc.asyncProperty(steps, async (drawnSteps) => {
      const state = await start(world, funds, limits)
      for (const [side, action] of drawnSteps) await perform(world, state, side, action)
      await compareMoney(world, state)
      await proveBooks(world.store)
    })
    await fc.assert(property, { numRuns: isDeep ? 30 : database === sqlite ? 3 : 2, examples: [[pastDailyLimit]] })
  })

  test('no money is created or lost when parties pay each other simultaneously', async () => {
    const { parties } = await start(world, funds, limits)
    const [left, right] = parties
    const self = payer(world)
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => {
        const [sender, recipient] = index % 2 === 0 ? [left, right] : [right, left]
        return self.pay(1, { type: 'party_id', value: recipient.partyId }, {}, { key: sender.agentKey })
      }),
    )
    for (const answer of answers) expect(ok(answer).json.data.attributes.status).toBe('COMPLETED')
    for (const { apiKey: key } of parties) expect(await self.balance({ key })).toMatchObject({ available: funds })
    await proveBooks(world.store)
  })
})
