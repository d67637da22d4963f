import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { addDelegation, addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'

const statuses = ['authorized', 'declined', 'captured', 'partially_captured', 'reversed', 'refunded']

onEachDatabase('lists', (database) => {
  let world: World
  let cardOwner: OtherParty
  /** The ids of 137 cards, newest first. */
  let cardIds: string[]

  beforeAll(async () => {
    world = await createWorld(database)
    cardOwner = await addParty(world)
    cardIds = []
    for (let count = 0; count < 137; count++) cardIds.unshift(await issue())
  })
  afterAll(() => world.drop())

  async function issue(): Promise<string> {
    world.system.pass(1)
    return world.issueCard({}, { key: cardOwner.agentKey })
  }

  /** Reads a list page by page, and runs `between` after each page. */
  async function walk(path: string, key: string, between: () => Promise<unknown> = async () => {}) {
    const pages: string[][] = []
    let cursor: string | null = null
    do {
      const separator = path.includes('?') ? '&' : '?'
      const answer = await world.get(cursor === null ? path : `${path}${separator}cursor=${cursor}`, { key })
      expect(answer.status, answer.text).toBe(200)
      const { data, meta } = answer.json
      const { hasMore, nextCursor }: { hasMore: boolean; nextCursor: string | null } = meta.pagination
      expect(hasMore).toBe(nextCursor !== null)
      if (nextCursor !== null) expect(nextCursor).toMatch(/^cur_[\w-]+$/)
      pages.push(data.map(({ id }: { id: string }) => id))
      cursor = nextCursor
      await between()
    } while (cursor !== null)
    return { ids: pages.flat(), sizes: pages.map((page) => page.length) }
  }

  test.each([
    ['', [50, 50, 37]],
    ['?limit=100', [100, 37]],
    ['?limit=10', [...Array(13).fill(10), 7]],
  ])('with the query %j, a list is returned in pages, newest first', async (query, sizes) => {
    const walked = await walk(`/agent-cards${query}`, cardOwner.agentKey)
    expect(walked.ids).toEqual(cardIds)
    expect(walked.sizes).toEqual(sizes)
  })

  test('pages of one record show every record exactly once', async () => {
    const { ids } = await walk('/agent-cards?limit=1', cardOwner.agentKey)
    expect(ids).toEqual(cardIds)
  })

  test('records added while a list is being read do not appear on its later pages', async () => {
    const before = [...cardIds]
    const { ids } = await walk('/agent-cards?limit=25', cardOwner.agentKey, async () => {
      cardIds.unshift(await issue())
    })
    expect(ids).toEqual(before)
    expect((await walk('/agent-cards', cardOwner.agentKey)).ids).toEqual(cardIds)
  })

  test('a list whose last page is full ends without another cursor', async () => {
    const party = await addParty(world)
    for (let count = 0; count < 6; count++) {
      world.system.pass(1)
      await world.issueCard({}, { key: party.agentKey })
    }
    expect((await walk('/agent-cards?limit=3', party.agentKey)).sizes).toEqual([3, 3])
    expect((await walk('/agent-cards?limit=6', party.agentKey)).sizes).toEqual([6])
    expect((await walk('/agent-cards', party.apiKey)).sizes).toEqual([6])
    expect((await walk('/card-transactions', party.apiKey)).sizes).toEqual([0])
  })

  test.each(['/agent-cards', '/card-transactions', '/wallets', '/customers'])(
    '%s accepts a limit of 1 to 100',
    async (path) => {
      for (const limit of ['0', '101', '-1', '1.5', 'abc', '', 'NaN', 'Infinity', '9'.repeat(30), 'null', '5,5']) {
        const answer = await world.get(`${path}?limit=${encodeURIComponent(limit)}`)
        expectRefusal(answer, 'invalid_value', { source: { parameter: 'limit' } })
      }
      for (const limit of ['1', '100']) expect((await world.get(`${path}?limit=${limit}`)).status).toBe(200)
    },
  )

  describe('lists of card transactions', () => {
    let party: OtherParty
    let byStatus: Record<string, string[]>
    let byCard: Record<string, string[]>

    beforeAll(async () => {
      party = await addParty(world)
      byStatus = Object.fromEntries(statuses.map((status) => [status, []]))
      byCard = {}
      const key = party.agentKey
      const note = (cardId: string, { id, attributes }: { id: string; attributes: { status: string } }) => {
        byStatus[attributes.status]?.unshift(id)
        byCard[cardId] ??= []
        byCard[cardId].unshift(id)
      }
      for (let count = 0; count < 18; count++) {
        const cardId = await world.issueCard({}, { key })
        world.system.pass(1)
        const { id } = (await world.authorize(cardId, 100, { key })).json.data
        const act = async (action: string, amount?: number) => {
          world.system.pass(1)
          const attributes = amount === undefined ? {} : { amount, currency: 'USD' }
          return (await world.post(`/simulations/card-transactions/${id}/${action}`, attributes, { key })).json.data
        }
        if (count % 3 === 1) await act('capture', count % 2 === 0 ? 100 : 50)
        if (count % 3 === 2) await act('reverse')
        note(cardId, (await world.get(`/card-transactions/${id}`, { key })).json.data)
        if (count % 3 === 1) note(cardId, await act('refund', 10))
        world.system.pass(1)
        note(cardId, (await world.authorize(cardId, 100, { key })).json.data)
      }
    })

    test('a list of card transactions can be filtered by status on every page', async () => {
      for (const status of statuses) {
        const expected = byStatus[status] ?? []
        expect(expected.length).toBeGreaterThan(1)
        const path = `/card-transactions?status=${status}`
        expect((await walk(path, party.agentKey)).ids).toEqual(expected)
        expect((await walk(`${path}&limit=2`, party.apiKey)).ids).toEqual(expected)
      }
    })

    test('a list of card transactions can be filtered by card, and by card and status', async () => {
      for (const [cardId, expected] of Object.entries(byCard).slice(0, 4)) {
        const path = `/card-transactions?cardId=${cardId}`
        expect((await walk(`${path}&limit=1`, party.agentKey)).ids).toEqual(expected)
        const declined = expected.filter((id) => byStatus.declined?.includes(id))
        expect((await walk(`${path}&status=declined`, party.agentKey)).ids).toEqual(declined)
      }
      expect((await walk('/card-transactions?cardId=pcd_missing', party.agentKey)).ids).toEqual([])
    })

    test('a cursor works only for the list, the filters and the caller that it was issued for', async () => {
      const key = party.agentKey
      const cursorOf = async (path: string, sent = { key }) =>
        (await world.get(path, sent)).json.meta.pagination.nextCursor
      const [cardId = ''] = Object.keys(byCard)
      const all = await cursorOf('/card-transactions?limit=1')
      const declined = await cursorOf('/card-transactions?limit=1&status=declined')
      const cards = await cursorOf('/agent-cards?limit=1')
      const fromOtherParty = await cursorOf('/agent-cards?limit=1', { key: cardOwner.agentKey })
      const fromApiKey = await cursorOf('/card-transactions?limit=1', { key: party.apiKey })
      for (const cursor of [all, declined, cards, fromOtherParty, fromApiKey]) expect(cursor).toMatch(/^cur_/)
      const wrong = [
        [`/card-transactions?status=declined&cursor=${all}`, key],
        [`/card-transactions?cardId=${cardId}&cursor=${all}`, key],
        [`/card-transactions?status=captured&cursor=${declined}`, key],
        [`/card-transactions?cursor=${declined}`, key],
        [`/card-transactions?cursor=${cards}`, key],
        [`/agent-cards?cursor=${all}`, key],
        [`/wallets?cursor=${all}`, key],
        [`/customers?cursor=${all}`, key],
        [`/agent-cards?cursor=${fromOtherParty}`, key],
        [`/card-transactions?cursor=${all}`, cardOwner.agentKey],
        [`/card-transactions?cursor=${all}`, party.apiKey],
        [`/card-transactions?cursor=${fromApiKey}`, key],
        ...['', 'x', 'cur_', 'cur_x', 'cur_AAAA', '-1', 'cur_'.padEnd(600, 'a'), 'cur_%00'].map(
          (cursor) => [`/card-transactions?cursor=${cursor}`, key] as const,
        ),
      ] as const
      for (const [path, sender] of wrong) {
        const answer = await world.get(path, { key: sender })
        expectRefusal(answer, 'invalid_value', { source: { parameter: 'cursor' } })
      }
      expect((await world.get(`/card-transactions?limit=7&cursor=${all}`, { key })).status).toBe(200)
    })

    test('cursors that were shortened or altered are refused', async () => {
      const path = '/card-transactions?limit=1'
      const { nextCursor } = (await world.get(path, { key: party.agentKey })).json.meta.pagination
      const [mark, id = ''] = Buffer.from(nextCursor.slice(4), 'base64url').toString().split(' ')
      const forged = ['', '\u0000', `${id}\u0000`, id.slice(0, -6), `${id} x`, "'", 'x'.repeat(200)].map(
        (part) => `cur_${Buffer.from(`${mark} ${part}`).toString('base64url')}`,
      )
      for (const cursor of forged) {
        const answer = await world.get(`${path}&cursor=${cursor}`, { key: party.agentKey })
        expectRefusal(answer, 'invalid_value', { source: { parameter: 'cursor' } })
      }
    })
  })

  describe('lists of customers', () => {
    const customerIds: string[] = []

    beforeAll(async () => {
      const { partyId, agentId } = await world.whoami()
      customerIds.push(await world.customerPartyId())
      for (let count = 0; count < 24; count++) {
        world.system.pass(1)
        const customer = await addParty(world, { fundsCents: 0 })
        const grant = { customerPartyId: customer.partyId, agentPartyId: partyId, agentId: String(agentId) }
        await addDelegation(world, { ...grant, status: count < 2 ? 'REVOKED' : 'ACTIVE' })
        customerIds.unshift(customer.partyId)
      }
    })

    test('a list of customers has 20 records on a page', async () => {
      for (const key of [world.agentKey, world.apiKey]) {
        const walked = await walk('/customers', key)
        expect(walked.sizes).toEqual([20, 3])
        expect(walked.ids).toEqual([...customerIds.slice(0, 22), customerIds[24]])
      }
    })

    test('a list of customers can be filtered by status', async () => {
      expect((await walk('/customers?status=revoked&limit=1', world.agentKey)).ids).toEqual(customerIds.slice(22, 24))
      expect((await walk('/customers?status=all&limit=5', world.agentKey)).sizes).toEqual([5, 5, 5, 5, 5])
      const { nextCursor } = (await world.get('/customers?limit=1')).json.meta.pagination
      const answer = await world.get(`/customers?status=all&cursor=${nextCursor}`)
      expectRefusal(answer, 'invalid_value', { source: { parameter: 'cursor' } })
    })
  })
})
