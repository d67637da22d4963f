import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { proveBooks, readBooks } from '../ledger/books.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type Answer, createWorld, type World } from '../support/world.ts'

const actions = ['capture', 'reverse', 'expire', 'refund'] as const
type Action = (typeof actions)[number]

/**
 * For each state: the actions that bring an authorization of 1000 cents into the state. The function `transactionIn`
 * handles the values that are not lists of actions.
 */
const states = {
  authorized: [],
  declined: null,
  captured: [['capture', 1000]],
  partially_captured: [['capture', 400]],
  reversed: [['reverse']],
  expired: [['expire']],
  lapsed: 'wait',
  refunded: 'the refund',
  'refunded in part': [
    ['capture', 1000],
    ['refund', 300],
  ],
  'refunded in full': [
    ['capture', 400],
    ['refund', 400],
  ],
} as const satisfies Record<string, readonly (readonly [Action, number?])[] | null | 'wait' | 'the refund'>
type State = keyof typeof states

/**
 * An allowed action: its amount, the attributes afterwards, and the changes in the wallet's balances. Amounts are in
 * cents.
 */
interface Move {
  amount?: number
  after: Record<string, unknown>
  available: number
  total: number
}
const legal: Partial<Record<`${State} ${Action}`, Move[]>> = {
  'authorized capture': [
    { amount: 1000, after: { status: 'captured', held: 0, captured: 1000, refunded: 0 }, available: 0, total: -1000 },
    { amount: 400, after: { status: 'partially_captured', held: 0, captured: 400 }, available: 600, total: -400 },
    { amount: 1, after: { status: 'partially_captured', held: 0, captured: 1 }, available: 999, total: -1 },
    { amount: 999, after: { status: 'partially_captured', held: 0, captured: 999 }, available: 1, total: -999 },
  ],
  'authorized reverse': [{ after: { status: 'reversed', held: 0, captured: 0 }, available: 1000, total: 0 }],
  'authorized expire': [{ after: { status: 'reversed', held: 0, captured: 0 }, available: 1000, total: 0 }],
  'captured refund': [
    { amount: 1, after: { status: 'captured', captured: 1000, refunded: 1 }, available: 1, total: 1 },
    { amount: 1000, after: { status: 'captured', captured: 1000, refunded: 1000 }, available: 1000, total: 1000 },
  ],
  'partially_captured refund': [
    { amount: 400, after: { status: 'partially_captured', captured: 400, refunded: 400 }, available: 400, total: 400 },
  ],
  'refunded in part refund': [
    { amount: 700, after: { status: 'captured', captured: 1000, refunded: 1000 }, available: 700, total: 700 },
  ],
}
/** The one case that is refused because of the amount, not the state: everything has already been refunded. */
const nothingLeft = 'refunded in full refund'

const pairs = (Object.keys(states) as State[]).flatMap((state) => actions.map((action) => ({ state, action })))
const legalCases = pairs.flatMap(({ state, action }) =>
  (legal[`${state} ${action}`] ?? []).map((move) => {
    const step = move.amount === undefined ? action : `${action} (amount ${move.amount})`
    return { state, action, step, ...move }
  }),
)
const illegalCases = pairs.filter(
  ({ state, action }) => legal[`${state} ${action}`] === undefined && `${state} ${action}` !== nothingLeft,
)

onEachDatabase('card purchases', (database) => {
  let world: World

  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  function act(id: string, action: string, amount?: number): Promise<Answer> {
    const attributes = amount === undefined ? {} : { amount, currency: 'USD' }
    return world.post(`/simulations/card-transactions/${id}/${action}`, attributes)
  }

  async function wallet(): Promise<{ available: number; total: number }> {
    const { available, total } = (await world.get('/wallets')).json.data[0].attributes.balance
    return { available, total }
  }

  const read = async (id: string) => (await world.get(`/card-transactions/${id}`)).json.data

  /** Creates a card transaction in the given state from an authorization of 1000 cents. */
  async function transactionIn(state: State): Promise<string> {
    const how = states[state]
    const cardId = await world.issueCard({ maximumAmount: how === null ? 999 : 1000 })
    const { id, attributes } = (await world.authorize(cardId, 1000)).json.data
    expect(attributes.status).toBe(how === null ? 'declined' : 'authorized')
    if (how === null) return id
    if (how === 'wait') world.system.pass(7 * 24 * 3600 * 1000)
    else if (how === 'the refund') {
      await act(id, 'capture', 1000)
      return (await act(id, 'refund', 1000)).json.data.id
    } else {
      for (const [action, amount] of how) expect((await act(id, action, amount)).status).toBe(200)
    }
    return id
  }

  test.each(legalCases)(
    'a card transaction that is $state allows the action $step',
    async ({ state, action, amount, after, ...change }) => {
      const id = await transactionIn(state)
      const [before, recordBefore] = [await wallet(), await read(id)]
      const answer = await act(id, action, amount)
      expect(answer.status).toBe(200)
      expect(await wallet()).toEqual({
        available: before.available + change.available,
        total: before.total + change.total,
      })
      const record = await read(id)
      const { holdExpiresAt: _, ...rest } = recordBefore.attributes
      expect(record.attributes).toEqual({ ...rest, ...after, holdExpiresAt: null })
      if (action === 'refund') {
        expect(answer.json.data.attributes).toMatchObject({
          kind: 'refund',
          status: 'refunded',
          amount,
          currency: 'USD',
          merchant: { name: 'Books' },
          held: 0,
          captured: 0,
          refunded: 0,
          decline: null,
        })
        expect(answer.json.data.id).not.toBe(id)
        expect(answer.json.data.relationships.purchase.data).toEqual({ type: 'cardTransaction', id })
        expect(answer.json.data.relationships.agentCard).toEqual(record.relationships.agentCard)
        expect(await read(answer.json.data.id)).toEqual(answer.json.data)
      } else {
        expect(answer.json.data).toEqual(record)
      }
    },
  )

  test.each(illegalCases)(
    'a card transaction that is $state does not allow the action $action',
    async ({ state, action }) => {
      const id = await transactionIn(state)
      await wallet()
      const before = await readBooks(world.store)
      for (const amount of action === 'capture' || action === 'refund' ? [1, 1000, 1001] : [undefined]) {
        expectRefusal(await act(id, action, amount), 'card_purchase_simulation_not_allowed')
      }
      expect({ ...(await readBooks(world.store)), keys: 0 }).toEqual({ ...before, keys: 0 })
    },
  )

  describe('the amounts of actions', () => {
    const amountPointer = { status: 422, source: { pointer: '/data/attributes/amount' } }

    test('a capture above the authorized amount is refused', async () => {
      const id = await transactionIn('authorized')
      const before = await readBooks(world.store)
      for (const amount of [1001, Number.MAX_SAFE_INTEGER]) {
        expectRefusal(await act(id, 'capture', amount), 'invalid_value', amountPointer)
      }
      expect({ ...(await readBooks(world.store)), keys: 0 }).toEqual({ ...before, keys: 0 })
      expect((await act(id, 'capture', 1000)).status).toBe(200)
    })

    test('a refund is refused if all refunds together would exceed the captured amount', async () => {
      const id = await transactionIn('partially_captured')
      expectRefusal(await act(id, 'refund', 401), 'invalid_value', amountPointer)
      expect((await act(id, 'refund', 150)).status).toBe(200)
      expectRefusal(await act(id, 'refund', 251), 'invalid_value', amountPointer)
      expect((await act(id, 'refund', 150)).status).toBe(200)
      expect((await act(id, 'refund', 100)).status).toBe(200)
      const before = await readBooks(world.store)
      expectRefusal(await act(id, 'refund', 1), 'invalid_value', amountPointer)
      expect({ ...(await readBooks(world.store)), keys: 0 }).toEqual({ ...before, keys: 0 })
      expect((await read(id)).attributes.refunded).toBe(400)
    })

    test('reverse and expire refuse an amount', async () => {
      const id = await transactionIn('authorized')
      for (const action of ['reverse', 'expire']) {
        const source = { pointer: '/data/attributes/amount' }
        expectRefusal(await act(id, action, 1000), 'invalid_value', { source })
      }
      expect((await read(id)).attributes.status).toBe('authorized')
    })
  })

  describe('simultaneous actions', () => {
    test('exactly one of many simultaneous captures, reversals and expirations of a purchase takes effect', async () => {
      const id = await transactionIn('authorized')
      const before = await readBooks(world.store)
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, index) => act(id, ...(competingActions[index % 4] as [string, number?]))),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      for (const answer of answers.filter(({ status }) => status !== 200)) {
        expectRefusal(answer, 'card_purchase_simulation_not_allowed')
      }
      const after = await proveBooks(world.store)
      expect(new Set(after.entries.map((entry) => entry.postingId)).size).toBe(
        new Set(before.entries.map((entry) => entry.postingId)).size + 1,
      )
    })

    test('simultaneous refunds never exceed the captured amount', async () => {
      const id = await transactionIn('captured')
      const before = await wallet()
      const answers = await Promise.all(Array.from({ length: 25 }, () => act(id, 'refund', 90)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(11)
      expect(answers.filter(({ status }) => status === 422)).toHaveLength(14)
      expect((await read(id)).attributes.refunded).toBe(990)
      expect(await wallet()).toEqual({ available: before.available + 990, total: before.total + 990 })
      await proveBooks(world.store)
    })
  })

  test('a capture changes updatedAt, but not createdAt', async () => {
    const id = await transactionIn('authorized')
    const before = (await read(id)).attributes
    world.system.pass(5000)
    await act(id, 'capture', 1000)
    world.system.pass(5000)
    const { createdAt, updatedAt } = (await read(id)).attributes
    expect(createdAt).toBe(before.createdAt)
    expect(Date.parse(updatedAt)).toBe(Date.parse(before.updatedAt) + 5000)
  })
})

const competingActions: [string, number?][] = [['capture', 1000], ['capture', 10], ['reverse'], ['expire']]
