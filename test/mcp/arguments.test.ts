import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { instructionsFor, mentionedTools } from '../../src/mcp/instructions.ts'
import { operationsOf } from '../../src/mcp/tools/offered-operations.ts'
import { catalogue } from '../../tools/index.ts'
import { sqlite } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { createWorld, type World } from '../support/world.ts'
import { connectHost } from './connected.ts'
import { errorOf, hosts } from './hosts.ts'

let world: World
beforeAll(async () => {
  world = await createWorld(sqlite)
})
afterAll(() => world.drop())

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const card = { merchant: { name: 'Books' }, maximumAmount: 5_000, currency: 'USD' }
const customerPartyId = `pty_${'ab'.repeat(16)}`

describe.each(sampleOf(hosts, 2))('arguments from hosts and models, $host', ({ open }) => {
  const openHost = async (options: Parameters<typeof connectHost>[2] = {}) => {
    const connection = await connectHost(world, open, options)
    closing.push(connection.close)
    await connection.host.listTools()
    return connection
  }

  test('an argument that a host adds for itself, such as wait_for_previous, is dropped', async () => {
    const { host } = await openHost()
    const issued = await host.callTool('issue_agent_card', { ...card, wait_for_previous: true })
    expect(issued.structuredContent).not.toHaveProperty('meta')
    expect(
      (await host.callTool('list_wallets', { wait_for_previous: false })).structuredContent?.meta,
    ).not.toHaveProperty('ignoredArguments')
  })

  test('a read ignores and reports an unknown argument; a change refuses it and suggests a similar name', async () => {
    const { host, sent } = await openHost()
    const read = await host.callTool('list_wallets', { customer_party_id: customerPartyId, idempotencyKey: 'k' })
    expect(read.structuredContent?.meta?.ignoredArguments).toEqual(['customer_party_id', 'idempotencyKey'])
    const before = sent.length
    const refused = errorOf(await host.callTool('issue_agent_card', { ...card, customer_party_id: customerPartyId }))
    expect(refused.detail).toContain('There is no argument "customer_party_id"')
    expect(refused.detail).toContain('customerPartyId, idempotencyKey. Did you mean customerPartyId?')
    expect(refused.next).toBe(
      'Send customerPartyId instead of customer_party_id and call again without idempotencyKey.',
    )
    expect(sent).toHaveLength(before)
    const strict = await world.post('/agent-cards', { ...card, customer_party_id: customerPartyId })
    expect(strict.status).toBe(400)
  })

  test('an optional argument that is null or "" counts as missing, and a number may be sent as a string', async () => {
    const { host } = await openHost()
    const filled = { expiresInMinutes: '', customerPartyId: null, idempotencyKey: '' }
    const issued = await host.callTool('issue_agent_card', { ...card, ...filled, maximumAmount: '5000' })
    expect(issued.structuredContent?.data.attributes.maximumAmount).toBe(5_000)
    expect((await host.callTool('list_agent_cards', { limit: '1', cursor: '' })).isError).not.toBe(true)
    for (const maximumAmount of ['', null, '1e3', '5000.00', ' 5', '0x10', '05']) {
      const refused = errorOf(await host.callTool('issue_agent_card', { ...card, maximumAmount }))
      expect(refused.source).toEqual({ pointer: '/data/attributes/maximumAmount' })
    }
    expect((await world.post('/agent-cards', { ...card, maximumAmount: '5000' })).status).toBe(422)
  })

  test('an update empties the fields listed in the argument clear; null empties no field', async () => {
    const { host } = await openHost({ key: world.apiKey })
    const walletResult = await host.callTool('create_wallet', { displayName: 'Travel', description: 'For trips' })
    const walletId = walletResult.structuredContent?.data.id
    const update = async (input: object) => {
      const { structuredContent, content } = await host.callTool('update_wallet', { walletId, ...input })
      return structuredContent?.data.attributes.description ?? (structuredContent ? null : content[0]?.text)
    }
    expect(await update({ description: null, displayName: 'Trips' })).toBe('For trips')
    expect(await update({ clear: ['description'] })).toBe(null)
    expect(await update({ clear: ['displayName'] })).toContain('clear must be a list of description')
    expect(await update({ clear: ['description'], description: 'x' })).toContain('either set it or clear it')
  })

  test('a record is created with null in the fields listed in the argument clear', async () => {
    const { host } = await openHost({ key: world.apiKey })
    const terms = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 1000, taxAmount: 0 }
    const expiry = async (input: object) => {
      const { structuredContent } = await host.callTool('create_subscription', { ...terms, ...input })
      return structuredContent?.data.attributes.expiresAt
    }
    expect(await expiry({ expiresInMinutes: null })).toEqual(expect.any(String))
    expect(await expiry({ clear: ['expiresInMinutes'] })).toBe(null)
  })

  test('one error reports all wrong arguments, and says what kind of record a wrong id belongs to', async () => {
    const { host } = await openHost()
    const cardId = await world.issueCard()
    const wrong = { cardTransactionId: cardId, amount: -1, currency: 'EUR', colour: 'red' }
    const refused = errorOf(await host.callTool('simulate_card_capture', wrong))
    expect(refused.detail).toContain('There is no argument "colour"')
    expect(refused.detail).toContain(
      "that is a card's id; cardTransactionId begins with cit_ and comes from list_card_transactions.",
    )
    expect(refused.detail).toContain('amount must be more than 0')
    expect(refused.detail).toContain('currency must be "USD"')
    expect(refused.next).toMatch(/^Leave out colour; .*cardTransactionId.*amount.*currency.* and call again without/)
    expect(refused.detail).not.toContain('^cit_')
    const keyed = errorOf(await host.callTool('simulate_card_capture', { ...wrong, idempotencyKey: 'none' }))
    expect(keyed.detail).toBe(
      `${refused.detail} idempotencyKey "none" cannot be unique: leave it out, unless an answer told you to send one.`,
    )
  })

  test('the currency may be omitted, and any currency other than USD is refused', async () => {
    const { host } = await openHost()
    const { currency: _, ...withoutCurrency } = card
    const issued = await host.callTool('issue_agent_card', withoutCurrency)
    expect(issued.structuredContent?.data.attributes.currency).toBe('USD')
    const refused = errorOf(await host.callTool('issue_agent_card', { ...card, currency: 'EUR' }))
    expect(refused.detail).toContain('currency must be "USD"')
  })

  test('arguments that the API accepts but the tool schema omits, such as tags, are accepted', async () => {
    const { host } = await openHost()
    const counterparty = { type: 'email', value: 'ann@example.com' }
    const paid = await host.callTool('create_payment', { amount: 1, counterparty, tags: { team: 'blue' } })
    expect(paid.structuredContent?.data.attributes.tags).toEqual({ team: 'blue' })
    const otherParty = errorOf(await host.callTool('list_payments', { partyId: customerPartyId }))
    expect(otherParty.code).not.toBe('invalid_value')
  })

  test.each(['none', '1', 'purchase-0001', 'abcdefghijklmnopqrstuvwxyz', 7])(
    'the idempotency key %j is refused, and the error advises leaving it out',
    async (key) => {
      const { host, sent } = await openHost()
      const refused = errorOf(await host.callTool('issue_agent_card', { ...card, idempotencyKey: key }))
      expect(refused).toMatchObject({
        code: 'invalid_value',
        next: expect.stringMatching(
          /^Call again without idempotencyKey\. To repeat an equal call on purpose.* 16 or more/,
        ),
      })
      expect(refused.detail).toContain('leave it out')
      expect(sent).toEqual([])
    },
  )

  test('a call that repeats an idempotency key returns replayed: true, and the output schema contains this field', async () => {
    const { host } = await openHost()
    const { tools } = await host.listTools()
    const outputOf = (tool: string) => tools.find(({ name }) => name === tool)?.outputSchema?.properties
    expect(outputOf('issue_agent_card')).toHaveProperty('replayed')
    expect(outputOf('list_wallets')).not.toHaveProperty('replayed')
    const keyed = {
      ...card,
      idempotencyKey: `0123456789abcdef ${open.name} ${Math.trunc(world.system.now())} ${closing.length} ${tools.length}${hosts.findIndex((host) => host.open === open)}`,
    }
    const first = await host.callTool('issue_agent_card', keyed)
    const second = await host.callTool('issue_agent_card', keyed)
    expect(first.structuredContent).not.toHaveProperty('replayed')
    expect(second.structuredContent).toEqual({ ...first.structuredContent, replayed: true })
  })

  test('the error for a tool that is not offered names its toolset; the error for an unknown tool lists similar names', async () => {
    const { host } = await openHost({ toolsets: ['default'], actor: 'agent' })
    await expect(host.callTool('create_wire', {})).rejects.toThrow(
      'create_wire is in the toolset payments, which this connection does not offer: PAYMENTS_TOOLSETS=default,payments',
    )
    await expect(host.callTool('list_wallet', {})).rejects.toThrow(/The closest names are list_wallets, /)
    const readOnly = await openHost({ readOnly: true })
    await expect(readOnly.host.callTool('get_agent_card_details', {})).rejects.toThrow('this connection only reads')
  })

  test('if the connection is refused, the error advises checking the API’s address, and whether the API is running', async () => {
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    const between = () => {
      throw new TypeError('fetch failed', { cause })
    }
    const { host } = await openHost({ between })
    const refused = errorOf(await host.callTool('issue_agent_card', card))
    expect(refused).toMatchObject({
      next: 'Have the person check the address of the payments API, and whether it is running. Then call again without idempotencyKey.',
    })
    expect(refused).not.toHaveProperty('idempotencyKey')
  })
})

test('the REST API also reports all wrong values in one error, whose source points to the first of them', async () => {
  const { status, json } = await world.post('/agent-cards', { ...card, maximumAmount: -1, currency: 'EUR' })
  expect(status).toBe(422)
  expect(json.errors[0].source).toEqual({ pointer: '/data/attributes/maximumAmount' })
  expect(json.errors[0].detail).toMatch(/maximumAmount must be more than 0.* currency must be "USD"/)
})

test('the instructions mention only offered tools, and their facts about these tools agree with the catalogue', () => {
  const all = Object.values<OperationDefinition>(catalogue)
  for (const tool of mentionedTools) expect(all.find(({ name }) => name === tool.name)).toMatchObject(tool)
  const names = all.map((operation) => operation.name)
  for (const actor of ['agent', 'party', 'user', undefined] as const) {
    for (const toolsets of [['default'], ['payments'], ['agents'], everyTool('sandbox').toolsets] as const) {
      for (const readOnly of [true, false]) {
        const choice = { ...everyTool('sandbox'), actor, toolsets, readOnly }
        const offered = operationsOf(choice).map((operation) => operation.name)
        const mentioned = instructionsFor(choice, false).match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []
        expect(mentioned.filter((word) => names.includes(word) && !offered.includes(word))).toEqual([])
      }
    }
  }
})
