import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sqlite } from '../support/databases.ts'
import { createWorld } from '../support/world.ts'
import { connectHost } from './connected.ts'
import { hosts } from './hosts.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const [, example = ''] = /^```text\n([\s\S]*?)^```/m.exec(readme) ?? []
const cents = (text = '') => Math.round(Number(/\d+\.\d\d/.exec(text)?.[0]) * 100)
/** The tool calls in the README's example. The description of a call contains an amount or is the card number. */
const calls = [...example.matchAll(/^[ \w]{9}(\w+_\w+) +(.*?) {2,}/gm)].map(([, tool = '', description]) => ({
  tool,
  description,
}))
/** The wallet's available and total balances in the example: before the first change, and after each change. */
const balances = [...example.matchAll(/^ {9}[a-z ]+? +(\d+\.\d\d) +(\d+\.\d\d)/gm)].map(([, available, total]) => ({
  available: cents(available),
  total: cents(total),
}))

test('the example purchase in README.md works, with the balances shown there', async () => {
  const [{ open }] = hosts
  const world = await createWorld(sqlite)
  const { host, close } = await connectHost(world, open)
  const call = async (name: string, input: object) => {
    const { structuredContent } = await host.callTool(name, input)
    return (structuredContent as { data: { id: string; attributes: { status?: string } } }).data
  }
  const balance = async () => (await world.get('/wallets')).json.data[0].attributes.balance
  const seen = [await balance()]
  const merchant = { name: 'Example Store' }
  let [cardId, cardTransactionId] = ['', '']
  for (const { tool, description } of calls) {
    const amount = { amount: cents(description), currency: 'USD' }
    if (tool === 'issue_agent_card') {
      cardId = (await call(tool, { merchant, maximumAmount: cents(description), currency: 'USD' })).id
    } else if (tool === 'get_agent_card_details') {
      expect((await call(tool, { cardId })).attributes).toMatchObject({ number: description?.replaceAll(' ', '') })
    } else if (tool === 'simulate_card_authorization') {
      cardTransactionId = (await call(tool, { cardId, ...amount, merchant })).id
    } else await call(tool, { cardTransactionId, ...amount })
    seen.push(await balance())
  }
  expect(calls.map(({ tool }) => tool)).toContain('simulate_card_refund')
  const moved = seen.filter(({ available, total }, index) => {
    const before = seen[index - 1]
    return available !== before?.available || total !== before?.total
  })
  expect(moved).toMatchObject(balances)
  await close()
  await world.drop()
})
