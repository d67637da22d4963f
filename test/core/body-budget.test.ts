import { expect, test } from 'vitest'
import { BodyBudget } from '../../src/core/body-budget.ts'

const bounds = { each: 1_000_000, lookedUp: 200_000, unknownSenders: 2_000_000, all: 4_000_000 }

/**
 * Creates a budget, and a body of 990,000 bytes that has arrived with the credential `known`, which belongs to the key
 * `key_1`.
 */
function createUsedBudget() {
  const budget = new BodyBudget(bounds)
  const address = '127.0.0.1'
  const parts = async function* () {}
  const arrive = (credential: string, announced: number) => budget.arrive({ address, announced, credential, parts })
  const body = arrive('known', 990_000).byKey('key_1')
  body.add(990_000)
  return { arrive, body }
}

test('a body that exceeds the rest of its credential’s share is refused before the credential is looked up', () => {
  const { arrive, body } = createUsedBudget()
  for (let count = 0; count < 10; count++) {
    expect(() => arrive('known', 500_000)).toThrow(
      '1000000 bytes of request bodies from this credential may arrive at the same time',
    )
  }
  expect(() => arrive('other', 500_000)).not.toThrow()
  body.end()
  expect(() => arrive('known', 500_000)).not.toThrow()
})

test('bodies whose credentials are being looked up share one budget, and a single credential may use half of it', () => {
  const { arrive } = createUsedBudget()
  const first = arrive('one', 500_000)
  expect(() => arrive('one', 500_000)).toThrow(
    '100000 bytes of request bodies from this credential may arrive at the same time',
  )
  arrive('two', 500_000)
  arrive('three', 500_000)
  expect(() => arrive('four', 500_000)).toThrow('The service is reading as many request bodies as it can')
  first.end()
  expect(() => arrive('four', 500_000)).not.toThrow()
})

test('a small body is admitted even if the share of its credential is used up; a body longer than any share is admitted too', () => {
  const { arrive } = createUsedBudget()
  expect(() => arrive('known', 32_000)).not.toThrow()
  const { arrive: again } = createUsedBudget()
  expect(() => again('another', 5_000_000)).not.toThrow()
})

test('all credentials of one key use one common share', () => {
  const { arrive } = createUsedBudget()
  const second = arrive('second', 500_000)
  expect(() => second.byKey('key_1').add(500_000)).toThrow('from this credential may arrive at the same time')
  expect(() => arrive('second', 500_000)).toThrow('from this credential may arrive at the same time')
})
