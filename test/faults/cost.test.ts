import { StatementSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { clearFaults, setFault } from './rules.ts'

let world: World
beforeAll(async () => {
  world = await createWorld(sqlite, { keepsRuns: false })
})
afterAll(() => world.drop())

/** Returns the number of SQL statements that a request runs, and those among them that use the fault tables. */
async function statementsOf(request: () => Promise<unknown>): Promise<{ count: number; onFaultTables: string[] }> {
  const statements: string[] = []
  const { all, run, get } = StatementSync.prototype
  const recording = <F extends (...args: never[]) => unknown>(call: F) =>
    function (this: StatementSync, ...args: never[]) {
      statements.push(this.sourceSQL)
      return Reflect.apply(call, this, args)
    } as unknown as F
  Object.assign(StatementSync.prototype, { all: recording(all), run: recording(run), get: recording(get) })
  try {
    await request()
  } finally {
    Object.assign(StatementSync.prototype, { all, run, get })
  }
  return { count: statements.length, onFaultTables: statements.filter((sql) => /"faults"|"earlierStates"/.test(sql)) }
}

test('without fault rules, a request runs no SQL statement on the fault tables', async () => {
  const read = () => world.get('/whoami')
  const command = () => world.issueCard()
  await read()
  await command()
  const before = [await statementsOf(read), await statementsOf(command)]
  for (const { count, onFaultTables } of before) {
    expect(count).toBeGreaterThan(1)
    expect(onFaultTables).toEqual([])
  }
  await setFault(world, { id: 'nobody', operation: '*', fault: 'stale', when: { instanceId: 'nobody' } })
  expect((await statementsOf(read)).onFaultTables).not.toEqual([])
  expect((await statementsOf(command)).onFaultTables).not.toEqual([])
  await clearFaults(world)
  expect([await statementsOf(read), await statementsOf(command)]).toEqual(before)
})
