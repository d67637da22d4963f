import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { StdioClientTransport as EarlierStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterEach, describe, expect, test } from 'vitest'
import { sampleOf } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'
import { no, person, yes } from './connected.ts'
import { type Host, hosts, type Person } from './hosts.ts'

const cli = await runResource('cli')

const opened: Host[] = []
afterEach(async () => {
  for (const host of opened.splice(0)) await host.close()
})

async function startProcess({ sdk, open }: (typeof hosts)[number], user: Person, settings: object): Promise<Host> {
  const env = {
    PAYMENTS_DATABASE_URL: 'sqlite::memory:',
    PAYMENTS_LOG_LEVEL: 'error',
    NODE_NO_WARNINGS: '1',
    ...settings,
  }
  const parameters = { command: process.execPath, args: [cli], env, stderr: 'inherit' as const }
  const host = open(user)
  opened.push(host)
  await host.connect(
    sdk === 'v1' ? (new EarlierStdioTransport(parameters) as never) : new StdioClientTransport(parameters),
  )
  return host
}

describe.each(sampleOf(hosts, 3))('the stdio server with the host $host', (chosen) => {
  test('the server asks the person as configured, masks card numbers, and lists the activity of its run', async () => {
    const user = person([yes], { form: {} })
    const settings = {
      PAYMENTS_CONFIRM: 'always',
      PAYMENTS_CONFIRM_ABOVE: '999',
      PAYMENTS_CARD_DETAILS: 'masked',
      PAYMENTS_INSTANCE_ID: 'shopping',
    }
    const host = await startProcess(chosen, user, settings)
    const card = { merchant: { name: 'Books' }, maximumAmount: 1000, currency: 'USD' }
    const issued = await host.callTool('issue_agent_card', card)
    const cardId = issued.structuredContent?.data.id
    expect(user.asked.map(({ message }) => message.split('\n')[0])).toEqual(['Issue a card of up to $10.00'])
    const details = await host.callTool('get_agent_card_details', { cardId })
    expect(details.structuredContent?.data.attributes.number).toMatch(/^•••• \d{4}$/)
    const { resources } = await host.requests.listResources()
    expect(resources.map(({ uri }) => uri)).toContain('payments://activity/shopping')
  })

  test('a read-only server offers only tools that change nothing', async () => {
    const host = await startProcess(chosen, person([no]), { PAYMENTS_READ_ONLY: 'true' })
    const { tools } = await host.listTools()
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true)
    expect(tools.map(({ name }) => name)).toContain('list_wallets')
  })
})
