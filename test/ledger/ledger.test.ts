import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { databases } from '../support/databases.ts'
import { tries } from '../support/depth.ts'
import { type Answer, addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { proveBooks } from './books.ts'

type Step =
  | { do: 'issue'; maximum: number; minutes: number }
  | { do: 'authorize'; card: number; amount: number }
  | { do: 'capture' | 'refund'; transaction: number; amount: number }
  | { do: 'reverse' | 'expire'; transaction: number }
  | { do: 'advance'; seconds: number }

const amount = fc.oneof(fc.constantFrom(1, 100, 500, 1000), fc.integer({ min: 1, max: 1200 }))
/** Which of those there are, from the newest: most steps go on with what was begun last. */
const index = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(5) })
const seconds = fc.constantFrom(1, 300, 3600, 86_400, 7 * 86_400 - 1, 7 * 86_400)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('issue' as const), maximum: amount, minutes: fc.constantFrom(5, 60) }),
  },
  { weight: 7, arbitrary: fc.record({ do: fc.constant('authorize' as const), card: index, amount }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('capture' as const), transaction: index, amount }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('refund' as const), transaction: index, amount }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reverse' as const), transaction: index }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('expire' as const), transaction: index }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('advance' as const), seconds }) },
)

interface ModelCard {
  id: string
  maximum: number
  expiresAt: number
  used: boolean
}

interface ModelTransaction {
  id: string
  status: string
  amount: number
  held: number
  captured: number
  refunded: number
  lapsesAt: number
}

const funds = 2000
const week = 7 * 86_400_000

/** What should become of the money, told independently of the service. */
class Model {
  now: number
  available = funds
  readonly cards: ModelCard[] = []
  readonly transactions: ModelTransaction[] = []

  constructor(now: number) {
    this.now = now
  }

  get held(): number {
    return this.transactions.reduce((total, { held }) => total + held, 0)
  }

  pass(ms: number): void {
    this.now += ms
    for (const transaction of this.transactions) {
      if (transaction.status === 'authorized' && transaction.lapsesAt <= this.now) this.release(transaction)
    }
  }

  /** What an authorization answers: its decline code, or authorized. */
  authorize(card: ModelCard, amount: number): string {
    if (this.now >= card.expiresAt) return 'single_use_card_expired'
    if (card.used) return 'single_use_card_used'
    if (amount > card.maximum) return 'single_use_amount_over_maximum'
    if (amount > this.available) return 'insufficient_funds'
    card.used = true
    this.available -= amount
    return 'authorized'
  }

  /** What an action on a transaction answers, as its HTTP status. */
  act(action: string, transaction: ModelTransaction, amount: number): number {
    if (action === 'refund') {
      if (transaction.captured === 0) return 409
      if (transaction.refunded + amount > transaction.captured) return 422
      transaction.refunded += amount
      this.available += amount
      return 200
    }
    if (transaction.status !== 'authorized') return 409
    if (action !== 'capture') return this.release(transaction)
    if (amount > transaction.amount) return 422
    this.available += transaction.amount - amount
    Object.assign(transaction, { held: 0, captured: amount })
    transaction.status = amount === transaction.amount ? 'captured' : 'partially_captured'
    return 200
  }

  add(id: string, status: string, amount: number): void {
    const held = status === 'authorized' ? amount : 0
    this.transactions.push({ id, status, amount, held, captured: 0, refunded: 0, lapsesAt: this.now + week })
  }

  private release(transaction: ModelTransaction): number {
    this.available += transaction.held
    Object.assign(transaction, { status: 'reversed', held: 0 })
    return 200
  }
}

async function take(world: World, key: string, model: Model, step: Step): Promise<void> {
  if (step.do === 'issue') {
    const { maximum, minutes } = step
    const id = await world.issueCard({ maximumAmount: maximum, expiresInMinutes: minutes }, { key })
    model.cards.push({ id, maximum, expiresAt: model.now + minutes * 60_000, used: false })
  } else if (step.do === 'advance') {
    const answer = await world.post('/simulations/clock/advance', { seconds: step.seconds }, { key })
    model.pass(step.seconds * 1000)
    expect(Date.parse(answer.json.data.attributes.now)).toBe(model.now)
  } else if (step.do === 'authorize') {
    const card = model.cards.at(-1 - step.card)
    if (card === undefined) return
    const { status, json } = await world.authorize(card.id, step.amount, { key })
    expect(status).toBe(200)
    const outcome = model.authorize(card, step.amount)
    expect(json.data.attributes.decline?.code ?? json.data.attributes.status).toBe(outcome)
    model.add(json.data.id, outcome === 'authorized' ? outcome : 'declined', step.amount)
  } else {
    const transaction = model.transactions.at(-1 - step.transaction)
    if (transaction === undefined) return
    const amount = 'amount' in step ? step.amount : 0
    const attributes = 'amount' in step ? { amount, currency: 'USD' } : {}
    const answer = await world.post(`/simulations/card-transactions/${transaction.id}/${step.do}`, attributes, { key })
    expect(answer.status).toBe(model.act(step.do, transaction, amount))
    if (step.do === 'refund' && answer.status === 200) model.add(answer.json.data.id, 'refunded', amount)
  }
}

/** Everything the service shows of a party is as the model has it, and the books behind it are right. */
async function compare(world: World, { agentKey: key, walletId }: OtherParty, model: Model): Promise<void> {
  const [wallet, transactions, cards] = await Promise.all([
    world.get(`/wallets/${walletId}`, { key }),
    world.get('/card-transactions?limit=100', { key }),
    world.get('/agent-cards?limit=100', { key }),
  ])
  const { available, held } = model
  expect(wallet.json.data.attributes.balance).toEqual({ available, total: available + held, currency: 'USD' })
  expect(byId(transactions)).toEqual(
    Object.fromEntries(
      model.transactions.map(({ id, status, amount, held, captured, refunded }) => {
        return [id, expect.objectContaining({ status, amount, held, captured, refunded })]
      }),
    ),
  )
  expect(byId(cards)).toEqual(
    Object.fromEntries(
      model.cards.map(({ id, used, expiresAt }) => {
        const status = used ? 'used' : model.now >= expiresAt ? 'expired' : 'active'
        return [id, expect.objectContaining({ status })]
      }),
    ),
  )
  const { wallets } = await proveBooks(world.store)
  expect(wallets.find(({ id }) => id === walletId)).toMatchObject({ availableCents: available, heldCents: held })
}

function byId({ json }: Answer): Record<string, unknown> {
  return Object.fromEntries(json.data.map((item: { id: string; attributes: unknown }) => [item.id, item.attributes]))
}

describe.each(databases)('the ledger on $name', (database) => {
  test('agrees with an independent model after every step of any history', async () => {
    const outcomes = new Set<string>()
    const property = fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 18 }), async (steps) => {
      const world = await createWorld(database)
      try {
        const party = await addParty(world, { fundsCents: funds })
        const model = new Model(world.system.now())
        for (const one of [...opening, ...steps]) {
          await take(world, party.agentKey, model, one)
          await compare(world, party, model)
        }
        for (const { status } of model.transactions) outcomes.add(status)
      } finally {
        await world.drop()
      }
    })
    await fc.assert(property, { numRuns: sure.length + tries(30), examples: sure.map((steps) => [steps]) })
    expect([...outcomes].sort()).toEqual(
      ['authorized', 'captured', 'declined', 'partially_captured', 'refunded', 'reversed'].sort(),
    )
  })
})

/** A history has to get somewhere. */
const opening: Step[] = [
  { do: 'issue', maximum: 1000, minutes: 60 },
  { do: 'authorize', card: 0, amount: 1000 },
]

/** Histories that go through every state, whatever chance brings. */
const sure: Step[][] = [
  [],
  [{ do: 'capture', transaction: 0, amount: 1000 }],
  [{ do: 'capture', transaction: 0, amount: 400 }],
  [
    { do: 'capture', transaction: 0, amount: 1000 },
    { do: 'refund', transaction: 0, amount: 100 },
    { do: 'refund', transaction: 1, amount: 900 },
    { do: 'refund', transaction: 2, amount: 1 },
    { do: 'authorize', card: 0, amount: 1 },
  ],
  [
    { do: 'capture', transaction: 0, amount: 400 },
    { do: 'refund', transaction: 0, amount: 401 },
    { do: 'refund', transaction: 0, amount: 400 },
  ],
  [
    { do: 'advance', seconds: 7 * 86_400 },
    { do: 'capture', transaction: 0, amount: 1 },
  ],
]
