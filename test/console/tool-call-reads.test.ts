import { afterAll, beforeAll, expect, test } from 'vitest'
import { toolCallName } from '../../src/service/request/run-log.ts'
import { readsWithinCalls } from '../../src/service/rules/runs.ts'
import { connectHost, instanceId, no, person } from '../mcp/connected.ts'
import { hosts } from '../mcp/hosts.ts'
import type { Visitor } from '../pages/oauth-site.ts'
import { runOf } from '../runs/stored-entries.ts'
import { onEachDatabase } from '../support/databases.ts'
import type { Sent } from '../support/world.ts'
import { type ConsoleSite, createConsoleSite } from './console-site.ts'

test('if a tool call has several call entries, its first twenty reads belong to the last of them; reads without a tool call belong to no entry', () => {
  const entry = (id: string, as: 'call' | 'read', of: string) => ({ id, toolCall: toolCallName(as, 'key_1', of) })
  const many = Array.from({ length: 25 }, (_, at) => entry(`many ${at}`, 'read', 'many'))
  const within = readsWithinCalls([
    ...[entry('1', 'read', 'a'), entry('2', 'call', 'a'), entry('3', 'call', 'a'), entry('4', 'read', 'a')],
    ...[entry('5', 'read', 'alone'), entry('6', 'call', 'none'), { id: '7', toolCall: null }],
    ...[entry('8', 'call', 'many'), ...many],
    { id: '9', toolCall: toolCallName('read', 'key_2', 'a') },
  ])
  expect([...within]).toEqual([
    ['3', ['1', '4']],
    ['8', many.slice(0, 20).map(({ id }) => id)],
  ])
})

onEachDatabase('reads by the MCP server for a tool call', (database) => {
  let site: ConsoleSite
  let owner: Visitor
  beforeAll(async () => {
    site = await createConsoleSite(database)
    owner = await site.visitor()
  })
  afterAll(() => site.world.drop())

  const textAt = async (path: string) => {
    const { status, text } = await owner.open(path)
    expect(status, text).toBe(200)
    return text
  }
  /** Returns the rows of a timeline from top to bottom, each as the name of its tool and its number of reads. */
  const rowsAt = async (path: string) =>
    [...(await textAt(path)).matchAll(/data-entry data-reads="([^"]*)"[\s\S]*?<code>(\w+)<\/code>/g)].map(
      ([, reads = '', tool = '']) => `${tool} ${reads === '' ? 0 : reads.split(' ').length}`,
    )
  const evaluatedIn = async (run: string) =>
    JSON.parse(await textAt(`${site.runPath(run)}/report?format=json`)).report.evaluated

  test('the reads for a tool call are shown within the row of the call, and counted', async () => {
    const [{ open }] = hosts
    const { host, close } = await connectHost(site.world, open)
    // With a remote API, the MCP server reads the wallet, to tell the model whether the balance covers the card.
    await host.callTool('issue_agent_card', { merchant: { name: 'Books' }, maximumAmount: 900, currency: 'USD' })
    await host.callTool('get_wallet', { walletId: (await site.world.get('/wallets')).json.data[0].id })
    await close()
    const entries = await site.entries(instanceId)
    const run = site.runPath(instanceId)
    expect(entries.map(({ operation }) => operation)).toEqual(['issue_agent_card', 'get_wallet', 'get_wallet'])
    expect(await rowsAt(run)).toEqual(['get_wallet 0', 'issue_agent_card 1'])
    expect(await rowsAt(`${run}?order=oldest`)).toEqual(['issue_agent_card 1', 'get_wallet 0'])
    const [call, read] = entries
    if (call === undefined || read === undefined) throw new Error('An entry is missing.')
    const opened = await textAt(site.entryPath(call))
    expect(opened).toContain('<h2>Reads for this call</h2>')
    expect(opened).toContain(`<a href="${site.entryPath(read)}">get_wallet</a>`)
    expect(await textAt(site.entryPath(read))).toContain(`made this read for <a href="${site.entryPath(call)}">`)

    expect((await runOf(site.world, instanceId)).calls).toBe(3)
    expect(await evaluatedIn(instanceId)).toMatchObject({ calls: 3, toolReads: 1 })
    // With a filter, every entry has its own row.
    expect(await rowsAt(`${run}?tool=get_wallet`)).toEqual(['get_wallet 0', 'get_wallet 0'])
  })

  test("if a person refuses a tool call, its reads are shown in the rows of the question and of the person's decision", async () => {
    const { world } = site
    const key = world.apiKey
    const { partyId, agentId, keyId } = await world.whoami(key)
    const agent = await world.post('/agents', { name: 'Helper' }, { key, instanceId: 'before' })
    const before = (await site.entries(instanceId)).length
    const [{ open }] = hosts
    const { host, close } = await connectHost(world, open, {
      ...{ key, confirm: { mode: 'always', aboveCents: 0 }, person: person([no], { form: {} }) },
      note: (runNote) => world.service.reportEntry({ ...runNote, partyId, agentId, keyId, instanceId }),
    })
    await host.callTool('delete_agent', { agentId: agent.json.data.id })
    await close()
    const added = (await site.entries(instanceId)).slice(before)
    expect(added.map(({ kind, operation }) => `${kind} ${operation}`)).toEqual([
      ...['call get_agent', 'question delete_agent', 'call get_agent', 'decision delete_agent'],
    ])
    const rows = await rowsAt(site.runPath(instanceId))
    expect(rows.slice(0, 2)).toEqual(['delete_agent 1', 'delete_agent 1'])
    expect(rows).not.toContain('get_agent 0')
  })

  test('a client cannot hide a call by declaring it a read for a tool call', async () => {
    const { world } = site
    const sent = (more: Sent = {}): Sent => ({
      instanceId: 'hiding',
      ...more,
      headers: { 'X-MCP-Tool-Call-Id': 'one', ...more.headers },
    })
    const run = site.runPath('hiding')
    const rows = async () => {
      await world.service.runLog.flush()
      return rowsAt(run)
    }
    await world.get('/wallets', sent())
    expect(await rows()).toEqual(['list_wallets 0'])

    const cardId = await world.issueCard({ maximumAmount: 100 }, sent())
    expect((await world.authorize(cardId, 200, sent())).json.data.attributes.status).toBe('declined')
    expect((await world.get(`/agent-cards/pcd_${'0'.repeat(32)}`, sent())).status).toBe(404)
    await world.get(`/agent-cards/${cardId}/details`, sent())
    const own = ['get_agent_card_details 0', 'get_agent_card 0', 'simulate_card_authorization 0', 'issue_agent_card 0']
    expect(await rows()).toEqual([...own, 'list_wallets 0'])

    // Any client can declare a tool call. Only a read that succeeds and returns no secrets moves into the call's row.
    await world.get('/whoami', sent({ headers: { 'X-MCP-Tool-Call': 'true' } }))
    expect(await rows()).toEqual(['whoami 1', ...own])
    // A read that is sent with a different credential or in a different run does not move into the row of the call.
    await world.get('/wallets', sent({ key: world.apiKey }))
    await world.get('/wallets', sent({ instanceId: 'hiding elsewhere' }))
    expect(await rows()).toEqual(['list_wallets 0', 'whoami 1', ...own])
    expect(await rowsAt(site.runPath('hiding elsewhere'))).toEqual(['list_wallets 0'])

    for (let count = 0; count < 21; count++) await world.get('/wallets', sent())
    expect(await rows()).toEqual(['list_wallets 0', 'list_wallets 0', 'list_wallets 0', 'whoami 20', ...own])
    expect((await runOf(world, 'hiding')).calls).toBe(28)
    expect(await evaluatedIn('hiding')).toMatchObject({ calls: 28 })
  })
})
