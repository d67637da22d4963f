import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { limitsHit, limitsOf } from '../../src/service/rules/limits.ts'
import { proveBooks } from '../ledger/books.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addDelegation, addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { created, ok, type Payer, payer } from './payer.ts'

describe('exceeded limits', () => {
  test.each([
    ['without limits, an amount exceeds nothing', {}, []],
    ['if all limits are null, an amount exceeds nothing', { perTransaction: null, perDay: null, perMonth: null }, []],
    [
      'an amount that exactly reaches the limits does not exceed them',
      { perTransaction: 100, perDay: 150, perMonth: 350 },
      [],
    ],
    ['any amount exceeds a limit of zero', { perTransaction: 0 }, [['perTransactionAmount', 0, 100]]],
    [
      'an amount can exceed only the limit per transaction',
      { perTransaction: 99, perDay: 150 },
      [['perTransactionAmount', 99, 100]],
    ],
    ['an amount can exceed only the limit per day', { perTransaction: 100, perDay: 149 }, [['dailyAmount', 149, 150]]],
    ['an amount can exceed only the limit per month', { perMonth: 349 }, [['monthlyAmount', 349, 350]]],
    [
      'an amount can exceed all three limits',
      { perTransaction: 1, perDay: 2, perMonth: 3 },
      [
        ['perTransactionAmount', 1, 100],
        ['dailyAmount', 2, 150],
        ['monthlyAmount', 3, 350],
      ],
    ],
  ] as const)('%s', (_, limits, expected) => {
    const hit = limitsHit(limits, 100, { dayCents: 50, monthCents: 250 })
    expect(hit.map(({ limitType, limitAmount, actualAmount }) => [limitType, limitAmount, actualAmount])).toEqual(
      expected,
    )
    for (const reason of hit) expect(reason).toMatchObject({ type: 'limitExceeded', currency: 'USD' })
  })
})

test.each([
  ['an agent for its own party', ['agent', 'account'], { agentId: 'agt_1', agentPartyId: 'pty_1', partyId: 'pty_1' }],
  ['an agent for a customer', ['grant', 'account'], { agentId: 'agt_1', agentPartyId: 'pty_1', partyId: 'pty_2' }],
  ['a deleted agent', ['grant', 'account'], { agentId: 'agt_1', agentPartyId: undefined, partyId: 'pty_1' }],
  ['a user or an API key', ['account'], { agentId: null, agentPartyId: undefined, partyId: 'pty_1' }],
])('spending by %s is capped by the limits of %j', (_, expected, spending) => {
  expect(limitsOf(spending)).toEqual(expected)
})

onEachDatabase('spending limits', (database) => {
  let world: World
  let self: Payer
  let other: OtherParty
  let ownAgent: { partyId: string; agentId: string }
  let to: { type: string; value: string }

  beforeEach(async () => {
    world = await createWorld(database)
    self = payer(world)
    other = await addParty(world)
    ownAgent = (await world.whoami()) as typeof ownAgent
    to = { type: 'party_id', value: other.partyId }
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const withPartyKey = () => ({ key: world.apiKey })
  /**
   * Returns the type, the limit and the actual amount of each limit that the payment exceeds. Returns an empty list if
   * the payment was never in review.
   */
  const reasons = async (paymentId: string, sent?: object, query?: string): Promise<unknown[]> => {
    const approval = await self.approvalOf(paymentId, sent ?? withPartyKey(), query)
    return (approval?.attributes.reasons ?? []).map((reason: Record<string, unknown>) => [
      reason.limitType,
      reason.limitAmount,
      reason.actualAmount,
    ])
  }
  const limitsHitBy = async (amount: number, sent?: object) => reasons(created(await self.pay(amount, to, {}, sent)))

  test("an agent's daily limit applies until the UTC day ends", async () => {
    await self.setLimits('agents', ownAgent.agentId, { perDay: 100 })
    expect(await limitsHitBy(60)).toEqual([])
    expect(await limitsHitBy(40)).toEqual([])
    expect(await limitsHitBy(1)).toEqual([['dailyAmount', 100, 101]])
    world.system.pass(12 * 3_600_000 - 1)
    expect(await limitsHitBy(1)).toEqual([['dailyAmount', 100, 101]])
    world.system.pass(1)
    expect(await limitsHitBy(100)).toEqual([])
    expect(await limitsHitBy(1)).toEqual([['dailyAmount', 100, 101]])
  })

  test("an agent's monthly limit applies until the UTC month ends by the sandbox clock", async () => {
    await self.setLimits('agents', ownAgent.agentId, { perMonth: 100 })
    expect(await limitsHitBy(100)).toEqual([])
    ok(await world.post('/simulations/clock/advance', { to: '2026-01-31T23:59:59.999Z' }))
    expect(await limitsHitBy(1)).toEqual([['monthlyAmount', 100, 101]])
    ok(await world.post('/simulations/clock/advance', { to: '2026-02-01T00:00:00.000Z' }))
    expect(await limitsHitBy(100)).toEqual([])
  })

  test('an approval lists all exceeded limits, the agent’s before the party’s', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perTransaction: 10, perDay: 20, perMonth: 30 })
    await self.setLimits('parties', ownAgent.partyId, { perTransaction: 40, perDay: 45, perMonth: null })
    expect(await limitsHitBy(10)).toEqual([])
    expect(await limitsHitBy(50)).toEqual([
      ['perTransactionAmount', 10, 50],
      ['dailyAmount', 20, 60],
      ['monthlyAmount', 30, 60],
      ['perTransactionAmount', 40, 50],
      ['dailyAmount', 45, 60],
    ])
  })

  test("an agent's limits do not apply to a party key or to another agent", async () => {
    await self.setLimits('agents', ownAgent.agentId, { perTransaction: 10, perDay: 20 })
    const [wallet] = ok(await world.get('/wallets')).json.data
    const { agentKey } = await addAgent(world, ownAgent.partyId, wallet.id, ['payments.create', 'payments.read'])
    expect(await limitsHitBy(1000, withPartyKey())).toEqual([])
    expect(await limitsHitBy(1000, { key: agentKey })).toEqual([])
    expect(await limitsHitBy(10)).toEqual([])
  })

  test('daily and monthly limits count payments and purchases, but not released parts of holds', async () => {
    const buy = async (amount: number) => {
      const { id } = ok(await world.authorize(await world.issueCard(), amount)).json.data
      return `/simulations/card-transactions/${id}`
    }
    await self.setLimits('agents', ownAgent.agentId, { perDay: 200, perMonth: 1000 })
    ok(await self.pay(10, to))
    await buy(100)
    ok(await world.post('/simulations/clock/advance', { seconds: 86_400 }))
    ok(await self.pay(20, to))
    ok(await self.pay(3, to, {}, withPartyKey()))
    ok(await self.pay(500, to))
    ok(await world.post(`${await buy(50)}/capture`, { amount: 30, currency: 'USD' }))
    ok(await world.post(`${await buy(40)}/reverse`, {}))
    await proveBooks(world.store)
    expect(await limitsHitBy(151)).toEqual([['dailyAmount', 200, 201]])
    expect(await limitsHitBy(150)).toEqual([])
    ok(await world.post('/simulations/clock/advance', { seconds: 86_400 }))
    await self.setLimits('agents', ownAgent.agentId, { perMonth: 311 })
    expect(await limitsHitBy(2)).toEqual([['monthlyAmount', 311, 312]])
  })

  test("a party's limits apply to its outgoing payments and wires, made by an agent or with a party key", async () => {
    await self.setLimits('parties', ownAgent.partyId, { perDay: 100 })
    expect(await limitsHitBy(50, withPartyKey())).toEqual([])
    expect(await limitsHitBy(50)).toEqual([])
    expect(await limitsHitBy(1, withPartyKey())).toEqual([['dailyAmount', 100, 101]])
    const wire = created(await world.post('/wire', { amount: 5, beneficiary }))
    expect(await reasons(wire)).toEqual([['dailyAmount', 100, 105]])
    expect(await self.pay(100, { type: 'party_id', value: ownAgent.partyId }, {}, { key: other.apiKey })).toMatchObject(
      {
        status: 201,
      },
    )
  })

  test('limits count pending and approved payments, but not those in review, denied or canceled', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perDay: 100 })
    const pending = created(await self.pay(60, { type: 'email', value: 'a@b.example' }))
    const inReview = created(await self.pay(50, to))
    expect(await reasons(inReview)).toEqual([['dailyAmount', 100, 110]])
    expect(await limitsHitBy(1)).toEqual([])
    ok(await self.cancel(pending))
    expect(await limitsHitBy(1)).toEqual([])
    ok(await self.approve((await self.approvalOf(inReview)).id, withPartyKey()))
    const denied = created(await self.pay(60, to))
    expect(await reasons(denied)).toEqual([['dailyAmount', 100, 112]])
    ok(await self.deny((await self.approvalOf(denied)).id, {}, withPartyKey()))
    expect(await limitsHitBy(40)).toEqual([])
  })

  test('simultaneous payments cannot exceed a limit together', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perDay: 100 })
    const answers = await Promise.all(Array.from({ length: 20 }, () => self.pay(30, to)))
    const statuses = answers.map((answer) => ok(answer).json.data.attributes.status)
    expect(statuses.filter((status) => status === 'COMPLETED')).toHaveLength(3)
    expect(await self.balance()).toMatchObject({ available: 250_000 - 90 })
  })

  test('insufficient funds are reported before an exceeded limit', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perTransaction: 1 })
    expectRefusal(await self.pay(250_001, to), 'conflict', { source: { pointer: '/data/attributes/amount' } })
  })

  describe('payments for a customer', () => {
    let customer: string
    let acting: { customerPartyId: string }
    const query = () => `?customerPartyId=${customer}`
    const forCustomer = (amount: number) => self.pay(amount, to, acting)

    beforeEach(async () => {
      customer = await world.customerPartyId()
      acting = { customerPartyId: customer }
    })

    test("the money comes from the customer's wallet, and the payment records the customer", async () => {
      const { data } = ok(await forCustomer(300)).json
      expect(data.relationships).toMatchObject({
        sender: { data: { type: 'party', id: customer } },
        senderAgent: { data: { type: 'agent', id: ownAgent.agentId } },
        customerParty: { data: { type: 'party', id: customer } },
      })
      expect(await self.balance({}, query())).toMatchObject({ available: 99_700 })
      expect(await self.balance()).toMatchObject({ available: 250_000 })
      expectRefusal(await world.get(`/payments/${data.id}`), 'not_found')
      ok(await world.get(`/payments/${data.id}${query()}`))
      ok(await world.get(`/payments/${data.id}?partyId=${customer}`))
      const ids = async (path: string) => ok(await world.get(path)).json.data.map(({ id }: { id: string }) => id)
      expect(await ids('/payments')).toEqual([])
      expect(await ids(`/payments${query()}`)).toEqual([data.id])
      expect(await ids(`/transactions${query()}&delegated=true`)).toHaveLength(1)
      expect(await ids(`/transactions${query()}&delegated=false`)).toEqual([])
      expect(ok(await forCustomer(5)).json.data.attributes.status).toBe('COMPLETED')
      expect(
        ok(await self.pay(7, { type: 'party_id', value: ownAgent.partyId }, acting)).json.data.relationships.recipient,
      ).toEqual({
        data: { type: 'party', id: ownAgent.partyId },
      })
      expect(await self.balance()).toMatchObject({ available: 250_007 })
    })

    test("the grant's limit applies, and the agent's own limit does not", async () => {
      await self.setLimits('agents', ownAgent.agentId, { perTransaction: 1 })
      await self.setLimits('delegations', await self.delegationId(customer), { perTransaction: 100, perDay: 150 })
      const wire = { amount: 101, beneficiary, ...acting }
      expect(await reasons(created(await forCustomer(100)), {}, query())).toEqual([])
      const id = created(await forCustomer(101))
      expect(await reasons(id, {}, query())).toEqual([
        ['perTransactionAmount', 100, 101],
        ['dailyAmount', 150, 201],
      ])
      expect(ok(await world.post('/wire', wire)).json.data.attributes.status).toBe('IN_REVIEW')
      const approval = await self.approvalOf(id, {}, query())
      expect(approval.attributes).toMatchObject({
        customer: { id: customer, name: 'Sandbox Customer' },
        initiator: { actorType: 'agent', agent: { id: ownAgent.agentId, owner: { partyId: ownAgent.partyId } } },
      })
      // The money belongs to the customer, so only the customer may approve the payment.
      for (const key of [world.agentKey, world.apiKey]) {
        expectRefusal(await self.approve(approval.id, { key }), 'not_found')
      }
      ok(await self.approve(approval.id, { key: await self.addPartyKey(customer) }))
      expect(await self.balance({}, query())).toMatchObject({ available: 99_799 })
    })

    test("the customer's own limits apply too", async () => {
      await self.setLimits('parties', customer, { perTransaction: 50 })
      await self.setLimits('delegations', await self.delegationId(customer), { perTransaction: 60 })
      expect(await reasons(created(await forCustomer(70)), {}, query())).toEqual([
        ['perTransactionAmount', 60, 70],
        ['perTransactionAmount', 50, 70],
      ])
    })

    test('the agent that made a payment for a customer can cancel it, or simulate that the recipient claims it', async () => {
      const unknown = { type: 'email', value: 'a@b.example' }
      const [first, second] = [
        created(await self.pay(10, unknown, acting)),
        created(await self.pay(20, unknown, acting)),
      ]
      expectRefusal(await self.cancel(first), 'not_found')
      ok(await self.cancel(first, { attributes: acting }))
      ok(await self.claim(second))
      expect(await self.balance({}, query())).toMatchObject({ available: 99_980, total: 99_980 })
    })

    test("a payment gets 403 and moves no money if there is no grant, if the grant lacks the permission, or if a party's key is used", async () => {
      const source = { pointer: '/data/attributes/customerPartyId' }
      const refused = async (customerPartyId: string, sent?: object) =>
        expectRefusal(await self.pay(10, to, { customerPartyId }, sent), 'forbidden', { source })
      await refused(`pty_${'0'.repeat(32)}`)
      await refused(other.partyId)
      await refused(customer, { key: world.apiKey })
      await refused(customer, { key: other.agentKey })
      const granted = { customerPartyId: customer, agentPartyId: other.partyId, agentId: other.agentId }
      await addDelegation(world, { ...granted, permissions: JSON.stringify(['payments.read']) })
      await refused(customer, { key: other.agentKey })
      ok(await world.get(`/payments${query()}`, { key: other.agentKey }))
      expect(await self.balance({}, query())).toMatchObject({ available: 100_000 })
    })

    test('the same idempotency key works separately for the party itself and for its customer', async () => {
      const sent = { idempotencyKey: 'same' }
      const [mine, theirs] = [await self.pay(10, to, {}, sent), await self.pay(10, to, acting, sent)]
      expect(created(mine)).not.toBe(created(theirs))
    })
  })
})

const beneficiary = {
  name: 'Acme',
  accountNumber: '000123456789',
  routingNumber: '021000021',
  address: { line1: '1 Main St', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' },
}
