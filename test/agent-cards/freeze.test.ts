import { afterEach, beforeEach, expect, test } from 'vitest'
import { agentCardStatuses } from '../../tools/agent-cards.ts'
import { proveBooks, readBooks } from '../ledger/books.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addDelegation, addKey, addParty, createWorld, type Sent, type World } from '../support/world.ts'

const hour = 60 * 60_000
const operations = ['freeze', 'unfreeze'] as const
type Operation = (typeof operations)[number]
type Status = (typeof agentCardStatuses)[number]

/** For each status of a card: the status after each operation, or null if the operation is refused. */
const nextStatus: Record<Status, Record<Operation, Status | null>> = {
  active: { freeze: 'frozen', unfreeze: null },
  frozen: { freeze: null, unfreeze: 'active' },
  used: { freeze: null, unfreeze: null },
  expired: { freeze: null, unfreeze: null },
}
const cases = agentCardStatuses.flatMap((status) =>
  operations.map((operation) => {
    const after = nextStatus[status][operation]
    return [operation, status, after === null ? 'is refused' : `makes the card ${after}`, after] as const
  }),
)

onEachDatabase('freezing cards', (database) => {
  let world: World
  beforeEach(async () => {
    world = await createWorld(database)
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const act = (operation: Operation, cardId: string, sent?: Sent) =>
    world.send('POST', `/agent-cards/${cardId}/${operation}`, sent)
  const statusOf = async (cardId: string, sent?: Sent) =>
    (await world.get(`/agent-cards/${cardId}`, sent)).json.data.attributes.status
  const frozenCard = async () => {
    const cardId = await world.issueCard()
    expect((await act('freeze', cardId)).status).toBe(200)
    return cardId
  }
  const createCard = async (status: Status) => {
    const cardId = status === 'frozen' ? await frozenCard() : await world.issueCard()
    if (status === 'used') expect((await world.authorize(cardId, 100)).status).toBe(200)
    if (status === 'expired') world.system.pass(hour)
    expect(await statusOf(cardId)).toBe(status)
    return cardId
  }

  test.each(cases)('a request to %s a card in the status %s %s', async (operation, status, _, after) => {
    const cardId = await createCard(status)
    const before = (await world.get(`/agent-cards/${cardId}`)).json.data
    const { transactions } = await readBooks(world.store)
    world.system.pass(1000)
    const answer = await act(operation, cardId)
    if (after === null) {
      expectRefusal(answer, 'conflict')
      expect(answer.json.errors[0].detail).toContain(`this one is ${status}.`)
      expect((await world.get(`/agent-cards/${cardId}`)).json.data).toEqual(before)
      return
    }
    const updatedAt = new Date(Date.parse(before.attributes.updatedAt) + 1000).toISOString()
    const expected = { ...before, attributes: { ...before.attributes, status: after, updatedAt } }
    expect(answer.json).toEqual({ data: expected })
    expect((await world.get(`/agent-cards/${cardId}`)).json.data).toEqual(expected)
    expect((await world.get('/agent-cards')).json.data[0].attributes.status).toBe(after)
    expect((await readBooks(world.store)).transactions).toEqual(transactions)
  })

  test('a frozen card refuses authorizations until it is unfrozen', async () => {
    const cardId = await frozenCard()
    // A frozen card refuses every amount. If the card were active, 5001 would be declined, because the maximum is 5000.
    for (const amount of [100, 5001]) {
      const refused = await world.authorize(cardId, amount)
      expectRefusal(refused, 'conflict')
      expect(refused.json.errors[0].detail).toBe(
        'The card is frozen. Unfreeze it, then authorize again with a new idempotency key.',
      )
    }
    expect((await world.get(`/card-transactions?cardId=${cardId}`)).json.data).toEqual([])
    expect((await act('unfreeze', cardId, { attributes: {} })).status).toBe(200)
    expect((await world.authorize(cardId, 100)).json.data.attributes.status).toBe('authorized')
  })

  test('a frozen card still expires on time', async () => {
    const cardId = await frozenCard()
    world.system.pass(hour - 1)
    expect(await statusOf(cardId)).toBe('frozen')
    world.system.pass(1)
    expect(await statusOf(cardId)).toBe('expired')
    expectRefusal(await act('unfreeze', cardId), 'conflict')
    const { decline } = (await world.authorize(cardId, 100)).json.data.attributes
    expect(decline.code).toBe('single_use_card_expired')
  })

  test("a repeated request gets the recorded answer, even if the card's status has changed since", async () => {
    const cardId = await world.issueCard()
    expectRefusal(await act('freeze', cardId, { idempotencyKey: null }), 'invalid_value', {
      status: 400,
      source: { header: 'Idempotency-Key' },
    })
    const first = await act('freeze', cardId, { idempotencyKey: 'once' })
    expect((await act('unfreeze', cardId)).status).toBe(200)
    const repeat = await act('freeze', cardId, { idempotencyKey: 'once' })
    expect(repeat.text).toBe(first.text)
    expect(repeat.headers.get('x-idempotency-replayed')).toBe('true')
    expect(await statusOf(cardId)).toBe('active')
  })

  test('an agent can freeze only its own cards, and an API key can freeze all cards of its party', async () => {
    const { partyId } = await world.whoami()
    const walletId = (await world.get('/wallets')).json.data[0].id
    const colleague = await addAgent(world, partyId, walletId, ['cards.read'])
    const stranger = await addParty(world)
    const reader = await addKey(world, { partyId, agentId: null, scopes: ['cards.read'] })
    const cardId = await world.issueCard()
    for (const operation of operations) {
      expectRefusal(await act(operation, cardId, { key: colleague.agentKey }), 'not_found')
      expectRefusal(await act(operation, cardId, { key: stranger.agentKey }), 'not_found')
      expectRefusal(await act(operation, cardId, { key: stranger.apiKey }), 'not_found')
      expectRefusal(await act(operation, cardId, { key: reader }), 'forbidden')
    }
    expect(await statusOf(cardId)).toBe('active')
    for (const [operation, status] of [
      ['freeze', 'frozen'],
      ['unfreeze', 'active'],
    ] as const) {
      expect((await act(operation, cardId, { key: world.apiKey })).json.data.attributes.status).toBe(status)
    }
    const asColleague = { key: colleague.agentKey }
    const theirs = await world.issueCard({}, asColleague)
    expect((await act('freeze', theirs, asColleague)).json.data.attributes.status).toBe('frozen')
    expect((await act('unfreeze', theirs, asColleague)).json.data.attributes.status).toBe('active')
  })

  test("an agent can freeze a customer's card only with the customer's grant", async () => {
    const { partyId, agentId } = await world.whoami()
    const customer = await addParty(world)
    const customerPartyId = customer.partyId
    await addDelegation(world, { customerPartyId, agentPartyId: partyId, agentId: String(agentId) })
    const cardId = await world.issueCard({ customerPartyId })
    expectRefusal(await act('freeze', cardId), 'not_found')
    const frozen = await act('freeze', cardId, { attributes: { customerPartyId } })
    expect(frozen.json.data.attributes.status).toBe('frozen')
    const revoked = `/simulations/customers/${customerPartyId}/agents/${agentId}/revoke`
    expect((await world.send('POST', revoked, { key: world.apiKey })).status).toBe(200)
    expectRefusal(await act('unfreeze', cardId, { attributes: { customerPartyId } }), 'forbidden', {
      source: { pointer: '/data/attributes/customerPartyId' },
    })
    // Like any other card, a frozen card expires when the agent loses its permission (docs/service.md#end-of-a-card).
    expect(await statusOf(cardId, { key: customer.apiKey })).toBe('expired')
  })

  test('cards can be frozen in production too', async () => {
    const production = await createWorld(database, { environment: 'production' })
    const cardId = await production.issueCard()
    const frozen = await production.send('POST', `/agent-cards/${cardId}/freeze`)
    expect(frozen.json.data.attributes.status).toBe('frozen')
    await production.drop()
  })
})
