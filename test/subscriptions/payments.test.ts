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

  const done = async (path: string, attributes: object) => {
    const answer = await world.post(path, attributes, owner)
    expect(answer.status, answer.text).toBe(200)
    return answer.json.data
  }
  const started = async (terms: object = weekly, card = 'approves') => {
    const { id } = await done('/subscriptions', terms)
    await done(`/simulations/subscriptions/${id}/checkout`, { card })
    return id as string
  }
  const read = async (path: string) => {
    const answer = await world.get(path, owner)
    expect(answer.status, answer.text).toBe(200)
    return answer.json
  }
  const paymentsOf = async (id: string) =>
    (await read(`/subscriptions/${id}/payments`)).data.map(
      ({ attributes: one }: { attributes: Record<string, unknown> }) => [one.paymentNumber, one.status, one.dueDate],
    )

  test('each charge is a transaction into the wallet of the merchant', async () => {
    const { partyId } = await world.whoami()
    const id = await started()
    world.system.pass(14 * dayMs)
    expect(await paymentsOf(id)).toEqual([
      [4, 'scheduled', '2026-02-05'],
      [3, 'paid', '2026-01-29'],
      [2, 'paid', '2026-01-22'],
      [1, 'paid', '2026-01-15'],
    ])
    const { data } = await read('/transactions')
    expect(data).toHaveLength(3)
    const { data: payments } = await read(`/subscriptions/${id}/payments`)
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
    expect((await read(`/transactions/${data[0].id}`)).data).toEqual(data[0])
    expect((await read('/transactions?type=transfer')).data).toEqual([])
    expect(payments[1]).toMatchObject({
      attributes: { amount: 1000, taxAmount: 80, currency: 'USD', paidAt: expect.stringMatching(/^2026-01-29T/) },
    })
  })

  test('payments that were missed, marked paid or never due show it, and have no transaction', async () => {
    const terms = { description: 'Gym', every: weekly.every, totalAmount: 4000, taxAmount: 0, paymentCount: 4 }
    const { id: pending } = await done('/subscriptions', terms)
    expect(await paymentsOf(pending)).toEqual([4, 3, 2, 1].map((number) => [number, 'scheduled', null]))
    const id = await started(terms)
    await done(`/simulations/subscriptions/${id}/card`, { behavior: 'declines' })
    world.system.pass(13 * dayMs)
    await done(`/simulations/subscriptions/${id}/card`, { behavior: 'approves' })
    await done(`/subscriptions/${id}/payments/3/mark-paid`, {})
    expect(await paymentsOf(id)).toEqual([
      [4, 'scheduled', '2026-02-05'],
      [3, 'marked_paid', '2026-01-29'],
      [2, 'missed', '2026-01-22'],
      [1, 'paid', '2026-01-15'],
    ])
    expect((await read('/transactions')).data).toHaveLength(1)
    await done(`/subscriptions/${id}/cancel`, {})
    expect((await paymentsOf(id)).map(([number]: [number]) => number)).toEqual([3, 2, 1])
  })

  test('a page continues where the previous one ended', async () => {
    const id = await started()
    world.system.pass(7 * 7 * dayMs)
    const path = `/subscriptions/${id}/payments?limit=4`
    const numbers: number[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { data, meta } = await read(cursor === '' ? path : `${path}&cursor=${cursor}`)
      numbers.push(...data.map((one: Payment) => one.attributes.paymentNumber))
      cursor = meta.pagination.nextCursor
    }
    expect(numbers).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1])
  })

  test("another party's subscription looks as if it did not exist", async () => {
    const id = await started()
    const { apiKey: key } = await addParty(world)
    expectRefusal(await world.get(`/subscriptions/${id}/payments`, { key }), 'not_found')
  })
})

interface Payment {
  id: string
  attributes: { paymentNumber: number }
  relationships: { transaction: { data: { id: string } | null } }
}
