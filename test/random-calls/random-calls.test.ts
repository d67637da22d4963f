import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationKey } from '../../tools/index.ts'
import { databases } from '../support/databases.ts'
import { RandomRun } from './run.ts'

/**
 * Calls all operations at random: `npm run random-calls` makes 20,000 calls on each database. RANDOM_CALLS sets the
 * number, RANDOM_SEED the seed; the same seed makes the same calls.
 */
const count = Number(process.env.RANDOM_CALLS ?? 1_000)
const seed = process.env.RANDOM_SEED ?? 'random calls'

/** Operations that cannot succeed here, each with the reason. */
const unable: Partial<Record<OperationKey, string>> = {}

describe.each(databases)('random calls on $name', (database) => {
  let run: RandomRun
  beforeAll(async () => {
    run = await RandomRun.begin(database, `${seed} ${database.name}`)
  })
  afterAll(() => run.end())

  test('leave the books correct, get only described answers, and succeed at least once for each operation', async () => {
    await run.make(count)
    await run.callUnsuccessful()
    console.info(`${count} random calls on ${database.name}, seed “${seed}”: ${run.table()}`)
    expect(run.unsuccessful().toSorted()).toEqual(Object.keys(unable).toSorted())
  }, 7_200_000)
})
