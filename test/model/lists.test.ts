import fc from 'fast-check'
import { afterAll, beforeAll, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { createWorld, type World } from '../support/world.ts'
import { anyAction } from './actions.ts'
import { compareByPage, compareList, compareMoney } from './compare.ts'
import { listsOf } from './lists.ts'
import { passTo, perform, start } from './run.ts'
import type { Side } from './state.ts'

onEachDatabase('the lists of the service and of the model', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  test('after random actions, each list equals the model’s list, for every filter and page size', async () => {
    // One party performs most of the actions, so that its lists grow long.
    const side = fc.constantFrom<Side[]>(0, 0, 0, 0, 0, 0, 0, 1)
    const actions = fc.array(fc.tuple(side, anyAction), { minLength: 30, maxLength: 50, size: 'max' })
    const limits = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 8, maxLength: 8 })
    const property = fc.asyncProperty(actions, limits, async (all, pageSizes) => {
      const state = await start(world, 100_000, { perTransaction: 500 })
      const [self] = state.parties
      for (const [side, action] of all) await perform(world, state, side, action)
      world.system.pass(1)
      passTo(state, world.system.now())
      for (const list of listsOf(self, state)) {
        await compareList(world, self, list)
        await compareByPage(world, self, list, pageSizes)
      }
      await compareMoney(world, state)
    })
    await fc.assert(property, { numRuns: isDeep ? 20 : database === sqlite ? 2 : 1 })
  })
})
