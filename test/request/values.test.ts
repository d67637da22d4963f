import { afterAll, beforeAll, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { type Answer, createWorld, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'

onEachDatabase('values of requests', (database) => {
  let world: World
  let customer: string
  beforeAll(async () => {
    world = await createWorld(database)
    customer = await world.customerPartyId()
  })
  afterAll(() => world.drop())

  test.each(['1e1', '0x10', '%205', '5%20', '+5', '05', '5.0', '-1', '', 'Infinity', '101'])(
    'limit=%s is refused as a page size',
    async (limit) => {
      for (const path of ['/wallets', '/customers', '/activity']) {
        expectRefusal(await world.get(`${path}?limit=${limit}`), 'invalid_value', { source: { parameter: 'limit' } })
      }
    },
  )

  test('limit=1 and limit=100 are accepted as page sizes', async () => {
    for (const limit of [1, 100]) expect((await world.get(`/wallets?limit=${limit}`)).status).toBe(200)
  })

  test('a payment number in the path must be decimal; 0x2 is refused', async () => {
    const path = `/subscriptions/sub_${'0'.repeat(32)}/payments/0x2/mark-paid`
    const answer = await world.post(path, {}, { key: world.apiKey })
    expectRefusal(answer, 'invalid_value', { source: { parameter: 'paymentNumber' } })
  })

  test('a request is refused if its customerPartyId and partyId differ', async () => {
    const other = `pty_${'0'.repeat(32)}`
    const disagreeing = await world.get(`/payments?customerPartyId=${customer}&partyId=${other}`)
    expectRefusal(disagreeing, 'invalid_value', { source: { parameter: 'partyId' } })
    expect((await world.get(`/payments?customerPartyId=${customer}&partyId=${customer}`)).status).toBe(200)
    const [first, second] = ['wal_a', 'wal_b']
    const transfer = {
      amount: 1,
      sourceWalletId: first,
      destWalletId: second,
      customerPartyId: customer,
      partyId: other,
    }
    expectRefusal(await world.post('/transfers/internal', transfer), 'invalid_value', {
      source: { pointer: '/data/attributes/partyId' },
    })
  })

  const subscribe = (description: string) => {
    const terms = { description, every: { unit: 'month', count: 1 }, amount: 1000, taxAmount: 0 }
    return world.post('/subscriptions', terms, { key: world.apiKey })
  }

  test.each(['Gym\nand pool', 'Gym\r\nand pool', '\tGym', 'x'.repeat(200)])(
    '%j is accepted as a description',
    async (description) => {
      expect((await subscribe(description)).json.data.attributes.terms.description).toBe(description)
      const payment = { amount: 1, counterparty: { type: 'email', value: 'a@b.example' } }
      const answer = await world.post('/payments', { ...payment, description: description.slice(0, 80) })
      expect(answer.json.data.attributes.description).toBe(description.slice(0, 80))
    },
  )

  test.each(['', ' ', '\n\t', 'a\u0000b', 'a\u001bb', 'a\u0085b', '\ud800', 'x'.repeat(201)])(
    '%j is refused as a description',
    async (description) => {
      const source = { pointer: '/data/attributes/description' }
      expectRefusal(await subscribe(description), 'invalid_value', { status: 422, source })
    },
  )

  test('the error about an amount in dollars suggests the cents; other number errors suggest nothing', async () => {
    const counterparty = { type: 'email', value: 'a@b.example' }
    for (const amount of [42.5, '42.50', '$42.50']) {
      const answer = await world.post('/payments', { amount, counterparty })
      const detail = `amount must be a ${typeof amount === 'string' ? '' : 'whole '}number of cents, got ${JSON.stringify(amount)}. If you meant dollars, write 4250.`
      expect(answer.json.errors).toMatchObject([
        { status: '422', source: { pointer: '/data/attributes/amount' }, detail },
      ])
    }
    const limits = { perDay: '1,250.00' }
    expect((await world.post('/agents', { name: 'A', limits }, { key: world.apiKey })).json.errors[0].detail).toBe(
      'limits.perDay must be a number of cents, got "1,250.00". If you meant dollars, write 125000.',
    )
    const text = await world.post('/payments', { amount: '4250', counterparty })
    expect(text.json.errors[0].detail).toBe('amount must be a number of cents, got "4250".')
    const merchant = { name: 'Books' }
    const minutes = await world.post('/agent-cards', {
      merchant,
      maximumAmount: 1,
      currency: 'USD',
      expiresInMinutes: 5.5,
    })
    expect(minutes.json.errors[0].detail).toBe('expiresInMinutes must be a whole number, got 5.5.')
  })

  test('an amount above 99,999,999 cents is refused, and the error states the maximum', async () => {
    const usd = { currency: 'USD' }
    const merchant = { name: 'Books' }
    const counterparty = { type: 'email', value: 'a@b.example' }
    const { partyId } = await world.whoami()
    const every = { unit: 'month', count: 1 }
    const expectTooMuch = (answer: Answer, field: string) => {
      const source = { pointer: `/data/attributes/${field}` }
      expect(answer.json.errors).toMatchObject([{ status: '422', source, meta: { maximum: 99_999_999 } }])
      expect(answer.json.errors[0].detail).toContain('at most 99999999 ($999,999.99), got')
    }
    const amount = 100_000_000
    expectTooMuch(await world.post('/agent-cards', { merchant, maximumAmount: amount, ...usd }), 'maximumAmount')
    expectTooMuch(await world.post('/payments', { amount, counterparty }), 'amount')
    expectTooMuch(await world.post(`/simulations/customers/${partyId}/transfers/deposit`, { amount }), 'amount')
    expectTooMuch(await world.post('/subscriptions', { description: 'Gym', every, amount, taxAmount: 0 }), 'amount')
    for (const action of ['agent-cards/pcd_1/authorize', 'card-transactions/cit_1/capture']) {
      const more = action.includes('authorize') ? { merchant } : {}
      expectTooMuch(await world.post(`/simulations/${action}`, { amount, ...usd, ...more }), 'amount')
    }
    expect((await world.post('/agent-cards', { merchant, maximumAmount: 99_999_999, ...usd })).status).toBe(200)
  })
})
