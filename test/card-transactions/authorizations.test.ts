import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { declines as codes } from '../../tools/card-transactions.ts'
import { proveBooks, readBooks } from '../ledger/books.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'

const minute = 60_000

/** The decline codes, in the order in which the service checks them. */
const declines = [
  'single_use_card_expired',
  'single_use_card_used',
  'single_use_amount_over_maximum',
  'insufficient_funds',
] as const

/** Every combination of decline reasons, each with its outcome. The first reason in `declines` decides the outcome. */
const combinations = Array.from({ length: 16 }, (_, bits) => {
  const reasons = declines.filter((_, index) => (bits & (1 << index)) !== 0)
  const outcome = reasons[0] === undefined ? 'approved' : `declined as ${reasons[0]}`
  return { reasons: reasons.join(' and ') || 'no reason to decline it', outcome, applies: new Set<string>(reasons) }
})

test('the combinations include exactly the decline codes of the API', () => {
  expect(Object.keys(codes).toSorted()).toEqual(declines.toSorted())
})

onEachDatabase('card authorizations', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const cardStatus = async (cardId: string, key = world.agentKey) =>
    (await world.get(`/agent-cards/${cardId}`, { key })).json.data.attributes.status
  const reverse = (id: string, key = world.agentKey) =>
    world.post(`/simulations/card-transactions/${id}/reverse`, {}, { key })

  test('an authorization holds its amount', async () => {
    const before = (await world.get('/wallets')).json.data[0].attributes.balance
    const answer = await world.authorize(await world.issueCard({ maximumAmount: 5000 }), 1234)
    const { data } = answer.json
    expect(data.attributes).toMatchObject({
      status: 'authorized',
      kind: 'purchase',
      amount: 1234,
      held: 1234,
      decline: null,
    })
    expect(Date.parse(data.attributes.holdExpiresAt) - Date.parse(data.attributes.createdAt)).toBe(7 * 24 * 60 * minute)
    const after = (await world.get('/wallets')).json.data[0].attributes.balance
    expect(after).toEqual({ ...before, available: before.available - 1234 })
    await reverse(data.id)
  })

  describe('decline reasons', () => {
    test.each(combinations)('an authorization with $reasons is $outcome', async ({ applies }) => {
      const { agentKey: key, walletId } = await addParty(world, { fundsCents: 1000 })
      const over = applies.has('single_use_amount_over_maximum')
      const amount = applies.has('insufficient_funds') ? 1001 : 1000
      const cardId = await world.issueCard({ maximumAmount: over ? amount - 1 : amount }, { key })
      if (applies.has('single_use_card_used')) {
        const first = await world.authorize(cardId, 1, { key })
        expect(first.json.data.attributes.status).toBe('authorized')
        await reverse(first.json.data.id, key)
      }
      if (applies.has('single_use_card_expired')) world.system.pass(60 * minute)
      const before = await readBooks(world.store)
      const answer = await world.authorize(cardId, amount, { key })
      const expected = declines.find((code) => applies.has(code))
      expect(answer.status).toBe(200)
      if (expected === undefined) {
        expect(answer.json.data.attributes).toMatchObject({ status: 'authorized', decline: null })
        return
      }
      expect(answer.json.data.attributes).toMatchObject({
        status: 'declined',
        amount,
        held: 0,
        captured: 0,
        refunded: 0,
        holdExpiresAt: null,
        decline: { code: expected, detail: expect.stringMatching(/\S/) },
      })
      const after = await readBooks(world.store)
      expect({ ...after, keys: 0, transactions: [] }).toEqual({ ...before, keys: 0, transactions: [] })
      const { balance } = (await world.get(`/wallets/${walletId}`, { key })).json.data.attributes
      expect(balance).toEqual({ available: 1000, total: 1000, currency: 'USD' })
    })
  })

  test('a held amount counts as spent, and a released amount is available again', async () => {
    const { agentKey: key } = await addParty(world, { fundsCents: 1000 })
    const first = await world.authorize(await world.issueCard({}, { key }), 600, { key })
    const second = await world.issueCard({}, { key })
    expect((await world.authorize(second, 401, { key })).json.data.attributes.decline.code).toBe('insufficient_funds')
    expect(await cardStatus(second, key)).toBe('active')
    expect((await world.authorize(second, 400, { key })).json.data.attributes.status).toBe('authorized')
    await reverse(first.json.data.id, key)
    const third = await world.authorize(await world.issueCard({}, { key }), 600, { key })
    expect(third.json.data.attributes.status).toBe('authorized')
  })

  test('a declined authorization leaves the card unused', async () => {
    const cardId = await world.issueCard({ maximumAmount: 100 })
    expect((await world.authorize(cardId, 101)).json.data.attributes.status).toBe('declined')
    expect(await cardStatus(cardId)).toBe('active')
    expect((await world.authorize(cardId, 100)).json.data.attributes.status).toBe('authorized')
    expect(await cardStatus(cardId)).toBe('used')
  })

  test.each(['reverse', 'expire', 'capture'])('a used card stays used after the action %s', async (action) => {
    const cardId = await world.issueCard()
    const { id } = (await world.authorize(cardId, 100)).json.data
    const attributes = action === 'capture' ? { amount: 100, currency: 'USD' } : {}
    expect((await world.post(`/simulations/card-transactions/${id}/${action}`, attributes)).status).toBe(200)
    expect(await cardStatus(cardId)).toBe('used')
    expect((await world.authorize(cardId, 1)).json.data.attributes.decline.code).toBe('single_use_card_used')
  })

  test.each([
    [undefined, 60],
    [5, 5],
    [1440, 1440],
  ])('a card can be used until it expires (expiresInMinutes %s)', async (expiresInMinutes, lasts) => {
    const attributes = expiresInMinutes === undefined ? {} : { expiresInMinutes }
    const [cardId, otherCardId] = [await world.issueCard(attributes), await world.issueCard(attributes)]
    const { createdAt, expiresAt } = (await world.get(`/agent-cards/${cardId}`)).json.data.attributes
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(lasts * minute)
    world.system.pass(lasts * minute - 1)
    expect(await cardStatus(cardId)).toBe('active')
    expect((await world.authorize(otherCardId, 1)).json.data.attributes.status).toBe('authorized')
    world.system.pass(1)
    expect(await cardStatus(cardId)).toBe('expired')
    expect((await world.authorize(cardId, 1)).json.data.attributes.decline.code).toBe('single_use_card_expired')
  })

  describe('simultaneous authorizations', () => {
    test('exactly one of 100 simultaneous authorizations on one card is approved', async () => {
      const cardId = await world.issueCard()
      const answers = await Promise.all(Array.from({ length: 100 }, () => world.authorize(cardId, 1)))
      const outcomes = Map.groupBy(
        answers,
        ({ json }) => json.data?.attributes.decline?.code ?? json.data?.attributes.status,
      )
      expect(Object.fromEntries([...outcomes].map(([outcome, all]) => [outcome, all.length]))).toEqual({
        authorized: 1,
        single_use_card_used: 99,
      })
      await proveBooks(world.store)
    })

    test('with a balance for 5 purchases, exactly 5 of 20 simultaneous authorizations are approved', async () => {
      const { agentKey: key, walletId } = await addParty(world, { fundsCents: 5999 })
      const cards = await Promise.all(Array.from({ length: 20 }, () => world.issueCard({}, { key })))
      const answers = await Promise.all(cards.map((cardId) => world.authorize(cardId, 1000, { key })))
      const outcomes = answers.map(({ json }) => json.data.attributes.decline?.code ?? json.data.attributes.status)
      expect(outcomes.filter((outcome) => outcome === 'authorized')).toHaveLength(5)
      expect(outcomes.filter((outcome) => outcome === 'insufficient_funds')).toHaveLength(15)
      const { balance } = (await world.get(`/wallets/${walletId}`, { key })).json.data.attributes
      expect(balance).toEqual({ available: 999, total: 5999, currency: 'USD' })
      await proveBooks(world.store)
    })
  })

  describe('card details', () => {
    test('card details contain the number and CVV of the fixed test card, and an expiration date', async () => {
      const cardId = await world.issueCard({ expiresInMinutes: 5 })
      const { json } = await world.get(`/agent-cards/${cardId}/details`)
      expect(json).toStrictEqual({
        data: {
          type: 'agentCardDetails',
          id: cardId,
          attributes: {
            number: expect.stringMatching(/^\d{16}$/),
            cvv: expect.stringMatching(/^\d{3}$/),
            expirationMonth: expect.any(Number),
            expirationYear: expect.any(Number),
          },
        },
      })
      expect(luhnSum(json.data.attributes.number) % 10).toBe(0)
      const other = await world.get(`/agent-cards/${await world.issueCard()}/details`)
      expect(other.json.data.attributes).toEqual(json.data.attributes)
    })

    test('card details contain the month and year in which the card expires, in UTC', async () => {
      await world.post('/simulations/clock/advance', { to: '2026-12-31T23:30:00Z' })
      const details = async (expiresInMinutes: number) => {
        const cardId = await world.issueCard({ expiresInMinutes })
        const { expirationMonth, expirationYear } = (await world.get(`/agent-cards/${cardId}/details`)).json.data
          .attributes
        return [expirationMonth, expirationYear]
      }
      expect(await details(29)).toEqual([12, 2026])
      expect(await details(30)).toEqual([1, 2027])
    })
  })

  describe('the issuing of cards', () => {
    let partyWithoutCards: OtherParty

    beforeAll(async () => {
      partyWithoutCards = await addParty(world, { party: { issuedCardsEnabled: 0 } })
    })

    test('a card is not issued if issued cards are not enabled for the party', async () => {
      const attributes = { merchant: { name: 'Books' }, maximumAmount: 1, currency: 'USD' }
      const answer = await world.post('/agent-cards', attributes, { key: partyWithoutCards.agentKey })
      expectRefusal(answer, 'issued_cards_not_enabled')
      expect((await world.get('/agent-cards', { key: partyWithoutCards.agentKey })).json.data).toEqual([])
    })

    test('issuing a card moves no money, even with the highest maximum amount', async () => {
      const before = await readBooks(world.store)
      await world.issueCard({ maximumAmount: 99_999_999 })
      const after = await readBooks(world.store)
      expect({ ...after, keys: 0 }).toEqual({ ...before, keys: 0 })
    })
  })
})

function luhnSum(number: string): number {
  return [...number].reverse().reduce((sum, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2)
    return sum + (value > 9 ? value - 9 : value)
  }, 0)
}
