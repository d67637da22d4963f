import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { proveBooks, readBooks } from '../ledger/books.ts'
import { onEachDatabase } from '../support/databases.ts'
import {
  type Answer,
  addAgent,
  addDelegation,
  addKey,
  addParty,
  createWorld,
  type OtherParty,
  type Sent,
  type World,
} from '../support/world.ts'
import { expectRefusal, withoutSupportId } from './refusals.ts'

const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const purchase = { amount: 100, currency: 'USD', merchant: { name: 'Books' } }
const money = { amount: 10, currency: 'USD' }

type Subject = Record<'cardId' | 'transactionId' | 'walletId', string>

onEachDatabase('access to cards and wallets', (database) => {
  let world: World
  let partyId: string
  let agentId: string
  let walletId: string
  let customerPartyId: string

  beforeAll(async () => {
    world = await createWorld(database)
    const who = await world.whoami()
    partyId = who.partyId
    agentId = String(who.agentId)
    walletId = (await world.get('/wallets')).json.data[0].id
    customerPartyId = await world.customerPartyId()
  })
  afterAll(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  /**
   * Returns the requests of every operation on one card, transaction or wallet. With `customer`, they are on behalf of
   * that party.
   */
  function attempts({ cardId, transactionId, walletId }: Subject, sent: Sent = {}, customer?: string) {
    const query = customer === undefined ? '' : `?customerPartyId=${customer}`
    const party = customer === undefined ? {} : { customerPartyId: customer }
    const simulate = (action: string, attributes: object) =>
      world.post(`/simulations/card-transactions/${transactionId}/${action}`, { ...attributes, ...party }, sent)
    return {
      'read the card': () => world.get(`/agent-cards/${cardId}${query}`, sent),
      'read its details': () => world.get(`/agent-cards/${cardId}/details${query}`, sent),
      'read the transaction': () => world.get(`/card-transactions/${transactionId}${query}`, sent),
      'read the wallet': () => world.get(`/wallets/${walletId}${query}`, sent),
      authorize: () => world.post(`/simulations/agent-cards/${cardId}/authorize`, { ...purchase, ...party }, sent),
      capture: () => simulate('capture', money),
      reverse: () => simulate('reverse', {}),
      expire: () => simulate('expire', {}),
      refund: () => simulate('refund', money),
    }
  }

  const missing: Subject = { cardId: 'pcd_missing', transactionId: 'cit_missing', walletId: 'wal_missing' }

  /** Returns an answer to compare, without the ids that the caller sent. */
  const nameless = (answer: Answer) => JSON.stringify(withoutSupportId(answer)).replaceAll(/\b(pcd|cit|wal)_\w+/g, '$1')

  async function subjectOf(sent: Sent, attributes: object = {}): Promise<Subject> {
    const cardId = (await world.post('/agent-cards', { ...card, ...attributes }, sent)).json.data.id
    const { data } = (
      await world.post(`/simulations/agent-cards/${cardId}/authorize`, { ...purchase, ...attributes }, sent)
    ).json
    return { cardId, transactionId: data.id, walletId: data.relationships.wallet.data.id }
  }

  async function expectAsIfMissing(subject: Subject, sent: Sent): Promise<void> {
    const before = await readBooks(world.store)
    const unknown = attempts(missing, sent)
    for (const [name, attempt] of Object.entries(attempts(subject, sent))) {
      if (name === 'read the wallet' && subject.walletId === walletId) continue
      const answer = await attempt()
      expectRefusal(answer, 'not_found')
      const expected = await unknown[name as keyof typeof unknown]()
      expect(nameless(answer)).toBe(nameless(expected))
    }
    expect({ ...(await readBooks(world.store)), keys: 0 }).toEqual({ ...before, keys: 0 })
  }

  const listed = async (path: string, sent?: Sent) =>
    (await world.get(path, sent)).json.data.map(({ id }: { id: string }) => id) as string[]

  describe('a record of another caller', () => {
    let other: OtherParty
    let theirs: Subject
    let ours: Subject

    beforeAll(async () => {
      other = await addParty(world)
      theirs = await subjectOf({ key: other.agentKey })
      ours = await subjectOf({})
    })

    test('looks missing to an agent of another party', async () => {
      await expectAsIfMissing(theirs, {})
      await expectAsIfMissing(ours, { key: other.agentKey })
    })

    test('looks missing to an API key of another party', async () => {
      await expectAsIfMissing(theirs, { key: world.apiKey })
      await expectAsIfMissing(ours, { key: other.apiKey })
    })

    test('looks missing to another agent of the same party, except for the shared wallet', async () => {
      const { agentKey: key } = await addAgent(world, partyId, walletId, ['cards.read', 'wallets.read'])
      await expectAsIfMissing(ours, { key })
      expect((await world.get(`/wallets/${walletId}`, { key })).status).toBe(200)
      expect(await listed('/agent-cards', { key })).toEqual([])
      expect(await listed('/card-transactions', { key })).toEqual([])
      expect(await listed(`/card-transactions?cardId=${ours.cardId}`, { key })).toEqual([])
    })

    test('is in no list', async () => {
      for (const path of [
        '/agent-cards',
        '/card-transactions',
        '/wallets',
        `/card-transactions?cardId=${theirs.cardId}`,
      ]) {
        for (const key of [world.agentKey, world.apiKey]) {
          const ids = await listed(path, { key })
          for (const id of Object.values(theirs)) expect(ids).not.toContain(id)
        }
      }
      expect(await listed('/customers', { key: other.agentKey })).toEqual([])
      expect(await listed('/customers', { key: other.apiKey })).toEqual([])
    })

    test("the party's own API key sees and simulates what its agents bought", async () => {
      const subject = await subjectOf({})
      const { reverse: _, expire: __, authorize, ...rest } = attempts(subject, { key: world.apiKey, instanceId: null })
      expect((await authorize()).json.data.attributes.decline.code).toBe('single_use_card_used')
      for (const [name, attempt] of Object.entries(rest)) expect((await attempt()).status, name).toBe(200)
      expect(await listed('/agent-cards', { key: world.apiKey })).toContain(subject.cardId)
    })
  })

  describe('for a customer', () => {
    test("an agent with the grant may do everything, on the customer's wallet", async () => {
      const ownAnswer = (await world.get(`/wallets/${walletId}`)).text
      const subject = await subjectOf({}, { customerPartyId })
      expect(subject.walletId).not.toBe(walletId)
      const { reverse, expire, authorize, ...rest } = attempts(subject, {}, customerPartyId)
      expect((await authorize()).json.data.attributes.decline.code).toBe('single_use_card_used')
      for (const [name, attempt] of Object.entries(rest)) expect((await attempt()).status, name).toBe(200)
      for (const attempt of [reverse, expire]) {
        expectRefusal(await attempt(), 'card_purchase_simulation_not_allowed')
      }
      const { balance } = (await world.get(`/wallets/${subject.walletId}?customerPartyId=${customerPartyId}`)).json.data
        .attributes
      expect(balance).toEqual({ available: 100_000, total: 100_000, currency: 'USD' })
      expect((await world.get(`/wallets/${walletId}`)).text).toBe(ownAnswer)
      for (const path of ['/agent-cards', '/card-transactions', '/wallets']) {
        const ids = await listed(`${path}?customerPartyId=${customerPartyId}`)
        expect(ids.some((id) => Object.values(subject).includes(id))).toBe(true)
        for (const id of await listed(path)) expect(Object.values(subject)).not.toContain(id)
      }
      const { data } = (await world.get(`/agent-cards/${subject.cardId}?customerPartyId=${customerPartyId}`)).json
      expect(data.relationships.party.data.id).toBe(customerPartyId)
      expect(data.attributes.agentId).toBe(agentId)
    })

    test("a customer's records are shown only if the request names the customer, and those of the agent's party only if it does not", async () => {
      const theirs = await subjectOf({}, { customerPartyId })
      await expectAsIfMissing(theirs, {})
      const ours = await subjectOf({})
      for (const attempt of Object.values(attempts(ours, {}, customerPartyId)))
        expectRefusal(await attempt(), 'not_found')
    })

    test('the wallet owner itself may simulate, with a key that holds payments.create', async () => {
      const subject = await subjectOf({}, { customerPartyId })
      const key = await addKey(world, { partyId: customerPartyId, agentId: null, scopes: ['payments.create'] })
      expect((await attempts(subject, { key, instanceId: null }).capture()).status).toBe(200)
    })

    test('issued cards must be enabled for the customer', async () => {
      const customer = await addParty(world, { party: { issuedCardsEnabled: 0 } })
      await addDelegation(world, { customerPartyId: customer.partyId, agentPartyId: partyId, agentId })
      const answer = await world.post('/agent-cards', { ...card, customerPartyId: customer.partyId })
      expectRefusal(answer, 'issued_cards_not_enabled')
    })

    /** Returns requests of all operations for a customer. Each must be refused before its target is looked up. */
    function sendEverything(customer: string, sent: Sent) {
      const query = `?customerPartyId=${customer}`
      return {
        ...attempts(missing, sent, customer),
        issue: () => world.post('/agent-cards', { ...card, customerPartyId: customer }, sent),
        'list cards': () => world.get(`/agent-cards${query}`, sent),
        'list transactions': () => world.get(`/card-transactions${query}`, sent),
        'list wallets': () => world.get(`/wallets${query}`, sent),
      }
    }

    async function expectForbidden(customer: string, sent: Sent = {}, of = (_name: string) => true): Promise<string[]> {
      const answers: string[] = []
      for (const [name, attempt] of Object.entries(sendEverything(customer, sent))) {
        if (!of(name)) continue
        const answer = await attempt()
        const isRead = /read|list/.test(name)
        const source = isRead ? { parameter: 'customerPartyId' } : { pointer: '/data/attributes/customerPartyId' }
        // An API key may not issue cards for anyone.
        const isForNobody = name === 'issue' && sent.key === world.apiKey
        expectRefusal(answer, 'forbidden', isForNobody ? {} : { source })
        answers.push(nameless(answer))
      }
      return answers
    }

    test('a grant without cards.read is not enough for cards', async () => {
      const customer = await addParty(world)
      const permissions = JSON.stringify(['payments.read', 'payments.create', 'wallets.read'])
      await addDelegation(world, { customerPartyId: customer.partyId, agentPartyId: partyId, agentId, permissions })
      await expectForbidden(customer.partyId, {}, (name) => !name.includes('wallet'))
      expect(await listed(`/wallets?customerPartyId=${customer.partyId}`)).toEqual([customer.walletId])
    })

    test('a grant without wallets.read is not enough for wallets', async () => {
      const customer = await addParty(world)
      const grant = { customerPartyId: customer.partyId, agentPartyId: partyId, agentId, permissions: '["cards.read"]' }
      await addDelegation(world, grant)
      await expectForbidden(customer.partyId, {}, (name) => name.includes('wallet'))
    })

    test.each(['REVOKED', 'EXPIRED', 'SUSPENDED'] as const)('a grant that is %s does not count', async (status) => {
      const customer = await addParty(world)
      await addDelegation(world, { customerPartyId: customer.partyId, agentPartyId: partyId, agentId, status })
      await expectForbidden(customer.partyId)
    })

    test('an unconnected party looks like one that does not exist', async () => {
      const stranger = await addParty(world)
      const unknown = await expectForbidden(`pty_${'0'.repeat(32)}`)
      expect(await expectForbidden(stranger.partyId)).toEqual(unknown)
    })

    test('the grant is to one agent, not to its party', async () => {
      const { agentKey: key } = await addAgent(world, partyId, walletId, ['cards.read', 'wallets.read'])
      await expectForbidden(customerPartyId, { key })
      expect(await listed('/customers', { key })).toEqual([])
    })

    test('an API key never acts for a customer', async () => {
      await expectForbidden(customerPartyId, { key: world.apiKey })
    })

    test('an API key may name its own party', async () => {
      expect(await listed(`/wallets?customerPartyId=${partyId}`, { key: world.apiKey })).toEqual([walletId])
    })
  })

  describe('an agent that does not hold cards.read on its wallet', () => {
    async function agentWithout(): Promise<{ key: string; subject: Subject }> {
      const { agentId, agentKey: key } = await addAgent(world, partyId, walletId, ['cards.read', 'wallets.read'])
      const subject = await subjectOf({ key })
      await world.store.transaction(async ({ db }) => {
        const rows = db.deleteFrom('walletPermissions').where('agentId', '=', agentId)
        await rows.where('permission', '=', 'cards.read').execute()
      })
      return { key, subject }
    }

    test('neither issues, nor reads, nor simulates', async () => {
      const { key, subject } = await agentWithout()
      const before = await readBooks(world.store)
      expectRefusal(await world.post('/agent-cards', card, { key }), 'forbidden')
      for (const [name, attempt] of Object.entries(attempts(subject, { key }))) {
        if (name !== 'read the wallet') expectRefusal(await attempt(), 'forbidden')
      }
      expect({ ...(await readBooks(world.store)), keys: 0 }).toEqual({ ...before, keys: 0 })
    })

    test('finds nothing in lists either', async () => {
      const { key } = await agentWithout()
      for (const path of ['/agent-cards', '/card-transactions']) {
        const { status, json } = await world.get(path, { key })
        expect(status === 403 || json.data.length === 0, path).toBe(true)
      }
    })
  })

  test('an agent that is attached to no wallet issues no cards', async () => {
    const { agentId, agentKey: key } = await addAgent(world, partyId, walletId, ['cards.read'])
    await world.store.transaction(async ({ db }) => {
      await db.deleteFrom('walletAgents').where('agentId', '=', agentId).execute()
    })
    expectRefusal(await world.post('/agent-cards', card, { key }), 'forbidden')
  })
})
