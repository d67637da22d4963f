import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addKey, addParty, createWorld, type OtherParty, revokeKey, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'
import { expectFirst, expectReplay, isReplay } from './replays.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const keySource = { source: { header: 'Idempotency-Key' } }

onEachDatabase('the scope of idempotency keys', (database) => {
  let world: World
  let count = 0
  const newKey = () => `idempotency ${count++}`

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  describe('parties and agents', () => {
    let other: OtherParty

    beforeAll(async () => {
      other = await addParty(world)
    })

    test('two parties can use the same key independently of each other', async () => {
      const sent = { idempotencyKey: newKey() }
      const first = await world.post('/agent-cards', card, sent)
      const otherAnswer = await world.post('/agent-cards', card, { ...sent, key: other.agentKey })
      expectFirst(otherAnswer)
      expect(otherAnswer.json.data.id).not.toBe(first.json.data.id)
      expectReplay(await world.post('/agent-cards', card, sent), first)
    })

    test('an agent can use the same key independently for its own party and for a customer', async () => {
      const customerPartyId = await world.customerPartyId()
      const sent = { idempotencyKey: newKey() }
      const ownAnswer = await world.post('/agent-cards', card, sent)
      const customerAnswer = await world.post('/agent-cards', { ...card, customerPartyId }, sent)
      expectFirst(ownAnswer)
      expectFirst(customerAnswer)
      expectReplay(await world.post('/agent-cards', { ...card, customerPartyId }, sent), customerAnswer)
    })

    test('another agent of the party never gets the answer recorded for the first agent', async () => {
      const { partyId } = await world.whoami()
      const walletId = (await world.get('/wallets')).json.data[0].id
      const { agentKey } = await addAgent(world, partyId, walletId, ['cards.read'])
      const sent = { idempotencyKey: newKey() }
      const first = await world.post('/agent-cards', card, sent)
      const otherAnswer = await world.post('/agent-cards', card, { ...sent, key: agentKey })
      expect(isReplay(otherAnswer)).toBe(false)
      expect(otherAnswer.text).not.toContain(first.json.data.id)
      expect([200, 409]).toContain(otherAnswer.status)
    })

    test('an API key of the party never gets the answer recorded for its agent', async () => {
      const cardId = await world.issueCard()
      const sent = { idempotencyKey: newKey() }
      await world.authorize(cardId, 100, sent)
      const answer = await world.authorize(cardId, 100, { ...sent, key: world.apiKey })
      expectRefusal(answer, 'conflict', keySource)
    })

    test('another credential of the same agent gets the recorded answer', async () => {
      const { partyId, agentId } = await world.whoami()
      const key = await addKey(world, { partyId, agentId, scopes: null })
      const sent = { idempotencyKey: newKey() }
      const first = await world.post('/agent-cards', card, sent)
      expectReplay(await world.post('/agent-cards', card, { ...sent, key }), first)
    })

    test('a credential that was revoked, or lost its permission, gets no replay', async () => {
      const { partyId, agentId } = await world.whoami()
      const key = await addKey(world, { partyId, agentId, scopes: null })
      const sent = { idempotencyKey: newKey(), key }
      await world.post('/agent-cards', card, sent)
      await revokeKey(world, (await world.whoami(key)).keyId)
      expectRefusal(await world.post('/agent-cards', card, sent), 'unauthenticated')

      const simulator = await addKey(world, { partyId, agentId: null, scopes: ['payments.create'] })
      const cardId = await world.issueCard()
      const authorization = { idempotencyKey: newKey(), key: simulator }
      expectFirst(await world.authorize(cardId, 100, authorization))
      await setScopes(world, (await world.whoami(simulator)).keyId, [])
      expectRefusal(await world.authorize(cardId, 100, authorization), 'forbidden')
    })

    test('an agent gets no replay after the customer has revoked the agent’s grant', async () => {
      const customerPartyId = await world.customerPartyId()
      const sent = { idempotencyKey: newKey() }
      expectFirst(await world.post('/agent-cards', { ...card, customerPartyId }, sent))
      await setGrant(world, customerPartyId, 'REVOKED')
      const answer = await world.post('/agent-cards', { ...card, customerPartyId }, sent)
      expectRefusal(answer, 'forbidden', { source: { pointer: '/data/attributes/customerPartyId' } })
      await setGrant(world, customerPartyId, 'ACTIVE')
    })
  })
})

function setScopes({ store }: World, keyId: string, scopes: string[]): Promise<void> {
  return store.transaction(async ({ db }) => {
    await db
      .updateTable('credentials')
      .set({ scopes: JSON.stringify(scopes) })
      .where('id', '=', keyId)
      .execute()
  })
}

function setGrant({ store }: World, customerPartyId: string, status: 'ACTIVE' | 'REVOKED'): Promise<void> {
  return store.transaction(async ({ db }) => {
    await db.updateTable('delegations').set({ status }).where('customerPartyId', '=', customerPartyId).execute()
  })
}
