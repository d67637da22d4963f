import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { limitsHit, limitsOf } from '../../src/service/rules/limits.ts'
import { proveBooks } from '../ledger/books.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addDelegation, addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { created, ok, type Payer, payer } from './payer.ts'

describe('the limits that an amount hits', () => {
  test.each([
    ['none', {}, []],
    ['nulls', { perTransaction: null, perDay: null, perMonth: null }, []],
    ['reached exactly', { perTransaction: 100, perDay: 150, perMonth: 350 }, []],
    ['zero', { perTransaction: 0 }, [['perTransactionAmount', 0, 100]]],
    ['a transaction', { perTransaction: 99, perDay: 150 }, [['perTransactionAmount', 99, 100]]],
    ['a day', { perTransaction: 100, perDay: 149 }, [['dailyAmount', 149, 150]]],
    ['a month', { perMonth: 349 }, [['monthlyAmount', 349, 350]]],
    [
      'all',
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
  [
    'an agent for its own party',
    { agentId: 'agt_1', agentPartyId: 'pty_own', partyId: 'pty_own' },
    ['agent', 'account'],
  ],
  ['an agent at a customer', { agentId: 'agt_1', agentPartyId: 'pty_own', partyId: 'pty_other' }, ['grant', 'account']],
  ['a deleted agent', { agentId: 'agt_1', agentPartyId: undefined, partyId: 'pty_own' }, ['grant', 'account']],
  ['a user or an API key', { agentId: null, agentPartyId: undefined, partyId: 'pty_own' }, ['account']],
])('the limits that apply to the spending of %s', (_, spending, expected) => {
  expect(limitsOf(spending)).toEqual(expected)
})

onEachDatabase('limits', (database) => {
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

  const byParty = () => ({ key: world.apiKey })
  /** Returns the reasons for the payment's review in short form. Returns none if the payment is not in review. */
  const reasons = async (paymentId: string, sent?: object, query?: string): Promise<unknown[]> => {
    const approval = await self.approvalOf(paymentId, sent ?? byParty(), query)
    return (approval?.attributes.reasons ?? []).map((reason: Record<string, unknown>) => [
      reason.limitType,
      reason.limitAmount,
      reason.actualAmount,
    ])
  }
  const paid = async (amount: number, sent?: object) => reasons(created(await self.pay(amount, to, {}, sent)))

  test('of an agent per day apply until the UTC day ends', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perDay: 100 })
    expect(await paid(60)).toEqual([])
    expect(await paid(40)).toEqual([])
    expect(await paid(1)).toEqual([['dailyAmount', 100, 101]])
    world.system.pass(12 * 3_600_000 - 1)
    expect(await paid(1)).toEqual([['dailyAmount', 100, 101]])
    world.system.pass(1)
    expect(await paid(100)).toEqual([])
    expect(await paid(1)).toEqual([['dailyAmount', 100, 101]])
  })

  test('of an agent per month apply until the UTC month ends, by the clock of the sandbox', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perMonth: 100 })
    expect(await paid(100)).toEqual([])
    ok(await world.post('/simulations/clock/advance', { to: '2026-01-31T23:59:59.999Z' }))
    expect(await paid(1)).toEqual([['monthlyAmount', 100, 101]])
    ok(await world.post('/simulations/clock/advance', { to: '2026-02-01T00:00:00.000Z' }))
    expect(await paid(100)).toEqual([])
  })

  test('that are exceeded together are all listed, the agent’s before the party’s', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perTransaction: 10, perDay: 20, perMonth: 30 })
    await self.setLimits('parties', ownAgent.partyId, { perTransaction: 40, perDay: 45, perMonth: null })
    expect(await paid(10)).toEqual([])
    expect(await paid(50)).toEqual([
      ['perTransactionAmount', 10, 50],
      ['dailyAmount', 20, 60],
      ['monthlyAmount', 30, 60],
      ['perTransactionAmount', 40, 50],
      ['dailyAmount', 45, 60],
    ])
  })

  test('of an agent do not limit a party key or another agent', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perTransaction: 10, perDay: 20 })
    const [wallet] = ok(await world.get('/wallets')).json.data
    const { agentKey } = await addAgent(world, ownAgent.partyId, wallet.id, ['payments.create', 'payments.read'])
    expect(await paid(1000, byParty())).toEqual([])
    expect(await paid(1000, { key: agentKey })).toEqual([])
    expect(await paid(10)).toEqual([])
  })

  test('count payments and purchases of a day and a month, net of refunds', async () => {
    const buy = async (amount: number) => {
      const { id } = ok(await world.authorize(await world.issueCard(), amount)).json.data
      return `/simulations/card-transactions/${id}`
    }
    await self.setLimits('agents', ownAgent.agentId, { perDay: 200, perMonth: 1000 })
    ok(await self.pay(10, to))
    await buy(100)
    ok(await world.post('/simulations/clock/advance', { seconds: 86_400 }))
    ok(await self.pay(20, to))
    ok(await self.pay(3, to, {}, byParty()))
    ok(await self.pay(500, to))
    ok(await world.post(`${await buy(50)}/capture`, { amount: 30, currency: 'USD' }))
    ok(await world.post(`${await buy(40)}/reverse`, {}))
    await proveBooks(world.store)
    expect(await paid(151)).toEqual([['dailyAmount', 200, 201]])
    expect(await paid(150)).toEqual([])
    ok(await world.post('/simulations/clock/advance', { seconds: 86_400 }))
    await self.setLimits('agents', ownAgent.agentId, { perMonth: 311 })
    expect(await paid(2)).toEqual([['monthlyAmount', 311, 312]])
  })

  test('of a party apply to all outgoing payments of any sender', async () => {
    await self.setLimits('parties', ownAgent.partyId, { perDay: 100 })
    expect(await paid(50, byParty())).toEqual([])
    expect(await paid(50)).toEqual([])
    expect(await paid(1, byParty())).toEqual([['dailyAmount', 100, 101]])
    const wire = created(await world.post('/wire', { amount: 5, beneficiary }))
    expect(await reasons(wire)).toEqual([['dailyAmount', 100, 105]])
    expect(await self.pay(100, { type: 'party_id', value: ownAgent.partyId }, {}, { key: other.apiKey })).toMatchObject(
      {
        status: 201,
      },
    )
  })

  test('count pending and approved payments, not those in review, denied or canceled', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perDay: 100 })
    const pending = created(await self.pay(60, { type: 'email', value: 'a@b.example' }))
    const inReview = created(await self.pay(50, to))
    expect(await reasons(inReview)).toEqual([['dailyAmount', 100, 110]])
    expect(await paid(1)).toEqual([])
    ok(await self.cancel(pending))
    expect(await paid(1)).toEqual([])
    ok(await self.approve((await self.approvalOf(inReview)).id, byParty()))
    const denied = created(await self.pay(60, to))
    expect(await reasons(denied)).toEqual([['dailyAmount', 100, 112]])
    ok(await self.deny((await self.approvalOf(denied)).id, {}, byParty()))
    expect(await paid(40)).toEqual([])
  })

  test('hold under simultaneous payments', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perDay: 100 })
    const answers = await Promise.all(Array.from({ length: 20 }, () => self.pay(30, to)))
    const statuses = answers.map((answer) => ok(answer).json.data.attributes.status)
    expect(statuses.filter((status) => status === 'COMPLETED')).toHaveLength(3)
    expect(await self.balance()).toMatchObject({ available: 250_000 - 90 })
  })

  test('are checked after the funds', async () => {
    await self.setLimits('agents', ownAgent.agentId, { perTransaction: 1 })
    expectRefusal(await self.pay(250_001, to), 'conflict', { source: { pointer: '/data/attributes/amount' } })
  })

  describe('for a customer', () => {
    let customer: string
    let acting: { customerPartyId: string }
    const query = () => `?customerPartyId=${customer}`
    const forCustomer = (amount: number) => self.pay(amount, to, acting)

    beforeEach(async () => {
      customer = await world.customerPartyId()
      acting = { customerPartyId: customer }
    })

    test('money comes from the wallet of the customer, and the payment names the customer', async () => {
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
      const developer = ok(await forCustomer(5)).json.data
      expect(developer.attributes.status).toBe('COMPLETED')
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
      // The money is the customer's, so only the customer decides.
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

    test('can be canceled and claimed by the agent that acted', async () => {
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

    test('without a grant, without a permission or with a party key, a payment gets 403 and nothing moves', async () => {
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

    test('idempotency keys are separate for each customer', async () => {
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
