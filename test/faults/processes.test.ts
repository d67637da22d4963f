import { afterAll, beforeAll, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { anotherProcess, createWorld, type World } from '../support/world.ts'
import { counts, outcome, setFault } from './rules.ts'

onEachDatabase('fault rules in two processes', (database) => {
  let world: World
  let other: World
  beforeAll(async () => {
    world = await createWorld(database)
    other = await anotherProcess(world, world.system)
  })
  afterAll(async () => {
    await other.drop()
    await world.drop()
  })

  test('two processes count each request once, and apply rules exactly as often as specified', async () => {
    await setFault(world, { id: 'each-fifth', operation: 'whoami', when: { every: 5, times: 4 }, fault: 'reset' })
    await setFault(world, { id: 'seventh', operation: 'whoami', when: { nth: 7 }, fault: 'error', code: 'conflict' })
    const outcomes = Array.from({ length: 40 }, (_, index) => outcome((index % 2 === 0 ? world : other).get('/whoami')))
    const answers = await Promise.all(outcomes)
    expect(await counts(world)).toEqual({ 'each-fifth': [40, 4], seventh: [40, 1] })
    expect(await counts(other)).toEqual(await counts(world))
    const count = (expected: string) => answers.filter((one) => one === expected).length
    expect([count('cut'), count('409 conflict'), count('200 one')]).toEqual([4, 1, 35])
  })

  test('if one process sets or clears rules, this affects the very next request to the other process', async () => {
    await setFault(world, { id: 'all', operation: 'list_wallets', fault: 'reset' })
    expect(await outcome(other.get('/wallets'))).toBe('cut')
    await other.send('DELETE', '/simulations/faults', { key: other.apiKey })
    expect(await outcome(world.get('/wallets'))).toBe('200 1')
  })
})
