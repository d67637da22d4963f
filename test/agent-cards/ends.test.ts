import { afterEach, beforeEach, expect, test } from 'vitest'
import { scopes } from '../../src/core/permissions.ts'
import { proveBooks } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addDelegation, addKey, addParty, createWorld, type World } from '../support/world.ts'

onEachDatabase('cards of an agent that loses a permission', (database) => {
  let world: World
  let partyId: string
  let agentId: string
  let customerId: string
  beforeEach(async () => {
    world = await createWorld(database)
    const me = await world.whoami()
    partyId = me.partyId
    agentId = String(me.agentId)
    customerId = await world.customerPartyId()
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const owner = () => ({ key: world.apiKey })
  const customerKey = () => addKey(world, { partyId: customerId, agentId: null, scopes })
  const sendOk = async (method: string, path: string, attributes?: object) => {
    const answer = await world.send(method, path, { ...owner(), attributes })
    expect(answer.status, answer.text).toBe(200)
  }
  const expectExpired = async (cardId: string, key: string) => {
    expect((await world.get(`/agent-cards/${cardId}`, { key })).json.data.attributes.status).toBe('expired')
    const { attributes } = (await world.authorize(cardId, 100, { key })).json.data
    expect(attributes).toMatchObject({ status: 'declined', decline: { code: 'single_use_card_expired' } })
  }
  const expectUsable = async (cardId: string, key: string) =>
    expect((await world.authorize(cardId, 100, { key })).json.data.attributes.status).toBe('authorized')
  const walletId = async () => (await world.get('/wallets', owner())).json.data[0].id as string

  test.each(['deleted', 'detached from the wallet'])(
    "an agent's own cards expire when the agent is %s",
    async (way) => {
      const wallet = await walletId()
      const other = await addAgent(world, partyId, wallet, ['cards.read'])
      const [mine, others] = [await world.issueCard(), await world.issueCard({}, { key: other.agentKey })]
      await sendOk('DELETE', way === 'deleted' ? `/agents/${agentId}` : `/wallets/${wallet}/agents/${agentId}`)
      await expectExpired(mine, world.apiKey)
      await expectUsable(others, world.apiKey)
    },
  )

  test('expired cards stay expired when the agent is attached to the wallet again', async () => {
    const [wallet, card] = [await walletId(), await world.issueCard()]
    await sendOk('DELETE', `/wallets/${wallet}/agents/${agentId}`)
    await sendOk('POST', `/wallets/${wallet}/agents`, { agentId })
    await expectExpired(card, world.apiKey)
    await expectUsable(await world.issueCard(), world.apiKey)
  })

  test('an authorization can still be captured after the agent is deleted', async () => {
    const card = await world.issueCard()
    const { id } = (await world.authorize(card, 100)).json.data
    await sendOk('DELETE', `/agents/${agentId}`)
    expect((await world.get(`/agent-cards/${card}`, owner())).json.data.attributes.status).toBe('used')
    await sendOk('POST', `/simulations/card-transactions/${id}/capture`, { amount: 100, currency: 'USD' })
  })

  test.each([
    ['the agent is deleted', () => ['DELETE', `/agents/${agentId}`]],
    ['the customer is removed', () => ['DELETE', `/customers/${customerId}`]],
    ['the agent is removed from the customer', () => ['DELETE', `/customers/${customerId}/agents/${agentId}`]],
    ['the customer is removed from the agent', () => ['DELETE', `/agents/${agentId}/customers/${customerId}`]],
    ['the customer revokes the grant', () => ['POST', `/simulations/customers/${customerId}/agents/${agentId}/revoke`]],
    ['the customer disconnects', () => ['POST', `/simulations/customers/${customerId}/disconnect`]],
  ] as const)("a customer's cards expire when %s; other cards only if the agent is deleted", async (_, request) => {
    const second = await addParty(world)
    await addDelegation(world, { customerPartyId: second.partyId, agentPartyId: partyId, agentId })
    const card = await world.issueCard({ customerPartyId: customerId })
    const [otherCard, ownCard] = [await world.issueCard({ customerPartyId: second.partyId }), await world.issueCard()]
    const [method = '', path = ''] = request()
    await sendOk(method, path)
    await expectExpired(card, await customerKey())
    const expectState = path === `/agents/${agentId}` ? expectExpired : expectUsable
    await expectState(otherCard, second.apiKey)
    await expectState(ownCard, world.apiKey)
  })
})
