import { afterAll, beforeAll, expect, it } from 'vitest'
import { delegationStatuses } from '../../src/worlds/connections.ts'
import { Wallet } from '../../src/worlds/people.ts'
import { agentCardStatuses } from '../../tools/agent-cards.ts'
import { approvalStatuses } from '../../tools/approvals.ts'
import { cardTransactionStatuses, declines } from '../../tools/card-transactions.ts'
import { cancelReasons, invitationStatuses } from '../../tools/customer-invitations.ts'
import { linkStatuses } from '../../tools/invitation-links.ts'
import { ComplianceCase, Member, partyStatuses } from '../../tools/parties.ts'
import { paymentStatuses } from '../../tools/payments.ts'
import { attentionReasons, subscriptionStatuses } from '../../tools/subscriptions.ts'
import { proveBooks, readAllTables } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { worldWithEverything } from './yaml-worlds.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read single fields of an answer and also compare whole answers.
type Found = any

/** Checks that a new service has every record of test/worlds/everything.yaml, and that the records can be used. */
onEachDatabase('the world of everything.yaml', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database, { world: worldWithEverything })
  })
  afterAll(() => world.drop())

  const asParty = () => ({ key: world.apiKey })
  const asUser = { key: 'ut_ntl_sandbox_user-token-of-ann-000000000000' }
  const list = async (path: string): Promise<Found[]> => {
    const page = await world.get(`${path}${path.includes('?') ? '&' : '?'}limit=100`, asParty())
    return page.json.data.map(({ id, attributes, ...rest }: Found) => ({ id, ...attributes, ...rest }))
  }
  const countEach = (found: readonly string[]) =>
    Object.fromEntries([...Map.groupBy(found, (one) => one)].map(([one, { length }]) => [one, length]).sort())
  const findId = async (path: string, pick: (one: Found) => boolean): Promise<string> =>
    (await list(path)).find(pick)?.id ?? expect.fail(`${path} lists no such record`)
  const subscription = (description: string) =>
    findId('/subscriptions', ({ terms }: Found) => terms.description === description)

  it('a suspended party cannot pay, its invitation is canceled, and a removed user cannot sign in', async () => {
    const key = 'ak_ntl_sandbox_agent-key-of-fred-0000000000000'
    const { data } = (await world.get('/parties/me', { key })).json
    expect(data.attributes).toMatchObject({ status: 'SUSPENDED', partyType: 'PERSON' })
    const invitations = (await readAllTables(world.store)).get('customerInvitations') ?? []
    const retired = invitations.filter(({ partyId }) => partyId === data.id)
    expect(retired.map(({ status, cancelReason }) => [status, cancelReason])).toEqual([
      ['CANCELED', 'DEVELOPER_RETIRED'],
    ])
    const counterparty = { type: 'email', value: 'gina@person.example' }
    expect((await world.post('/payments', { amount: 1, counterparty }, { key })).status).toBe(403)
    const removed = { key: 'ut_ntl_sandbox_user-token-of-fred-00000000000' }
    expect((await world.get('/whoami', removed)).status).toBe(401)
  })

  it('the world has a record in every possible status', async () => {
    const tables = await readAllTables(world.store)
    const inTable = (table: string, column: string) => {
      const values = (tables.get(table) ?? []).map((row) => row[column])
      return [...new Set(values.filter((value) => value !== null))].sort()
    }
    const sorted = (words: readonly string[]) => [...words].sort()
    expect(inTable('wallets', 'status')).toEqual(sorted(Wallet.shape.status.unwrap().options))
    expect(inTable('wallets', 'walletType')).toEqual(sorted(Wallet.shape.walletType.unwrap().options))
    expect(inTable('agents', 'status')).toEqual(['ACTIVE', 'REVOKED'])
    expect(inTable('delegations', 'status')).toEqual(sorted(delegationStatuses))
    expect(inTable('customerInvitations', 'status')).toEqual(sorted(invitationStatuses))
    expect(inTable('customerInvitations', 'cancelReason')).toEqual(sorted(cancelReasons))
    expect(inTable('customerInvitations', 'recipientType')).toEqual(['email', 'party_id', 'phone'])
    expect(inTable('invitationLinks', 'status')).toEqual(sorted(linkStatuses))
    expect(inTable('cardTransactions', 'status')).toEqual(sorted(cardTransactionStatuses))
    expect(inTable('cardTransactions', 'declineCode')).toEqual(Object.keys(declines).sort())
    expect(inTable('payments', 'status')).toEqual(sorted(paymentStatuses))
    expect(inTable('payments', 'kind')).toEqual(['deposit', 'internal', 'payment', 'wire'])
    expect(inTable('payments', 'actorType')).toEqual(['agent', 'api', 'user'])
    expect(inTable('approvals', 'status')).toEqual(sorted(approvalStatuses))
    expect(inTable('subscriptions', 'status')).toEqual(sorted(subscriptionStatuses))
    expect(inTable('parties', 'partyType')).toEqual(['ORG', 'PERSON'])
    expect(inTable('parties', 'issuedCardsEnabled')).toEqual([0, 1])
    expect(inTable('parties', 'status')).toEqual(sorted(partyStatuses))
    expect(inTable('users', 'status')).toEqual(sorted(Member.shape.attributes.shape.status.options))
    expect(inTable('complianceCases', 'status')).toEqual(sorted(ComplianceCase.shape.attributes.shape.status.options))
    expect(inTable('credentials', 'kind')).toEqual(['agent_key', 'api_key', 'user_token'])
    expect(new Set((await list('/agent-cards')).map(({ status }) => status))).toEqual(new Set(agentCardStatuses))
    const attention = (await list('/subscriptions')).flatMap((one) => one.attention?.reason ?? [])
    expect(attention.sort()).toEqual(sorted(attentionReasons))
  })

  it('the books are consistent, and the wallets have the balances of the file', async () => {
    await proveBooks(world.store)
    const wallets = (await list('/wallets')).map(({ displayName, status, balance: { available, total } }) => {
      return [displayName, status, available, total]
    })
    expect(wallets).toEqual([
      ['gone', 'closed', 0, 0],
      ['locked', 'frozen', 1234, 1234],
      ['savings', 'active', 70_000, 70_000],
      // The total includes the amounts held for the authorized purchase (80.00) and the unclaimed payment (7.00).
      ['Main', 'active', 500_000, 508_700],
    ])
  })

  it('the API lists the records with the statuses that the file gives or implies', async () => {
    const statuses = async (path: string) => countEach((await list(path)).map(({ status }) => status))
    expect(await statuses('/agents')).toEqual({ ACTIVE: 2, REVOKED: 1 })
    expect(await statuses('/api-keys')).toEqual({ ACTIVE: 3, REVOKED: 1 })
    expect(await statuses('/agent-keys')).toEqual({ ACTIVE: 3, REVOKED: 3 })
    expect(await statuses('/agent-cards')).toEqual({ active: 2, expired: 2, frozen: 1, used: 4 })
    expect(await statuses('/customers/invitation-links')).toEqual({ ACTIVE: 2, REVOKED: 1 })
    expect(await statuses('/approvals')).toEqual({ approved: 1, canceled: 2, denied: 1, pending: 3 })
    expect(await statuses('/card-transactions')).toEqual({
      authorized: 1,
      captured: 1,
      declined: 4,
      partially_captured: 1,
      refunded: 2,
      reversed: 1,
    })
    const subscriptions = await list('/subscriptions')
    expect(Object.fromEntries(subscriptions.map((one) => [one.terms.description, one.status]))).toEqual({
      'Not paid yet': 'pending',
      'Nobody paid': 'canceled',
      'Never expires': 'pending',
      Magazine: 'active',
      'Missed once': 'past_due',
      'Missed twice': 'needs_attention',
      'Never charged': 'needs_attention',
      Blocked: 'needs_attention',
      Outdated: 'needs_attention',
      Removed: 'needs_attention',
      'Agreement over': 'canceled',
      'In four parts': 'completed',
      Canceled: 'canceled',
      Resumed: 'active',
    })
    const magazine = await subscription('Magazine')
    const payments = await list(`/subscriptions/${magazine}/payments`)
    expect(payments.map(({ status, dueDate }) => [status, dueDate])).toEqual([
      ['scheduled', '2026-04-10'],
      ['paid', '2026-03-10'],
      ['paid', '2026-02-10'],
      ['paid', '2026-01-10'],
    ])
    expect((await list('/transactions?type=payment')).length).toBeGreaterThan(20)
  })

  it('the records have the ids, names, tags and times of the file', async () => {
    expect(await world.whoami()).toMatchObject({
      partyId: 'pty_00000000000000000000000000000001',
      agentId: 'agt_00000000000000000000000000000001',
    })
    const one = async (path: string) => (await world.get(path, asParty())).json.data.attributes
    expect(await one('/agents/agt_00000000000000000000000000000001')).toMatchObject({
      name: 'shopper',
      handle: '@acme-shopper',
      tags: { floor: 'two' },
      limits: { perDay: 300_000 },
      createdBy: expect.stringMatching(/^usr_/),
    })
    expect(await one('/card-transactions/cit_00000000000000000000000000000001')).toMatchObject({
      status: 'authorized',
      instanceId: 'run 7',
      createdAt: '2026-03-14T13:00:00.000Z',
    })
    expect((await one('/simulations/clock')).now).toMatch(/^2026-03-15T12:/)
  })

  it('the secrets of the file are accepted until they expire or are revoked', async () => {
    const status = async (key: string) => (await world.get('/whoami', { key })).status
    for (const key of [
      asUser.key,
      'ak_ntl_sandbox_agent-key-second-000000000000',
      'ak_ntl_sandbox_agent-key-ending-000000000000',
      'sk_ntl_sandbox_api-key-reader-0000000000000',
      'ak_ntl_sandbox_agent-key-of-gina-0000000000000',
    ]) {
      expect(await status(key), key).toBe(200)
    }
    for (const key of [
      'ak_ntl_sandbox_agent-key-lapsed-000000000000',
      'ak_ntl_sandbox_agent-key-revoked-00000000000',
      'ak_ntl_sandbox_agent-key-retired-00000000000',
      'sk_ntl_sandbox_api-key-revoked-0000000000000',
      'sk_ntl_sandbox_api-key-lapsed-00000000000000',
    ]) {
      expect(await status(key), key).toBe(401)
    }
  })

  it('tokens from the file open pages, passwords are hashed, and grants and accepted invitations create customers', async () => {
    const page = async (path: string) => (await world.service.fetch(new Request(`http://sandbox.test${path}`))).text()
    expect(await page('/claim/token-of-the-claim-link-0000000000000000000')).toContain('7.00')
    expect(await page('/connect/links/token-of-the-open-link-00000000000000000000')).toContain('shopper')
    expect((await list('/customers')).map(({ name }) => name).sort()).toEqual(['carl', 'gina'])
    const passwords = (await readAllTables(world.store)).get('passwords') ?? []
    expect(passwords.map(({ hash }) => String(hash).split('$')[0])).toEqual(['scrypt'])
  })

  it('purchases from the file can be captured and refunded, cards unfrozen and used, and payments claimed', async () => {
    const { post } = world
    const captured = await post('/simulations/card-transactions/cit_00000000000000000000000000000001/capture', {
      amount: 8000,
      currency: 'USD',
    })
    expect(captured.json.data.attributes).toMatchObject({ status: 'captured', captured: 8000 })
    const hats = await findId('/card-transactions?status=captured', ({ merchant }: Found) => merchant.name === 'Hats')
    const refund = await post(`/simulations/card-transactions/${hats}/refund`, { amount: 2001, currency: 'USD' })
    expect(refund.json.errors[0]).toMatchObject({ status: '422', meta: { maximum: 2000 } })
    const frozen = await findId('/agent-cards', ({ status }) => status === 'frozen')
    const unfrozen = await post(`/agent-cards/${frozen}/unfreeze`, {})
    expect(unfrozen.json.data.attributes.status).toBe('active')
    expect((await world.authorize('pcd_00000000000000000000000000000001', 5000)).json.data.attributes.status).toBe(
      'authorized',
    )
    const claimed = await post('/simulations/payments/pay_00000000000000000000000000000001/complete-claim', undefined)
    expect(claimed.json.data.attributes.status).toBe('COMPLETED')
    await proveBooks(world.store)
  })

  it("a person can approve a payment from the file, and a new payment above the party's limit is reviewed", async () => {
    const { post, get } = world
    const waiting = await list('/approvals?status=pending')
    const approval = waiting.find(({ payment }) => payment.amount === 120_000)
    expect(approval).toMatchObject({
      initiator: { actorType: 'user' },
      reasons: [{ limitType: 'perTransactionAmount' }],
    })
    const approved = await post(`/approvals/${approval.id}/approve`, undefined, asUser)
    expect(approved.json.data.attributes).toMatchObject({ status: 'approved' })
    expect((await get(`/payments/${approval.target.id}`, asParty())).json.data.attributes.status).toBe('COMPLETED')
    const to = { type: 'email', value: 'gina@person.example' }
    const beyond = await post('/payments', { amount: 100_001, currency: 'USD', counterparty: to }, asUser)
    expect(beyond.json.data.attributes.status).toBe('IN_REVIEW')
    const within = await post('/payments', { amount: 100_000, currency: 'USD', counterparty: to }, asUser)
    expect(within.json.data.attributes.status).toBe('COMPLETED')
    const carl = await findId('/customers', ({ name }) => name === 'carl')
    const approvalOfCarl = (await get(`/approvals?customerPartyId=${carl}`)).json.data[0]
    expect(approvalOfCarl.attributes).toMatchObject({ status: 'pending', customer: { id: carl } })
    const approvedForCarl = await post(`/simulations/approvals/${approvalOfCarl.id}/approve`, undefined)
    expect(approvedForCarl.json.data.attributes.status).toBe('approved')
    await proveBooks(world.store)
  })

  it('subscriptions from the file can be paid, resumed, marked as paid and canceled', async () => {
    const { post } = world
    const call = async (path: string, attributes = {}) => (await post(path, attributes, asParty())).json.data.attributes
    const pending = 'sub_00000000000000000000000000000001'
    expect(await call(`/simulations/subscriptions/${pending}/checkout`, { card: 'approves' })).toMatchObject({
      status: 'active',
    })
    const missed = await subscription('Missed once')
    expect(await call(`/subscriptions/${missed}/payments/2/mark-paid`)).toMatchObject({
      status: 'active',
      missedPayments: [],
    })
    const blocked = await subscription('Blocked')
    expect(await call(`/simulations/subscriptions/${blocked}/card`, { behavior: 'approves' })).toMatchObject({
      status: 'needs_attention',
    })
    expect(await call(`/subscriptions/${blocked}/resume`)).toMatchObject({ status: 'past_due', attention: null })
    expect(await call(`/subscriptions/${await subscription('Resumed')}/cancel`)).toMatchObject({ status: 'canceled' })
    await proveBooks(world.store)
  })

  it('cards can be disabled for a party, and a card expires when the customer ends the grant', async () => {
    const card = { merchant: { name: 'Books' }, maximumAmount: 100, currency: 'USD' }
    const buyer = { key: 'ak_ntl_sandbox_agent-key-of-gina-0000000000000' }
    const refused = await world.post('/agent-cards', card, buyer)
    expect([refused.status, refused.json.errors[0].code]).toEqual([403, 'issued_cards_not_enabled'])
    const ended = await world.store.transaction(({ db }) =>
      db
        .selectFrom('agentCards')
        .select('expiresAtMs')
        .where('merchantName', '=', 'Ends with the grant')
        .executeTakeFirst(),
    )
    expect(ended).toEqual({ expiresAtMs: Date.parse('2026-03-05T12:00:00Z') })
  })

  it('a reset restores the world of the file', async () => {
    expect((await world.post('/simulations/reset', undefined, asParty())).status).toBe(200)
    await proveBooks(world.store)
    const statuses = async (path: string) => countEach((await list(path)).map(({ status }) => status))
    expect(await statuses('/approvals')).toEqual({ approved: 1, canceled: 2, denied: 1, pending: 3 })
    expect(await statuses('/agent-cards')).toEqual({ active: 2, expired: 2, frozen: 1, used: 4 })
    expect((await world.get('/simulations/clock', asParty())).json.data.attributes.now).toMatch(/^2026-03-15T12:00/)
    expect((await world.get('/whoami', asUser)).status).toBe(200)
  })
})
