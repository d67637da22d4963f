import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationKey } from '../../tools/index.ts'
import { databases } from '../support/databases.ts'
import { RandomRun } from './run.ts'

/**
 * The number of random calls on each database. By default, `npm run random-calls` makes 20,000 calls. RANDOM_CALLS sets
 * the number, and RANDOM_SEED sets the seed. The same seed makes the same calls.
 */
const count = Number(process.env.RANDOM_CALLS ?? 1_000)
const seed = process.env.RANDOM_SEED ?? 'random calls'

/** Operations that cannot succeed in this test, each with the reason. */
const cannotSucceed: Partial<Record<OperationKey, string>> = {}

describe.each(databases)('random calls on $name', (database) => {
  let run: RandomRun
  beforeAll(async () => {
    run = await RandomRun.begin(database, `${seed} ${database.name}`)
  })
  afterAll(() => run.end())

  test('the books stay correct, answers fit /openapi.json, and every operation succeeds at least once', async () => {
    await run.make(count)
    await run.callUnsuccessful()
    console.info(`${count} random calls on ${database.name}, seed “${seed}”: ${run.table()}`)
    expect(run.unsuccessful().toSorted()).toEqual(Object.keys(cannotSucceed).toSorted())
  }, 7_200_000)
})
