import { afterEach, beforeEach, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type World } from '../support/world.ts'

const dayMs = 86_400_000
const weekly = { description: 'Gym', every: { unit: 'week', count: 1 }, amount: 1000, taxAmount: 80 }

onEachDatabase('the payments of a subscription', (database) => {
  let world: World
  let owner: { key: string }
  beforeEach(async () => {
    world = await createWorld(database)
    owner = { key: world.apiKey }
  })
  afterEach(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const postOk = async (path: string, attributes: object) => {
    const answer = await world.post(path, attributes, owner)
    expect(answer.status, answer.text).toBe(200)
    return answer.json.data
  }
  const startSubscription = async (terms: object = weekly, card = 'approves') => {
    const { id } = await postOk('/subscriptions', terms)
    await postOk(`/simulations/subscriptions/${id}/checkout`, { card })
    return id as string
  }
  const getOk = async (path: string) => {
    const answer = await world.get(path, owner)
    expect(answer.status, answer.text).toBe(200)
    return answer.json
  }
  const listPayments = async (id: string) =>
    (await getOk(`/subscriptions/${id}/payments`)).data.map(
      ({ attributes: one }: { attributes: Record<string, unknown> }) => [one.paymentNumber, one.status, one.dueDate],
    )

  test('each charge is listed as a transaction into the merchant’s wallet', async () => {
    const { partyId } = await world.whoami()
    const id = await startSubscription()
    world.system.pass(14 * dayMs)
    expect(await listPayments(id)).toEqual([
      [4, 'scheduled', '2026-02-05'],
      [3, 'paid', '2026-01-29'],
      [2, 'paid', '2026-01-22'],
      [1, 'paid', '2026-01-15'],
    ])
    const { data } = await getOk('/transactions')
    expect(data).toHaveLength(3)
    const { data: payments } = await getOk(`/subscriptions/${id}/payments`)
    expect(payments.map((one: Payment) => one.relationships.transaction.data?.id ?? null)).toEqual([
      null,
      ...data.map((one: { id: string }) => one.id),
    ])
    expect(data[0]).toMatchObject({
      attributes: {
        ...{ amount: 1000, currency: 'USD', status: 'COMPLETED', transactionType: 'payment', direction: 'INBOUND' },
        ...{ description: 'Gym', createdAt: expect.stringMatching(/^2026-01-29T/) },
      },
      relationships: {
        sourceParty: { data: null },
        destinationParty: { data: { type: 'party', id: partyId } },
        payment: { data: null },
        transfer: { data: null },
        wallet: { data: { type: 'wallet', id: expect.stringMatching(/^wal_/) } },
        subscription: { data: { type: 'subscription', id } },
      },
    })
    expect((await getOk(`/transactions/${data[0].id}`)).data).toEqual(data[0])
    expect((await getOk('/transactions?type=transfer')).data).toEqual([])
    expect(payments[1]).toMatchObject({
      attributes: { amount: 1000, taxAmount: 80, currency: 'USD', paidAt: expect.stringMatching(/^2026-01-29T/) },
    })
  })

  test('each payment is listed as paid, missed, marked_paid or scheduled, and only a paid one has a transaction', async () => {
    const terms = { description: 'Gym', every: weekly.every, totalAmount: 4000, taxAmount: 0, paymentCount: 4 }
    const { id: pending } = await postOk('/subscriptions', terms)
    expect(await listPayments(pending)).toEqual([4, 3, 2, 1].map((number) => [number, 'scheduled', null]))
    const id = await startSubscription(terms)
    await postOk(`/simulations/subscriptions/${id}/card`, { behavior: 'declines' })
    world.system.pass(13 * dayMs)
    await postOk(`/simulations/subscriptions/${id}/card`, { behavior: 'approves' })
    await postOk(`/subscriptions/${id}/payments/3/mark-paid`, {})
    expect(await listPayments(id)).toEqual([
      [4, 'scheduled', '2026-02-05'],
      [3, 'marked_paid', '2026-01-29'],
      [2, 'missed', '2026-01-22'],
      [1, 'paid', '2026-01-15'],
    ])
    expect((await getOk('/transactions')).data).toHaveLength(1)
    await postOk(`/subscriptions/${id}/cancel`, {})
    expect((await listPayments(id)).map(([number]: [number]) => number)).toEqual([3, 2, 1])
  })

  test('each page of the list of payments continues where the previous page ended', async () => {
    const id = await startSubscription()
    world.system.pass(7 * 7 * dayMs)
    const path = `/subscriptions/${id}/payments?limit=4`
    const numbers: number[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { data, meta } = await getOk(cursor === '' ? path : `${path}&cursor=${cursor}`)
      numbers.push(...data.map((one: Payment) => one.attributes.paymentNumber))
      cursor = meta.pagination.nextCursor
    }
    expect(numbers).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1])
  })

  test('a request for the payments of another party’s subscription is answered as if the subscription did not exist', async () => {
    const id = await startSubscription()
    const { apiKey: key } = await addParty(world)
    expectRefusal(await world.get(`/subscriptions/${id}/payments`, { key }), 'not_found')
  })
})

interface Payment {
  id: string
  attributes: { paymentNumber: number }
  relationships: { transaction: { data: { id: string } | null } }
}
