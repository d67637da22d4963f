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
   * Returns one function per operation on the given card, transaction and wallet. Each function sends the request of
   * its operation. If `customer` is given, the request is for that customer.
   */
  function requests({ cardId, transactionId, walletId }: Subject, sent: Sent = {}, customer?: string) {
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

  /** Returns an answer's error without its support id and the ids of records, so that errors can be compared. */
  const stripIds = (answer: Answer) => JSON.stringify(withoutSupportId(answer)).replaceAll(/\b(pcd|cit|wal)_\w+/g, '$1')

  async function buy(sent: Sent, attributes: object = {}): Promise<Subject> {
    const cardId = (await world.post('/agent-cards', { ...card, ...attributes }, sent)).json.data.id
    const { data } = (
      await world.post(`/simulations/agent-cards/${cardId}/authorize`, { ...purchase, ...attributes }, sent)
    ).json
    return { cardId, transactionId: data.id, walletId: data.relationships.wallet.data.id }
  }

  async function expectLooksMissing(subject: Subject, sent: Sent): Promise<void> {
    const before = await readBooks(world.store)
    const unknown = requests(missing, sent)
    for (const [name, attempt] of Object.entries(requests(subject, sent))) {
      if (name === 'read the wallet' && subject.walletId === walletId) continue
      const answer = await attempt()
      expectRefusal(answer, 'not_found')
      const expected = await unknown[name as keyof typeof unknown]()
      expect(stripIds(answer)).toBe(stripIds(expected))
    }
    expect({ ...(await readBooks(world.store)), keys: 0 }).toEqual({ ...before, keys: 0 })
  }

  const listIds = async (path: string, sent?: Sent) =>
    (await world.get(path, sent)).json.data.map(({ id }: { id: string }) => id) as string[]

  describe('records of another caller', () => {
    let other: OtherParty
    let theirs: Subject
    let ours: Subject

    beforeAll(async () => {
      other = await addParty(world)
      theirs = await buy({ key: other.agentKey })
      ours = await buy({})
    })

    test('to an agent, the records of another party look missing', async () => {
      await expectLooksMissing(theirs, {})
      await expectLooksMissing(ours, { key: other.agentKey })
    })

    test('to an API key, the records of another party look missing', async () => {
      await expectLooksMissing(theirs, { key: world.apiKey })
      await expectLooksMissing(ours, { key: other.apiKey })
    })

    test('to an agent, the records of another agent of its party look missing, except for the shared wallet', async () => {
      const { agentKey: key } = await addAgent(world, partyId, walletId, ['cards.read', 'wallets.read'])
      await expectLooksMissing(ours, { key })
      expect((await world.get(`/wallets/${walletId}`, { key })).status).toBe(200)
      expect(await listIds('/agent-cards', { key })).toEqual([])
      expect(await listIds('/card-transactions', { key })).toEqual([])
      expect(await listIds(`/card-transactions?cardId=${ours.cardId}`, { key })).toEqual([])
    })

    test('no list contains records of another party', async () => {
      for (const path of [
        '/agent-cards',
        '/card-transactions',
        '/wallets',
        `/card-transactions?cardId=${theirs.cardId}`,
      ]) {
        for (const key of [world.agentKey, world.apiKey]) {
          const ids = await listIds(path, { key })
          for (const id of Object.values(theirs)) expect(ids).not.toContain(id)
        }
      }
      expect(await listIds('/customers', { key: other.agentKey })).toEqual([])
      expect(await listIds('/customers', { key: other.apiKey })).toEqual([])
    })

    test("an API key of a party can read its agents' cards and purchases, and simulate captures and refunds", async () => {
      const subject = await buy({})
      const { reverse: _, expire: __, authorize, ...rest } = requests(subject, { key: world.apiKey, instanceId: null })
      expect((await authorize()).json.data.attributes.decline.code).toBe('single_use_card_used')
      for (const [name, attempt] of Object.entries(rest)) expect((await attempt()).status, name).toBe(200)
      expect(await listIds('/agent-cards', { key: world.apiKey })).toContain(subject.cardId)
    })
  })

  describe('requests for a customer', () => {
    test("an agent with a grant can use all operations on the customer's wallet, and its own wallet does not change", async () => {
      const ownAnswer = (await world.get(`/wallets/${walletId}`)).text
      const subject = await buy({}, { customerPartyId })
      expect(subject.walletId).not.toBe(walletId)
      const { reverse, expire, authorize, ...rest } = requests(subject, {}, customerPartyId)
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
        const ids = await listIds(`${path}?customerPartyId=${customerPartyId}`)
        expect(ids.some((id) => Object.values(subject).includes(id))).toBe(true)
        for (const id of await listIds(path)) expect(Object.values(subject)).not.toContain(id)
      }
      const { data } = (await world.get(`/agent-cards/${subject.cardId}?customerPartyId=${customerPartyId}`)).json
      expect(data.relationships.party.data.id).toBe(customerPartyId)
      expect(data.attributes.agentId).toBe(agentId)
    })

    test("an agent sees a customer's records only in requests for that customer, and its own only in other requests", async () => {
      const theirs = await buy({}, { customerPartyId })
      await expectLooksMissing(theirs, {})
      const ours = await buy({})
      for (const attempt of Object.values(requests(ours, {}, customerPartyId)))
        expectRefusal(await attempt(), 'not_found')
    })

    test('the customer itself can also simulate a capture, with a key that has payments.create', async () => {
      const subject = await buy({}, { customerPartyId })
      const key = await addKey(world, { partyId: customerPartyId, agentId: null, scopes: ['payments.create'] })
      expect((await requests(subject, { key, instanceId: null }).capture()).status).toBe(200)
    })

    test('a card for a customer is refused if issued cards are not enabled for the customer', async () => {
      const customer = await addParty(world, { party: { issuedCardsEnabled: 0 } })
      await addDelegation(world, { customerPartyId: customer.partyId, agentPartyId: partyId, agentId })
      const answer = await world.post('/agent-cards', { ...card, customerPartyId: customer.partyId })
      expectRefusal(answer, 'issued_cards_not_enabled')
    })

    /** Returns one function per operation. Each sends a request for the customer, with ids of missing records. */
    function allRequests(customer: string, sent: Sent) {
      const query = `?customerPartyId=${customer}`
      return {
        ...requests(missing, sent, customer),
        issue: () => world.post('/agent-cards', { ...card, customerPartyId: customer }, sent),
        'list cards': () => world.get(`/agent-cards${query}`, sent),
        'list transactions': () => world.get(`/card-transactions${query}`, sent),
        'list wallets': () => world.get(`/wallets${query}`, sent),
      }
    }

    async function expectForbidden(customer: string, sent: Sent = {}, isTested = (_name: string) => true) {
      const answers: string[] = []
      for (const [name, attempt] of Object.entries(allRequests(customer, sent))) {
        if (!isTested(name)) continue
        const answer = await attempt()
        const isRead = /read|list/.test(name)
        const source = isRead ? { parameter: 'customerPartyId' } : { pointer: '/data/attributes/customerPartyId' }
        // An API key cannot issue cards at all, so the error does not point to `customerPartyId`.
        const cannotIssue = name === 'issue' && sent.key === world.apiKey
        expectRefusal(answer, 'forbidden', cannotIssue ? {} : { source })
        answers.push(stripIds(answer))
      }
      return answers
    }

    test('a grant without cards.read permits no request about cards or purchases', async () => {
      const customer = await addParty(world)
      const permissions = JSON.stringify(['payments.read', 'payments.create', 'wallets.read'])
      await addDelegation(world, { customerPartyId: customer.partyId, agentPartyId: partyId, agentId, permissions })
      await expectForbidden(customer.partyId, {}, (name) => !name.includes('wallet'))
      expect(await listIds(`/wallets?customerPartyId=${customer.partyId}`)).toEqual([customer.walletId])
    })

    test('a grant without wallets.read permits no request about wallets', async () => {
      const customer = await addParty(world)
      const grant = { customerPartyId: customer.partyId, agentPartyId: partyId, agentId, permissions: '["cards.read"]' }
      await addDelegation(world, grant)
      await expectForbidden(customer.partyId, {}, (name) => name.includes('wallet'))
    })

    test.each(['REVOKED', 'EXPIRED', 'SUSPENDED'] as const)('a grant that is %s permits nothing', async (status) => {
      const customer = await addParty(world)
      await addDelegation(world, { customerPartyId: customer.partyId, agentPartyId: partyId, agentId, status })
      await expectForbidden(customer.partyId)
    })

    test('to an agent without a grant, an existing party looks like a missing one', async () => {
      const stranger = await addParty(world)
      const unknown = await expectForbidden(`pty_${'0'.repeat(32)}`)
      expect(await expectForbidden(stranger.partyId)).toEqual(unknown)
    })

    test('a grant to one agent permits nothing to other agents of the same party', async () => {
      const { agentKey: key } = await addAgent(world, partyId, walletId, ['cards.read', 'wallets.read'])
      await expectForbidden(customerPartyId, { key })
      expect(await listIds('/customers', { key })).toEqual([])
    })

    test('an API key never acts for a customer', async () => {
      await expectForbidden(customerPartyId, { key: world.apiKey })
    })

    test('an API key may send its own party as customerPartyId', async () => {
      expect(await listIds(`/wallets?customerPartyId=${partyId}`, { key: world.apiKey })).toEqual([walletId])
    })
  })

  describe('the permission cards.read', () => {
    async function agentWithoutCardsRead(): Promise<{ key: string; subject: Subject }> {
      const { agentId, agentKey: key } = await addAgent(world, partyId, walletId, ['cards.read', 'wallets.read'])
      const subject = await buy({ key })
      await world.store.transaction(async ({ db }) => {
        const rows = db.deleteFrom('walletPermissions').where('agentId', '=', agentId)
        await rows.where('permission', '=', 'cards.read').execute()
      })
      return { key, subject }
    }

    test('an agent without cards.read on its wallet cannot issue cards, read them or simulate purchases', async () => {
      const { key, subject } = await agentWithoutCardsRead()
      const before = await readBooks(world.store)
      expectRefusal(await world.post('/agent-cards', card, { key }), 'forbidden')
      for (const [name, attempt] of Object.entries(requests(subject, { key }))) {
        if (name !== 'read the wallet') expectRefusal(await attempt(), 'forbidden')
      }
      expect({ ...(await readBooks(world.store)), keys: 0 }).toEqual({ ...before, keys: 0 })
    })

    test('an agent without cards.read on its wallet cannot list cards or purchases, or gets empty lists', async () => {
      const { key } = await agentWithoutCardsRead()
      for (const path of ['/agent-cards', '/card-transactions']) {
        const { status, json } = await world.get(path, { key })
        expect(status === 403 || json.data.length === 0, path).toBe(true)
      }
    })
  })

  test('an agent that is attached to no wallet cannot issue cards', async () => {
    const { agentId, agentKey: key } = await addAgent(world, partyId, walletId, ['cards.read'])
    await world.store.transaction(async ({ db }) => {
      await db.deleteFrom('walletAgents').where('agentId', '=', agentId).execute()
    })
    expectRefusal(await world.post('/agent-cards', card, { key }), 'forbidden')
  })
})
