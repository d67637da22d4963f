import { afterEach, beforeEach, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { imbalances, tablesOf } from './rows.ts'

onEachDatabase('snapshots of the sandbox', (database) => {
  let world: World

  beforeEach(async () => {
    world = await createWorld(database)
  })

  afterEach(() => world.drop())

  const reset = (sent = {}) => world.send('POST', '/simulations/reset', { key: world.apiKey, ...sent })
  const save = (name: string) => world.post('/simulations/snapshots', { name })
  const restore = (name: string) => world.send('POST', `/simulations/snapshots/${name}/restore`)

  test('a reset puts every row of the world back, and is the first that is listed in it', async () => {
    const before = await tablesOf(world.store)
    await world.authorize(await world.issueCard(), 1250)
    await world.post('/simulations/clock/advance', { seconds: 86_400 })
    const answer = await reset()
    expect([answer.status, answer.json.data]).toEqual([
      200,
      {
        type: 'sandbox',
        id: 'sandbox',
        attributes: { now: new Date(world.system.now()).toISOString(), snapshot: null },
      },
    ])
    expect(await tablesOf(world.store)).toEqual(before)
    const activity = await world.get('/activity', { key: world.apiKey })
    expect(activity.json.data.map(({ attributes }: never) => (attributes as { operation: string }).operation)).toEqual([
      'reset_sandbox',
    ])
    expect(await imbalances(world.store)).toEqual([])
  })

  test('what was saved is restored, with the time that it was then', async () => {
    const cardId = await world.issueCard()
    await world.post('/simulations/clock/advance', { seconds: 60 })
    const before = await tablesOf(world.store)
    const saved = await save('a card')
    expect(saved.json.errors[0].source).toEqual({ pointer: '/data/attributes/name' })
    const kept = await save('a-card')
    expect(kept.json.data).toMatchObject({ type: 'sandboxSnapshot', attributes: { name: 'a-card' } })
    await world.authorize(cardId, 1250)
    await world.post('/simulations/clock/advance', { seconds: 86_400 * 30 })
    const answer = await restore('a-card')
    expect(answer.json.data.attributes).toEqual({ now: kept.json.data.attributes.now, snapshot: 'a-card' })
    expect(await tablesOf(world.store)).toEqual(before)
    expect((await world.get(`/agent-cards/${cardId}`)).json.data.attributes.status).toBe('active')
  })
})
