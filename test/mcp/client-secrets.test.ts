import { afterAll, beforeAll, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { connectHost } from './connected.ts'
import { hosts } from './hosts.ts'

const monthly = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 2000, taxAmount: 0 }

onEachDatabase('client secrets over MCP', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  test.each(hosts)('$host never gets the client secret of a subscription', async ({ open }) => {
    const { host, close } = await connectHost(world, open)
    const subscription = await host.callTool('create_subscription', monthly)
    const { id } = (subscription.structuredContent as { data: { id: string } }).data
    const { checkoutUrl, clientSecret } = (await world.get(`/subscriptions/${id}`)).json.data.attributes
    expect(clientSecret).toContain('_secret_')
    const texts = [
      subscription,
      await host.callTool('get_subscription', { subscriptionId: id }),
      await host.callTool('list_subscriptions', {}),
      await host.requests.readResource({ uri: `payments://subscriptions/${id}` }),
    ]
    for (const answer of texts) expect(JSON.stringify(answer)).toContain(checkoutUrl)
    const paid = await host.callTool('simulate_subscription_checkout', { subscriptionId: id, card: 'declines' })
    const canceled = await host.callTool('cancel_subscription', { subscriptionId: id })
    for (const answer of [...texts, paid, canceled]) {
      expect(JSON.stringify(answer)).not.toMatch(/_secret_|clientSecret/)
    }
    await close()
  })
})
