import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordedResult } from '../../src/mcp/tools/recorded-result.ts'
import { connectHost, instanceId } from '../mcp/connected.ts'
import { hosts } from '../mcp/hosts.ts'
import { decoded } from '../pages/decoded.ts'
import type { Visitor } from '../pages/oauth-site.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type ConsoleSite, createConsoleSite } from './console-site.ts'

onEachDatabase('the section "What the model saw" of an entry', (database) => {
  let site: ConsoleSite
  let owner: Visitor
  beforeAll(async () => {
    site = await createConsoleSite(database, { toolResultOf: recordedResult })
    owner = await site.visitor()
  })
  afterAll(() => site.world.drop())

  const card = { merchant: { name: 'Books' }, maximumAmount: 700, currency: 'USD' }
  const unknownCardId = `pcd_${'0'.repeat(32)}`
  const calls: readonly [tool: string, args: Record<string, unknown>][] = [
    ['issue_agent_card', card],
    ['list_wallets', {}],
    ['list_agent_cards', {}],
    ['get_agent_card', { cardId: unknownCardId }],
    [
      'create_payment',
      { amount: 90_000_000, counterparty: { type: 'email', value: 'a@example.com' }, description: 'Rent' },
    ],
  ]

  test('an entry shows the text, the structured content and the next step of a tool result as the host received them', async () => {
    const [{ open }] = hosts
    const { host, close } = await connectHost(site.world, open)
    let compared = 0
    for (const [name, args] of calls) {
      const before = (await site.entries(instanceId)).length
      const result = await host.callTool(name, args)
      const entry = (await site.entries(instanceId))[before]
      if (entry === undefined) throw new Error(`The call of ${name} has no entry.`)
      const { text } = await owner.open(site.entryPath(entry))
      const [, section = ''] = /<section aria-label="What the model saw">([\s\S]*?)<\/section>/.exec(text) ?? []
      const parts = [...section.matchAll(/<pre [^>]*><code>([\s\S]*?)<\/code><\/pre>/g)].map(([, part = '']) =>
        decoded(part.replace(/<[^>]*>/g, '')),
      )
      const [first] = result.content
      expect([name, parts[0]]).toEqual([name, first?.text])
      if (result.isError === true) {
        const { error } = JSON.parse(String(first?.text.split('\n').at(-1))) as { error: { next: string } }
        expect(decoded(section)).toContain(`Next step:</strong> <bdi>${error.next}</bdi>`)
      } else expect([name, JSON.parse(String(parts[1]))]).toEqual([name, result.structuredContent])
      compared++
    }
    await close()
    expect(compared).toBe(calls.length)
  })

  test('the page of a REST call has no section “What the model saw”, and a tool result with a card number is shown as unknown', async () => {
    const cardId = await site.world.issueCard({}, { instanceId: 'over REST' })
    const [{ open }] = hosts
    const { host, close } = await connectHost(site.world, open, { cardDetails: 'reveal' })
    const before = (await site.entries(instanceId)).length
    await host.callTool('get_agent_card_details', { cardId })
    await close()
    const [issued] = await site.entries('over REST')
    const details = (await site.entries(instanceId))
      .slice(before)
      .find(({ operation }) => operation === 'get_agent_card_details')
    if (issued === undefined || details === undefined) throw new Error('An entry is missing.')
    expect((await owner.open(site.entryPath(issued))).text).not.toContain('What the model saw')
    expect((await owner.open(site.entryPath(details))).text).toContain('Unknown: the recorded answer was cut off')
  })
})
