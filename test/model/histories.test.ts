import fc from 'fast-check'
import { afterAll, beforeAll, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { createWorld, type World } from '../support/world.ts'
import { histories } from './actions.ts'
import { compareMoney } from './compare.ts'
import { perform, start } from './run.ts'
import type { Side } from './state.ts'

const limits = { perTransaction: 500, perDay: 2000, perMonth: 5000 }

onEachDatabase('the service and its model', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  test.each(Object.entries(histories))('random histories of %s match the model', async (_, { first, action }) => {
    const steps = fc.array(fc.tuple(fc.constantFrom<Side[]>(0, 0, 1), action), { minLength: 25, maxLength: 40 })
    const property = fc.asyncProperty(steps, async (all) => {
      const state = await start(world, 3000, limits)
      for (const one of first) await perform(world, state, 0, one)
      for (const [side, one] of all) await perform(world, state, side, one)
      await compareMoney(world, state)
      await proveBooks(world.store)
    })
    await fc.assert(property, { numRuns: isDeep ? 40 : database === sqlite ? 2 : 1 })
  })
})
