import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { delegable } from '../../src/core/permissions.ts'
import { inviters } from '../customers/world.ts'
import { created, ok, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { merchant, weekly } from '../subscriptions/merchant.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { outboxEvents } from './outbox-events.ts'

onEachDatabase('the outbox', (database) => {
  let world: World
  let ownAgent: { partyId: string; agentId: string }
  let other: OtherParty
  let customerId: string
  let outbox: ReturnType<typeof outboxEvents>

  beforeAll(async () => {
    world = await createWorld(database)
    other = await addParty(world)
    ownAgent = (await world.whoami()) as typeof ownAgent
    customerId = await world.customerPartyId()
    outbox = outboxEvents(world, () => ({
      [ownAgent.partyId]: 'own',
      [other.partyId]: 'other',
      [customerId]: 'customer',
    }))
    await outbox.newEvents()
  })
  afterAll(() => world.drop())

  const expectEvents = async (...expected: string[]) => expect(await outbox.newEvents()).toEqual(expected)
  const toOther = () => ({ type: 'party_id', value: other.partyId })

  describe('the events of each change', () => {
    test('a payment adds events for both parties; a replay or a refusal adds none', async () => {
      const self = payer(world)
      const sent = { idempotencyKey: 'a payment to be repeated' }
      const first = await self.pay(500, toOther(), {}, sent)
      const paid = ['own payment.created pay', 'own payment.completed pay', 'other payment.completed pay']
      expect((await outbox.newEvents()).sort()).toEqual(paid.sort())
      expect((await self.pay(500, toOther(), {}, sent)).json.data.id).toBe(created(first))
      await expectEvents()
      expectRefusal(await self.pay(9_999_999, toOther()), 'conflict', {
        source: { pointer: '/data/attributes/amount' },
      })
      expectRefusal(await world.get('/payments/pay_00000000000000000000000000000000'), 'not_found')
      await expectEvents()
    })

    test('a payment that needs approval adds events when it is approved, denied or canceled', async () => {
      const self = payer(world)
      await self.setLimits('agents', ownAgent.agentId, { perTransaction: 1000 })
      const payForReview = async () => {
        const id = created(await self.pay(1001, toOther()))
        await expectEvents('own payment.created pay', 'own approval.required apr')
        return { id, approvalId: (await self.approvalOf(id)).id as string }
      }
      const key = world.apiKey
      ok(await self.approve((await payForReview()).approvalId, { key }))
      const approved = ['own payment.completed pay', 'own approval.approved apr', 'other payment.completed pay']
      expect((await outbox.newEvents()).sort()).toEqual(approved.sort())
      ok(await self.deny((await payForReview()).approvalId, undefined, { key }))
      await expectEvents('own payment.approval_denied pay', 'own approval.denied apr')
      ok(await self.cancel((await payForReview()).id))
      await expectEvents('own approval.canceled apr', 'own payment.canceled pay')
      await self.setLimits('agents', ownAgent.agentId, null)
    })

    test('a payment to an email address adds events when it is created, claimed or canceled', async () => {
      const self = payer(world)
      const id = created(await self.pay(300, { type: 'email', value: 'somebody@example.com' }))
      await expectEvents('own payment.created pay', 'own payment.pending_claim pay')
      ok(await self.claim(id))
      const newEvents = (await outbox.newRows()).map(({ partyId, type }) =>
        partyId === ownAgent.partyId ? `own ${type}` : type,
      )
      expect(newEvents.sort()).toEqual(['own payment.completed', 'payment.completed', 'wallet.created'])
      const canceled = created(await self.pay(300, { type: 'email', value: 'nobody@example.com' }))
      ok(await self.cancel(canceled))
      const ended = ['own payment.created pay', 'own payment.pending_claim pay', 'own payment.canceled pay']
      await expectEvents(...ended)
    })

    test('a new wallet, a deposit and a transfer between wallets add events', async () => {
      const key = world.apiKey
      const walletId = ok(await world.get('/wallets', { key })).json.data[0].id as string
      const second = ok(await world.post('/wallets', { displayName: 'Second' }, { key })).json.data.id as string
      await expectEvents('own wallet.created wal')
      const [amount, currency] = [100, 'USD']
      ok(
        await world.post(
          `/simulations/customers/${ownAgent.partyId}/transfers/deposit`,
          { walletId, amount, currency },
          { key },
        ),
      )
      await expectEvents('own deposit.created tfr', 'own deposit.completed tfr')
      const between = { sourceWalletId: walletId, destWalletId: second, amount }
      ok(await world.post('/transfers/internal', between, { key }))
      await expectEvents('own transfer.created tfr', 'own transfer.completed tfr')
    })

    test('changes of a card and its purchases add events for the card’s agent, whoever makes the change', async () => {
      const agentIds = async () => [
        ...new Set((await outbox.rows()).filter(({ resourceId }) => ids.has(resourceId)).map(({ agentId }) => agentId)),
      ]
      const ids = new Set<string>()
      const key = world.apiKey
      const cardId = await world.issueCard()
      await expectEvents(`own agent_card.created ${cardId.slice(0, 3)}`)
      ids.add(cardId)
      const card = cardId.slice(0, 3)
      ok(await world.send('POST', `/agent-cards/${cardId}/freeze`, { key }))
      ok(await world.send('POST', `/agent-cards/${cardId}/unfreeze`, { key }))
      await expectEvents(`own agent_card.frozen ${card}`, `own agent_card.unfrozen ${card}`)
      const declined = ok(await world.authorize(cardId, 5001)).json.data.id as string
      const tx = declined.slice(0, 3)
      await expectEvents(`own card_transaction.declined ${tx}`)
      const id = ok(await world.authorize(cardId, 4000, { key })).json.data.id as string
      ids.add(id)
      await expectEvents(`own card_transaction.authorized ${tx}`, `own agent_card.used ${card}`)
      const simulate = (action: string, attributes: object) =>
        world.post(`/simulations/card-transactions/${id}/${action}`, attributes, { key })
      ok(await simulate('capture', { amount: 3000, currency: 'USD' }))
      await expectEvents(`own card_transaction.partially_captured ${tx}`)
      ok(await simulate('refund', { amount: 1000, currency: 'USD' }))
      await expectEvents(`own card_transaction.refunded ${tx}`, `own card_transaction.updated ${tx}`)
      expect(await agentIds()).toEqual([ownAgent.agentId])
      const { agentId, agentKey } = await addAgent(
        world,
        ownAgent.partyId,
        ok(await world.get('/wallets', { key })).json.data.at(-1).id,
        delegable,
      )
      const unused = ok(
        await world.post(
          '/agent-cards',
          { merchant: { name: 'Books' }, maximumAmount: 1, currency: 'USD' },
          { key: agentKey },
        ),
      ).json.data.id as string
      await outbox.newEvents()
      ok(await world.send('DELETE', `/agents/${agentId}`, { key }))
      expect((await outbox.newRows()).map(({ type, resourceId }) => [type, resourceId])).toEqual([
        ['agent_card.expired', unused],
      ])
    })

    test('due effects, such as a hold’s expiry and a subscription’s charge, add events once', async () => {
      const shop = merchant(world)
      const cardId = await world.issueCard()
      const authorized = ok(await world.authorize(cardId, 100)).json.data.id as string
      const subscriptionId = await shop.active(weekly)
      await outbox.newEvents()
      await shop.pass(7.5)
      const dueEvents = [`own card_transaction.reversed ${authorized.slice(0, 3)}`, 'own subscription.charged sub']
      await expectEvents(...dueEvents)
      ok(await world.get(`/card-transactions/${authorized}`))
      await expectEvents()
      ok(await shop.cancel(subscriptionId))
      await expectEvents('own subscription.canceled sub')
    })

    test('an invitation to a customer, and the start and end of a grant, add events', async () => {
      const { pending } = await inviters(world)
      await outbox.newEvents()
      const { id } = await pending()
      await expectEvents('own agent_delegation_invitation.created adi')
      const key = world.apiKey
      ok(await world.post(`/simulations/customer-invitations/${id}/accept`, {}, { key }))
      const newEvents = (await outbox.newRows()).map(({ type }) => type).sort()
      expect(newEvents).toEqual(['agent_delegation_invitation.accepted', 'delegation.activated', 'wallet.created'])
      ok(await world.send('DELETE', `/customers/${customerId}/agents/${ownAgent.agentId}`, { key }))
      const ended = ['own agent_delegation.revoked dlg', 'customer delegation.revoked dlg']
      expect((await outbox.newEvents()).sort()).toEqual(ended.sort())
    })
  })

  test('the events of a party are numbered without gaps, even under simultaneous writes', async () => {
    const self = payer(world)
    const payOther = () => self.pay(10, toOther(), {})
    const receive = () =>
      payer(world).pay(
        10,
        { type: 'party_id', value: ownAgent.partyId },
        {},
        { key: other.agentKey, instanceId: 'theirs' },
      )
    const answers = await Promise.all([...Array.from({ length: 10 }, payOther), ...Array.from({ length: 10 }, receive)])
    for (const answer of answers) ok(answer)
    for (const [, events] of Map.groupBy(await outbox.rows(), ({ partyId }) => partyId)) {
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1))
    }
  })

  test('events are deleted after a month by the real clock, and their numbers are not reused', async () => {
    const before = (await outbox.rows()).filter(({ partyId }) => partyId === ownAgent.partyId)
    world.system.pass(31 * 86_400_000)
    await world.service.upkeep.once()
    expect(
      (await outbox.rows()).filter(
        ({ sequence, partyId }) => partyId === ownAgent.partyId && sequence <= before.length,
      ),
    ).toEqual([])
    await outbox.newEvents()
    await world.issueCard()
    const [next] = await outbox.newRows()
    expect(next?.sequence).toBeGreaterThan(before.length)
  })
})
