import { expect, test } from 'vitest'
import { BodyBudget } from '../../src/core/body-budget.ts'

const bounds = { each: 1_000_000, lookedUp: 200_000, strangers: 2_000_000, all: 4_000_000 }

/** Returns a budget in which the credential `known`, of the key `key_1`, has used up its share. */
function createUsedBudget() {
  const budget = new BodyBudget(bounds)
  const address = '127.0.0.1'
  const parts = async function* () {}
  const arrive = (credential: string, announced: number) => budget.arrive({ address, announced, credential, parts })
  const body = arrive('known', 990_000).byKey('key_1')
  body.add(990_000)
  return { arrive, body }
}

test('a credential that has used up its share is refused without being looked up', () => {
  const { arrive, body } = createUsedBudget()
  for (let count = 0; count < 10; count++) {
    expect(() => arrive('known', 500_000)).toThrow(
      '1000000 bytes of request bodies from this credential are already arriving',
    )
  }
  expect(() => arrive('other', 500_000)).not.toThrow()
  body.end()
  expect(() => arrive('known', 500_000)).not.toThrow()
})

test('while credentials are looked up, each takes at most half of the budget, and all together no more than the budget', () => {
  const { arrive } = createUsedBudget()
  const first = arrive('one', 500_000)
  expect(() => arrive('one', 500_000)).toThrow(
    '100000 bytes of request bodies from this credential are already arriving',
  )
  arrive('two', 500_000)
  arrive('three', 500_000)
  expect(() => arrive('four', 500_000)).toThrow('The service is reading as many request bodies as it can')
  first.end()
  expect(() => arrive('four', 500_000)).not.toThrow()
})

test("small bodies, and bodies longer than any share, are left to the entry point's limit", () => {
  const { arrive } = createUsedBudget()
  expect(() => arrive('known', 32_000)).not.toThrow()
  const { arrive: again } = createUsedBudget()
  expect(() => again('another', 5_000_000)).not.toThrow()
})

test('another credential of the same key has the same share', () => {
  const { arrive } = createUsedBudget()
  const second = arrive('second', 500_000)
  expect(() => second.byKey('key_1').add(500_000)).toThrow('from this credential are already arriving')
  expect(() => arrive('second', 500_000)).toThrow('from this credential are already arriving')
})
