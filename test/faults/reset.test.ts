import { expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'
import { counts, outcome, setFault } from './rules.ts'

onEachDatabase('fault rules after a reset', (database) => {
  test('a reset clears rules set by requests, and sets the counts of rules from a file to zero', async () => {
    const world = await createWorld(database)
    await world.service.faults.load([{ id: 'of-file', operation: 'whoami', fault: 'reset', when: { times: 1 } }])
    await setFault(world, { id: 'set', operation: '*', fault: 'stale' })
    await setFault(world, { id: 'all', operation: 'list_wallets', fault: 'reset' })
    await world.issueCard()
    expect(await outcome(world.get('/whoami'))).toBe('cut')
    expect(await counts(world)).toEqual({ 'of-file': [1, 1], set: [1, 0], all: [0, 0] })
    expect((await world.send('POST', '/simulations/reset', { key: world.apiKey })).status).toBe(200)
    expect(await counts(world)).toEqual({ 'of-file': [0, 0] })
    const earlierStates = await world.store.read(({ db }) => db.selectFrom('earlierStates').select('partyId').execute())
    expect(earlierStates).toEqual([])
    expect(await outcome(world.get('/wallets'))).toBe('200 1')
    expect(await outcome(world.get('/whoami'))).toBe('cut')
    expect(await outcome(world.get('/whoami'))).toBe('200 one')
    await world.drop()
  })
})
