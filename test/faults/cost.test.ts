import { DatabaseSync, StatementSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { clearFaults, setFault } from './rules.ts'

let world: World
beforeAll(async () => {
  world = await createWorld(sqlite, { keepsRuns: false })
})
afterAll(() => world.drop())

/** Returns the number of SQL statements that a request runs, and the statements that name fault tables. */
async function statementsOf(request: () => Promise<unknown>): Promise<{ count: number; ofFaults: string[] }> {
  const texts: string[] = []
  const prototypes = [StatementSync.prototype, StatementSync.prototype, StatementSync.prototype] as const
  const { all, run, get } = prototypes[0]
  const recording = <F extends (...args: never[]) => unknown>(call: F) =>
    function (this: StatementSync, ...args: never[]) {
      texts.push(this.sourceSQL)
      return Reflect.apply(call, this, args)
    } as unknown as F
  Object.assign(StatementSync.prototype, { all: recording(all), run: recording(run), get: recording(get) })
  try {
    await request()
  } finally {
    Object.assign(StatementSync.prototype, { all, run, get })
  }
  return { count: texts.length, ofFaults: texts.filter((text) => /"faults"|"earlierStates"/.test(text)) }
}

test('without rules, no statement reads the fault tables', async () => {
  expect(DatabaseSync).toBeDefined()
  const read = () => world.get('/whoami')
  const command = () => world.issueCard()
  await read()
  await command()
  const before = [await statementsOf(read), await statementsOf(command)]
  for (const { count, ofFaults } of before) {
    expect(count).toBeGreaterThan(1)
    expect(ofFaults).toEqual([])
  }
  await setFault(world, { id: 'nobody', operation: '*', fault: 'stale', when: { instanceId: 'nobody' } })
  expect((await statementsOf(read)).ofFaults).not.toEqual([])
  expect((await statementsOf(command)).ofFaults).not.toEqual([])
  await clearFaults(world)
  expect([await statementsOf(read), await statementsOf(command)]).toEqual(before)
})
