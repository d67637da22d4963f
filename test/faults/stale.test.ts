import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type World } from '../support/world.ts'
import { clearFaults, setFault } from './rules.ts'

const day = 86_400

onEachDatabase('stale reads', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterEach(() => clearFaults(world))
  afterAll(() => world.drop())

  /** Sets a rule that makes the service keep earlier states but applies to no request in these tests. */
  const keepEarlierStates = () =>
    setFault(world, { id: 'all', operation: '*', fault: 'stale', when: { instanceId: 'nobody' } })

  /** Reads a path while all reads are stale, and again without the fault. Returns the data of both answers. */
  const readStaleAndCurrent = async (path: string) => {
    await setFault(world, { id: 'all', operation: '*', fault: 'stale' })
    const stale = (await world.get(path)).json
    await keepEarlierStates()
    return [stale.data, (await world.get(path)).json.data]
  }
  const statusOf = ({ attributes: { status } }: { attributes: { status: string } }) => status
  const idsOf = (data: { id: string }[]) => data.map(({ id }) => id)

  test('a stale read returns records, lists and balances as they were before the last change', async () => {
    await keepEarlierStates()
    const card = await world.issueCard()
    const before = (await world.get('/wallets')).json.data[0].attributes
    const purchase = (await world.authorize(card, 700)).json.data.id as string
    const [staleWallets, wallets] = await readStaleAndCurrent('/wallets')
    expect(staleWallets[0].attributes).toEqual(before)
    expect(wallets[0].attributes.balance.available).toBe(before.balance.available - 700)
    const [staleCard, currentCard] = await readStaleAndCurrent(`/agent-cards/${card}`)
    expect([statusOf(staleCard), statusOf(currentCard)]).toEqual(['active', 'used'])
    const [staleList, currentList] = await readStaleAndCurrent(`/card-transactions?cardId=${card}`)
    expect([idsOf(staleList), idsOf(currentList)]).toEqual([[], [purchase]])
    const [staleActivity, currentActivity] = await readStaleAndCurrent(`/activity?resourceId=${purchase}`)
    expect([staleActivity, currentActivity.length]).toEqual([[], 1])
    // After a second change, the stale read returns the purchase as it was after the first change.
    await world.post(`/simulations/card-transactions/${purchase}/capture`, { amount: 700, currency: 'USD' })
    const [stale, now] = await readStaleAndCurrent(`/card-transactions/${purchase}`)
    expect([statusOf(stale), statusOf(now)]).toEqual(['authorized', 'captured'])
  })

  test('a stale read does not find a card that the last change issued', async () => {
    await keepEarlierStates()
    const card = await world.issueCard()
    await setFault(world, { id: 'all', operation: 'get_agent_card', fault: 'stale', when: { times: 1 } })
    const stale = await world.get(`/agent-cards/${card}`)
    expect([stale.status, stale.json.errors?.[0].code]).toEqual([404, 'not_found'])
    expect((await world.get(`/agent-cards/${card}`)).json.data.id).toBe(card)
  })

  test('a due effect counts as a change, so a stale read returns the state before it', async () => {
    const card = await world.issueCard()
    const purchase = (await world.authorize(card, 300)).json.data.id as string
    await keepEarlierStates()
    await world.post('/simulations/clock/advance', { seconds: 8 * day })
    const [stale, now] = await readStaleAndCurrent(`/card-transactions/${purchase}`)
    expect([statusOf(stale), statusOf(now)]).toEqual(['authorized', 'reversed'])
  })

  test('a stale read, a refused request and a move of the sandbox clock do not count as changes', async () => {
    await keepEarlierStates()
    const card = await world.issueCard()
    await world.authorize(card, 300)
    expect((await world.authorize(card, -1)).status).toBe(422)
    await world.post('/simulations/clock/advance', { seconds: 1 })
    await readStaleAndCurrent('/wallets')
    const [stale, now] = await readStaleAndCurrent(`/agent-cards/${card}`)
    expect([statusOf(stale), statusOf(now)]).toEqual(['active', 'used'])
  })

  test('a stale read hides the last change to the party whose data is read, not to other parties', async () => {
    const other = await addParty(world)
    await keepEarlierStates()
    const card = await world.issueCard()
    await world.authorize(card, 300)
    await world.send('PATCH', `/wallets/${other.walletId}`, {
      key: other.apiKey,
      attributes: { displayName: 'Another name' },
    })
    const [stale, now] = await readStaleAndCurrent(`/agent-cards/${card}`)
    expect([statusOf(stale), statusOf(now)]).toEqual(['active', 'used'])
    const customerPartyId = await world.customerPartyId()
    const path = `/wallets?customerPartyId=${customerPartyId}`
    await world.post(
      `/simulations/customers/${customerPartyId}/transfers/deposit`,
      { amount: 10 },
      { key: world.apiKey },
    )
    const [staleWallets, wallets] = await readStaleAndCurrent(path)
    const available = (data: { attributes: { balance: { available: number } } }[]) =>
      data[0]?.attributes.balance.available ?? 0
    expect(available(wallets) - available(staleWallets)).toBe(10)
  })

  test('a stale read returns the current state if nothing has changed since the rule was set', async () => {
    const card = await world.issueCard()
    const [stale, now] = await readStaleAndCurrent(`/agent-cards/${card}`)
    expect(stale).toEqual(now)
  })
})
