import fc from 'fast-check'
import { expect, test } from 'vitest'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { Purchases, purchaseTools } from '../support/purchases.ts'
import { type Answer, addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { proveBooks } from './books.ts'

type Step =
  | { do: 'issue'; maximum: number; minutes: number }
  | { do: 'authorize'; card: number; amount: number }
  | { do: 'capture' | 'refund'; transaction: number; amount: number }
  | { do: 'reverse' | 'expire'; transaction: number }
  | { do: 'advance'; seconds: number }

const amount = fc.oneof(fc.constantFrom(1, 100, 500, 1000), fc.integer({ min: 1, max: 1200 }))
/**
 * The index of a record, counted from the newest. Most steps use the newest record. If there is no such record,
 * the step does nothing.
 */
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

const fundsCents = 2000

async function takeStep(world: World, key: string, model: Purchases, step: Step): Promise<void> {
  if (step.do === 'issue') {
    const { maximum, minutes } = step
    const makes = await world.issueCard({ maximumAmount: maximum, expiresInMinutes: minutes }, { key })
    model.act('issue_agent_card', { maximum, minutes, makes })
  } else if (step.do === 'advance') {
    const answer = await world.post('/simulations/clock/advance', { seconds: step.seconds }, { key })
    model.passTo(model.nowMs + step.seconds * 1000)
    expect(Date.parse(answer.json.data.attributes.now)).toBe(model.nowMs)
  } else if (step.do === 'authorize') {
    const card = model.cards.at(-1 - step.card)
    if (card === undefined) return
    const { amount } = step
    const { status, json } = await world.authorize(card.id, amount, { key })
    expect(status).toBe(model.act('simulate_card_authorization', { subject: card.id, amount, makes: json.data.id }))
  } else {
    const { do: action, transaction, ...attributes } = step
    const subject = model.transactions.at(-1 - transaction)?.id
    if (subject === undefined) return
    const path = `/simulations/card-transactions/${subject}/${action}`
    const sent = 'amount' in attributes ? { ...attributes, currency: 'USD' } : {}
    const { status, json } = await world.post(path, sent, { key })
    expect(status).toBe(model.act(purchaseTools[action], { subject, ...attributes, makes: json.data?.id }))
  }
}

/** Checks that the service shows the same balance, transactions and cards as the model, and checks the books. */
async function compare(world: World, { agentKey: key, walletId }: OtherParty, model: Purchases): Promise<void> {
  const [wallet, transactions, cards] = await Promise.all([
    world.get(`/wallets/${walletId}`, { key }),
    world.get('/card-transactions?limit=100', { key }),
    world.get('/agent-cards?limit=100', { key }),
  ])
  const { available, total } = model.balance
  expect(wallet.json.data.attributes.balance).toEqual({ available, total, currency: 'USD' })
  expect(byId(transactions)).toEqual(
    Object.fromEntries(
      model.transactions.map(({ id, cardId: _, decline: code, ...transaction }) => {
        const decline = code === null ? null : expect.objectContaining({ code })
        return [id, expect.objectContaining({ ...transaction, decline })]
      }),
    ),
  )
  expect(byId(cards)).toEqual(
    Object.fromEntries(model.cards.map(({ id, status }) => [id, expect.objectContaining({ status })])),
  )
  const { wallets } = await proveBooks(world.store)
  expect(wallets.find(({ id }) => id === walletId)).toMatchObject({
    availableCents: available,
    heldCents: total - available,
  })
}

function byId({ json }: Answer): Record<string, unknown> {
  return Object.fromEntries(json.data.map((item: { id: string; attributes: unknown }) => [item.id, item.attributes]))
}

onEachDatabase('random histories of card purchases', (database) => {
  test('the ledger agrees with an independent model after every step of a random history', async () => {
    const outcomes = new Set<string>()
    const randomRuns = isDeep ? 30 : database === sqlite ? 3 : 1
    const property = fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 18 }), async (steps) => {
      const world = await createWorld(database)
      try {
        const party = await addParty(world, { fundsCents })
        const model = new Purchases(fundsCents, world.system.now())
        for (const next of [...opening, ...steps]) {
          await takeStep(world, party.agentKey, model, next)
          await compare(world, party, model)
        }
        for (const { status } of model.transactions) outcomes.add(status)
      } finally {
        await world.drop()
      }
    })
    await fc.assert(property, {
      numRuns: fixedHistories.length + randomRuns,
      examples: fixedHistories.map((steps) => [steps]),
    })
    expect([...outcomes].sort()).toEqual(
      ['authorized', 'captured', 'declined', 'partially_captured', 'refunded', 'reversed'].sort(),
    )
  })
})

/** The first steps of every history, so that even a short history has a purchase. */
const opening: Step[] = [
  { do: 'issue', maximum: 1000, minutes: 60 },
  { do: 'authorize', card: 0, amount: 1000 },
]

/** Histories that together reach every transaction status, because random histories alone might not. */
const fixedHistories: Step[][] = [
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
