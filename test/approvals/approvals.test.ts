import { afterEach, beforeEach, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { created, ok, type Payer, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addKey, addParty, createWorld, type OtherParty, type World } from '../support/world.ts'

onEachDatabase('approvals', (database) => {
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
    await self.setLimits('agents', ownAgent.agentId, { perTransaction: 1000 })
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const byParty = () => ({ key: world.apiKey })
  const review = async (amount = 1001, counterparty: object = to) => {
    const id = created(await self.pay(amount, counterparty))
    expect(await self.status(id)).toBe('IN_REVIEW')
    return { id, approval: await self.approvalOf(id) }
  }

  test('an approval has the specified form, and its payment moves no money before it is approved', async () => {
    const { id, approval } = await review()
    expect(await self.balance()).toMatchObject({ available: 250_000, total: 250_000 })
    expect(approval).toStrictEqual({
      type: 'approval',
      id: expect.stringMatching(/^apr_[0-9a-f]{32}$/),
      attributes: {
        status: 'pending',
        target: { type: 'payment', id },
        payment: { amount: 1001, currency: 'USD' },
        reasons: [
          {
            type: 'limitExceeded',
            limitType: 'perTransactionAmount',
            limitAmount: 1000,
            actualAmount: 1001,
            currency: 'USD',
          },
        ],
        customer: null,
        ach: null,
        realtime: null,
        wire: null,
        initiator: {
          actorType: 'agent',
          agent: {
            id: ownAgent.agentId,
            name: 'Sandbox shopper',
            owner: { partyId: ownAgent.partyId, name: 'Sandbox Organization' },
          },
        },
        denialReason: null,
        createdAt: '2026-01-15T12:00:00.000Z',
        updatedAt: '2026-01-15T12:00:00.000Z',
        resolvedAt: null,
      },
    })
    expect(ok(await world.get(`/approvals/${approval.id}`)).json.data).toStrictEqual(approval)
    world.system.pass(60_000)
    const approved = ok(await self.approve(approval.id, byParty())).json.data
    const at = '2026-01-15T12:01:00.000Z'
    expect(approved).toStrictEqual({
      ...approval,
      attributes: { ...approval.attributes, status: 'approved', updatedAt: at, resolvedAt: at },
    })
    expect(await self.balance()).toMatchObject({ available: 248_999, total: 248_999 })
    const payment = ok(await world.get(`/payments/${id}`)).json.data
    expect(payment.attributes).toMatchObject({ status: 'COMPLETED', agentId: ownAgent.agentId, instanceId: 'run 1' })
    expect(payment.relationships.transaction.data).not.toBeNull()
  })

  test('a payment in review to an unknown recipient has a claim link; approving it holds the money', async () => {
    const { data } = ok(await self.pay(2000, { type: 'phone', value: '+14155550100' })).json
    expect(data.attributes).toMatchObject({ status: 'IN_REVIEW', claimLink: expect.any(String) })
    ok(await self.approve((await self.approvalOf(data.id)).id, byParty()))
    expect(await self.status(data.id)).toBe('PENDING_CLAIM')
    expect(await self.balance()).toMatchObject({ available: 248_000, total: 250_000 })
    ok(await self.claim(data.id))
    expect(await self.balance()).toMatchObject({ available: 248_000, total: 248_000 })
  })

  test('an approval can be denied with or without a reason, and with or without a body', async () => {
    for (const [body, storedReason] of [
      [{ reason: 'Not this one.' }, 'Not this one.'],
      [{}, null],
      [undefined, null],
    ] as const) {
      const { id, approval } = await review()
      const { data } = ok(await self.deny(approval.id, body, byParty())).json
      expect(data.attributes).toMatchObject({
        status: 'denied',
        denialReason: storedReason,
        resolvedAt: expect.any(String),
      })
      expect(await self.status(id)).toBe('APPROVAL_DENIED')
    }
    const { approval } = await review()
    const answer = await self.deny(approval.id, { reason: 'x'.repeat(501) }, byParty())
    expectRefusal(answer, 'invalid_value', { status: 422, source: { pointer: '/data/attributes/reason' } })
    const denied = await world.send('POST', `/approvals/${approval.id}/deny`, { ...byParty(), body: '{}' })
    expect(ok(denied).json.data.attributes.status).toBe('denied')
    expect(await self.balance()).toMatchObject({ available: 250_000 })
  })

  test('an approval is canceled together with its payment', async () => {
    const { id, approval } = await review()
    ok(await self.cancel(id))
    const { attributes } = ok(await world.get(`/approvals/${approval.id}`)).json.data
    expect(attributes).toMatchObject({ status: 'canceled', resolvedAt: expect.any(String), denialReason: null })
    expectRefusal(await self.approve(approval.id, byParty()), 'conflict')
  })

  test('approving requires an idempotency key, accepts no body, and needs no instance id', async () => {
    const { approval } = await review()
    const source = { header: 'Idempotency-Key' }
    expectRefusal(await self.approve(approval.id, { ...byParty(), idempotencyKey: null }), 'invalid_value', { source })
    const body = await self.approve(approval.id, { ...byParty(), attributes: {} })
    expectRefusal(body, 'invalid_value', { source: { pointer: '' } })
    const sent = { ...byParty(), idempotencyKey: 'approve it', instanceId: null }
    const first = ok(await self.approve(approval.id, sent))
    expect(ok(await self.approve(approval.id, sent)).text).toBe(first.text)
    expectRefusal(await self.approve(approval.id, byParty()), 'conflict')
    expect(await self.balance()).toMatchObject({ available: 248_999 })
  })

  test("approving is refused while the funds are insufficient or the payer's or recipient's wallet is frozen", async () => {
    const { id, approval } = await review(200_000)
    ok(await self.pay(100_000, to, {}, byParty()))
    expectRefusal(await self.approve(approval.id, byParty()), 'conflict')
    expect(await self.status(id)).toBe('IN_REVIEW')
    expect((await self.approvalOf(id)).attributes.status).toBe('pending')
    await self.freeze(ownAgent.partyId)
    ok(
      await world.post(
        `/simulations/customers/${other.partyId}/transfers/deposit`,
        { amount: 1 },
        { key: other.apiKey },
      ),
    )
    expectRefusal(await self.approve(approval.id, byParty()), 'conflict')
    await self.freeze(ownAgent.partyId, 'active')
    ok(await world.post(`/simulations/customers/${ownAgent.partyId}/transfers/deposit`, { amount: 50_000 }))
    await self.freeze(other.partyId)
    expectRefusal(await self.approve(approval.id, byParty()), 'conflict')
    await self.freeze(other.partyId, 'active')
    ok(await self.approve(approval.id, byParty()))
    expect(await self.balance()).toMatchObject({ available: 0, total: 0 })
  })

  test('an agent may approve payments made by a party key or user, but not payments made by an agent', async () => {
    const { approval } = await review()
    const [wallet] = ok(await world.get('/wallets')).json.data
    const second = await addAgent(world, ownAgent.partyId, wallet.id, ['payments.read', 'payments.create'])
    for (const key of [world.agentKey, second.agentKey]) {
      expectRefusal(await self.approve(approval.id, { key }), 'forbidden')
    }
    await self.setLimits('parties', ownAgent.partyId, { perTransaction: 500 })
    const user = await self.userToken(ownAgent.partyId)
    for (const key of [world.apiKey, user.credential]) {
      const id = created(await self.pay(501, to, {}, { key }))
      const approval = await self.approvalOf(id)
      expect(approval.attributes.initiator).toEqual({ actorType: key === world.apiKey ? 'api' : 'user', agent: null })
      ok(await self.approve(approval.id, { key: second.agentKey }))
    }
    const third = await addAgent(world, ownAgent.partyId, wallet.id, ['payments.read'])
    const id = created(await self.pay(501, to, {}, byParty()))
    expectRefusal(await self.approve((await self.approvalOf(id)).id, { key: third.agentKey }), 'forbidden')
  })

  test('to approve more than USD 500.00, a user must recently have entered a second-factor code', async () => {
    const user = await self.userToken(ownAgent.partyId)
    const key = { key: user.credential }
    ok(await self.approve((await review(50_000)).approval.id, key))
    const { approval } = await review(50_001)
    const refused = await self.approve(approval.id, key)
    expectRefusal(refused, 'mfa_required')
    expect(refused.json.errors[0].detail).toMatch(/https?:\/\/\S+\/verify/)
    await user.verify(world.system.now() - 16 * 60_000)
    expectRefusal(await self.approve(approval.id, key), 'mfa_required')
    await user.verify(world.system.now())
    ok(await self.approve(approval.id, key))
    ok(await self.approve((await review(60_000)).approval.id, byParty()))
  })

  test('a hundred simultaneous decisions about one approval move the money at most once', async () => {
    const { id, approval } = await review(1500)
    const keys = Array.from({ length: 100 }, (_, index) => ({ ...byParty(), idempotencyKey: `race ${index}` }))
    const answers = await Promise.all(
      keys.map((sent, index) =>
        index % 10 === 9 ? self.deny(approval.id, {}, sent) : self.approve(approval.id, sent),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) expectRefusal(answer, 'conflict')
    const moved = (await self.status(id)) === 'COMPLETED' ? 1500 : 0
    expect(await self.balance()).toMatchObject({ available: 250_000 - moved, total: 250_000 - moved })
    expect(ok(await world.get('/transactions')).json.data).toHaveLength(moved === 0 ? 0 : 1)
  })

  test('when an approval, a denial and a cancellation race, exactly one of them succeeds', async () => {
    const reviews = []
    for (let count = 0; count < 5; count++) reviews.push(await review(1500 + count))
    const statuses = await Promise.all(
      reviews.map(({ id, approval }) =>
        Promise.all([self.cancel(id), self.approve(approval.id, byParty()), self.deny(approval.id, {}, byParty())]),
      ),
    )
    for (const answers of statuses) expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    for (const { id, approval } of reviews) {
      const { status } = ok(await world.get(`/approvals/${approval.id}`)).json.data.attributes
      const expected = { approved: 'COMPLETED', denied: 'APPROVAL_DENIED', canceled: 'CANCELED' }
      expect(await self.status(id)).toBe(expected[status as keyof typeof expected])
    }
  })

  test('the list of approvals is newest first, has pages and a filter, and omits those of other parties', async () => {
    const approvalIds = []
    for (let count = 0; count < 4; count++) {
      world.system.pass(1000)
      approvalIds.unshift((await review()).approval.id)
    }
    ok(await self.approve(approvalIds[0], byParty()))
    ok(await self.deny(approvalIds[1], {}, byParty()))
    const ids = async (query: string, key = world.apiKey) =>
      ok(await world.get(`/approvals${query}`, { key })).json.data.map(({ id }: { id: string }) => id)
    expect(await ids('')).toEqual(approvalIds)
    expect(await ids('', world.agentKey)).toEqual(approvalIds)
    expect(await ids('', other.apiKey)).toEqual([])
    expect(await ids('?status=approved')).toEqual([approvalIds[0]])
    expect(await ids('?status=pending')).toEqual(approvalIds.slice(2))
    expect(await ids('?status=canceled')).toEqual([])
    const first = ok(await world.get('/approvals?limit=3', byParty())).json
    expect(first.data).toHaveLength(3)
    expect(await ids(`?limit=3&cursor=${first.meta.pagination.nextCursor}`)).toEqual([approvalIds[3]])
    expectRefusal(await world.get('/approvals?status=APPROVED'), 'invalid_value', { source: { parameter: 'status' } })
  })

  test('other parties cannot find an approval, and a read-only key cannot decide it', async () => {
    const { approval } = await review()
    const unknownId = `apr_${'0'.repeat(32)}`
    const scoped = await addKey(world, { partyId: ownAgent.partyId, agentId: null, scopes: ['payments.read'] })
    for (const id of [approval.id, unknownId]) {
      for (const key of [other.apiKey, other.agentKey]) {
        expectRefusal(await world.get(`/approvals/${id}`, { key }), 'not_found')
        expectRefusal(await self.approve(id, { key }), 'not_found')
        expectRefusal(await self.deny(id, {}, { key }), 'not_found')
      }
    }
    expectRefusal(await self.approve(approval.id, { key: scoped }), 'forbidden')
    expectRefusal(await self.deny(approval.id, {}, { key: scoped }), 'forbidden')
    ok(await world.get(`/approvals/${approval.id}`, { key: scoped }))
  })
})
