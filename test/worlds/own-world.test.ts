import { expect, it } from 'vitest'
import { delegable, scopes } from '../../src/core/permissions.ts'
import { proveBooks } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'

onEachDatabase("the package's own world", (database) => {
  it("the package's own world has an organization with an agent, money and a connected customer", async () => {
    const world = await createWorld(database)
    const { wallets, entries } = await proveBooks(world.store)
    expect(wallets.map(({ displayName, availableCents }) => [displayName, availableCents])).toEqual(
      expect.arrayContaining([
        ['Main wallet', 250_000],
        ['Main wallet', 100_000],
      ]),
    )
    expect(entries).toHaveLength(4)
    const { get, apiKey: key } = world
    const attributes = async (path: string) =>
      ((await get(path, { key })).json.data as { attributes: object }[]).map((one) => one.attributes)
    expect(await attributes('/agents')).toMatchObject([
      { name: 'Sandbox shopper', description: 'Buys things with single-purchase cards.', handle: null, limits: null },
    ])
    expect(await attributes('/api-keys')).toMatchObject([{ name: 'Sandbox API key', scopes, createdBy: null }])
    expect(await attributes('/agent-keys')).toMatchObject([{ status: 'ACTIVE', tags: {}, expiresAt: null }])
    expect(await attributes('/customers')).toMatchObject([
      {
        name: 'Sandbox Customer',
        email: 'customer@sandbox.example',
        delegation: { status: 'ACTIVE', permissions: delegable },
        agents: [{ name: 'Sandbox shopper', limits: null }],
      },
    ])
    expect(await world.service.seedPassword('a password of mine')).toMatchObject({ email: 'owner@sandbox.example' })
    await world.drop()
  })

  it('a database that was seeded before worlds were recorded can still be used', async () => {
    const world = await createWorld(database)
    await world.store.transaction(async ({ db }) => void (await db.deleteFrom('world').execute()))
    expect(await world.service.seed({ apiKey: undefined, agentKey: undefined })).toMatchObject({ isFirst: false })
    expect((await world.get('/whoami')).status).toBe(200)
    await world.drop()
  })
})
