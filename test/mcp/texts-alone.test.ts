import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import type { ApiTransport } from '../../src/core/api-transport.ts'
import { toolsets } from '../../src/core/operation.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Connected, connectHost } from './connected.ts'
import { hosts } from './hosts.ts'

/** Calls a tool through a host that shows the model only the text of a result. Returns this text. */
type Caller = (name: string, input?: object) => Promise<string>

/** Returns the value of a field in a record's text. Fields look like `amount $42.50` or `merchant.name “Books”`. */
function fieldIn(text: string, name: string): string {
  const fields = text.replace(/^\w+ \S+/, '')
  const found = new RegExp(`(?:^|· |, |\\()${name.replaceAll('.', '\\.')} (?:“([^”]*)”|(\\S+))`, 'm').exec(fields)
  if (found === null) throw new Error(`The text has no field ${name}: ${text}`)
  return found[1] ?? found[2]?.replace(/[,)]+$/, '') ?? ''
}

/** Returns the id at the beginning of a record's text. */
const idIn = (text: string) => /^(?:\w+ )(\S+)/m.exec(text)?.[1] ?? ''

/** Returns each row of a table as an object with the column names as its keys. */
function rowsOf(text: string): Record<string, string>[] {
  const [head = '', columns = '', ...rows] = text.split('\n').filter((line) => !/^(There are|Left out|get_)/.test(line))
  expect(head).toMatch(/^\d+ of \w+/)
  const names = columns.split(' | ')
  return rows.map((row) => Object.fromEntries(row.split(' | ').map((cell, at) => [names[at], cell])))
}

const cents = (dollars: string) => Math.round(Number(dollars.replace(/[$,]/g, '')) * 100)

onEachDatabase('for a model that sees only text,', (database) => {
  let world: World
  const open: Connected[] = []
  let agent: Caller
  let owner: Caller
  beforeAll(async () => {
    world = await createWorld(database)
    const connect = async (key: string): Promise<Caller> => {
      const mcp = await connectHost(world, hosts[0].open, {
        key,
        toolsets: [...toolsets],
        confirm: { mode: 'never', aboveCents: 0 },
      })
      open.push(mcp)
      return async (name, input = {}) => {
        world.system.pass(1_000)
        const { isError, content } = await mcp.host.callTool(name, input)
        const text = content.map((part) => part.text).join('\n')
        if (isError === true) throw new Error(text)
        return text
      }
    }
    agent = await connect(world.agentKey)
    owner = await connect(world.apiKey)
  })
  afterAll(async () => {
    for (const mcp of open) await mcp.close()
    await world.drop()
  })

  test('a card purchase can be captured, refunded and found in the activity', async () => {
    const wallet = await agent('list_wallets')
    const available = cents(fieldIn(wallet, 'balance.available'))
    expect(available).toBe(250_000)
    const merchant = { name: 'Corner “Books” | Café' }
    const card = await agent('issue_agent_card', { merchant, maximumAmount: 5_000, currency: 'USD' })
    expect(fieldIn(card, 'wallet')).toBe(idIn(wallet))
    const cardId = idIn(card)
    const details = await agent('get_agent_card_details', { cardId })
    const cardDetails = (await world.get(`/agent-cards/${cardId}/details`)).json.data.attributes
    for (const name of ['number', 'cvv', 'expirationMonth', 'expirationYear']) {
      expect(fieldIn(details, name)).toBe(String(cardDetails[name]))
    }
    const authorized = await agent('simulate_card_authorization', { cardId, amount: 4_250, currency: 'USD', merchant })
    expect(fieldIn(authorized, 'status')).toBe('authorized')
    const cardTransactionId = idIn(authorized)
    const held = cents(fieldIn(authorized, 'held'))
    const captured = await agent('simulate_card_capture', { cardTransactionId, amount: held, currency: 'USD' })
    const refunded = await agent('simulate_card_refund', {
      cardTransactionId,
      amount: cents(fieldIn(captured, 'captured')) - 1_000,
      currency: 'USD',
    })
    expect(fieldIn(refunded, 'purchase')).toBe(cardTransactionId)
    const again = await agent('simulate_card_authorization', { cardId, amount: 1, currency: 'USD', merchant })
    expect(fieldIn(again, 'decline.code')).toBe('single_use_card_used')
    expect(fieldIn(again, 'decline.detail')).toContain('Issue a new card')
    const listed = rowsOf(await agent('list_card_transactions', { cardId }))
    expect(listed.map(({ id }) => id)).toEqual([idIn(again), idIn(refunded), cardTransactionId])
    expect(listed.map(({ status, amount }) => `${status} ${amount}`)).toEqual([
      'declined $0.01',
      'refunded $32.50',
      'captured $42.50',
    ])
    expect(cents(fieldIn(await agent('get_wallet', { walletId: idIn(wallet) }), 'balance.available'))).toBe(
      available - 1_000,
    )
    const activity = rowsOf(await owner('list_activity', { resourceId: cardTransactionId }))
    expect(activity.map(({ operation }) => operation)).toEqual(
      expect.arrayContaining(['simulate_card_refund', 'simulate_card_capture', 'simulate_card_authorization']),
    )
    expect(activity.every(({ resourceIds }) => resourceIds?.includes(cardTransactionId))).toBe(true)
  })

  test("the result for a new card has a warning only if the card's maximum exceeds the wallet's balance", async () => {
    const available = fieldIn(await agent('list_wallets'), 'balance.available')
    const merchant = { name: 'Boats' }
    const beyond = await agent('issue_agent_card', { merchant, maximumAmount: cents(available) + 1 })
    expect(beyond).toContain(
      `The wallet has ${cents(available)} (${available}) available, less than this card's maximum`,
    )
    expect(fieldIn(beyond, 'status')).toBe('active')
    expect(await agent('issue_agent_card', { merchant, maximumAmount: cents(available) })).not.toContain('less than')
  })

  test('with the service in the same process, issuing a card also reads the wallet only if the card’s maximum is above the wallet’s balance', async () => {
    const { service, system, agentKey } = world
    const requests: string[] = []
    const carry: ApiTransport = (request, signal) => {
      requests.push(request.operation)
      return service.carry()(request, signal)
    }
    const { fetch } = service
    const clientOptions = { baseUrl: 'http://sandbox.test', credential: () => agentKey, instanceId: 'beside', system }
    const client = createClient({ fetch, carry, ...clientOptions })
    const { host, close } = await connectHost(world, hosts[0].open, { client: async () => client })
    const available = cents(fieldIn(await agent('list_wallets'), 'balance.available'))
    const issue = async (maximumAmount: number) => {
      const { content } = await host.callTool('issue_agent_card', { merchant: { name: 'Boats' }, maximumAmount })
      return [
        content
          .map(({ text }) => text)
          .join()
          .includes('less than'),
        ...requests.splice(0),
      ]
    }
    expect(await issue(available)).toEqual([false, 'issue_agent_card'])
    expect(await issue(available + 1)).toEqual([true, 'issue_agent_card', 'get_wallet'])
    await close()
  })

  test("a payment is made at once, and a payment above the agent's limit is made after its approval", async () => {
    const whoami = await agent('whoami')
    const paid = await agent('create_payment', {
      amount: 1_050,
      counterparty: { type: 'email', value: 'jo@example.com' },
    })
    expect([fieldIn(paid, 'status'), fieldIn(paid, 'amount')]).toEqual(['PENDING_CLAIM', '$10.50'])
    expect(new URL(fieldIn(paid, 'claimLink')).protocol).toMatch(/^http/)
    await owner('update_agent', { agentId: fieldIn(whoami, 'agentId'), limits: { perTransaction: 2_000 } })
    const waiting = await agent('create_payment', {
      amount: 2_500,
      counterparty: { type: 'email', value: 'jo@example.com' },
    })
    expect(fieldIn(waiting, 'status')).toBe('IN_REVIEW')
    const approval = await owner('list_approvals', { status: 'pending' })
    expect(fieldIn(approval, 'target.id')).toBe(idIn(waiting))
    expect([fieldIn(approval, 'limitAmount'), fieldIn(approval, 'actualAmount')]).toEqual(['$20.00', '$25.00'])
    expect(fieldIn(await owner('approve_approval', { approvalId: idIn(approval) }), 'status')).toBe('approved')
    expect(fieldIn(await agent('get_payment', { paymentId: idIn(waiting) }), 'status')).toBe('PENDING_CLAIM')
    expect(rowsOf(await agent('list_payments')).map(({ id }) => id)).toEqual([idIn(waiting), idIn(paid)])
    await owner('update_agent', { agentId: fieldIn(whoami, 'agentId'), clear: ['limits'] })
  })

  test('a subscription can be canceled, and a customer invitation can be revoked', async () => {
    const every = { unit: 'month', count: 1 }
    const subscription = await agent('create_subscription', { description: 'Gym', every, amount: 2_000, taxAmount: 0 })
    expect(fieldIn(subscription, 'checkoutUrl')).toContain(`/checkout/${idIn(subscription)}`)
    const subscriptionId = idIn(subscription)
    const active = await agent('simulate_subscription_checkout', { subscriptionId, card: 'approves' })
    expect([fieldIn(active, 'nextPayment.amount'), fieldIn(active, 'nextPayment.paymentNumber')]).toEqual([
      '$20.00',
      '2',
    ])
    expect(fieldIn(await agent('cancel_subscription', { subscriptionId }), 'status')).toBe('canceled')
    const agentId = fieldIn(await agent('whoami'), 'agentId')
    const invited = await owner('create_customer_invitation', {
      recipients: [{ type: 'email', value: 'kim@example.com' }],
      agents: [{ agentId, permissions: ['payments.read'] }],
    })
    expect(new URL(fieldIn(invited, 'url')).pathname).toContain('/connect/')
    const revoked = await owner('revoke_customer_invitation', { invitationId: idIn(invited) })
    expect(fieldIn(revoked, 'effectiveStatus')).toBe('CANCELED')
  })

  test('the results contain new keys in full, and the keys work', async () => {
    const agentId = fieldIn(await agent('whoami'), 'agentId')
    const newKeys = [
      fieldIn(await owner('create_agent_key', { agentId }), 'agentKey'),
      fieldIn(await owner('create_api_key', { name: 'Another' }), 'apiKey'),
    ]
    for (const key of newKeys) expect((await world.get('/whoami', { key })).status).toBe(200)
  })

  test('a list returns up to ten records, or up to limit if it is given, and the cursor for the next page', async () => {
    for (let made = 0; made < 12; made++) await world.issueCard()
    const first = await agent('list_agent_cards')
    expect(rowsOf(first)).toHaveLength(10)
    const cursor = /^There are more: repeat the call with cursor (\S+)$/m.exec(first)?.[1]
    const next = rowsOf(await agent('list_agent_cards', { cursor }))
    expect(next.length).toBeGreaterThan(1)
    expect(rowsOf(first).map(({ id }) => id)).not.toContain(next[0]?.id)
    const whole = await agent('list_agent_cards', { limit: 50 })
    expect(rowsOf(whole).map(({ id }) => id)).toEqual([...rowsOf(first), ...next].map(({ id }) => id))
    expect(whole).not.toContain('There are more')
  })
})
