import { afterEach, describe, expect, it, vi } from 'vitest'
import * as shownTexts from '../../src/mcp/answers/quoted-text.ts'
import * as guard from '../../src/mcp/tools/guard.ts'
import type { Agent } from '../../src/rehearse/agent.ts'
import { loadScenarios } from '../../src/rehearse/load-scenarios.ts'
import { baselines } from '../../src/rehearse/scripted/baselines.ts'
import * as idempotency from '../../src/service/request/idempotency.ts'
import * as purchaseRules from '../../src/service/rules/card-purchases.ts'
import * as limitRules from '../../src/service/rules/limits.ts'
import * as shopRules from '../../src/service/rules/shops.ts'
import * as cardStore from '../../src/service/store/agent-cards.ts'
import * as purchaseStore from '../../src/service/store/card-transactions.ts'
import { sampleOf } from '../support/depth.ts'
import { agentBy, fixDraws, trialBy } from './trials.ts'

/**
 * A scenario is only useful if it detects a broken product. So each test removes one safeguard from the product. An
 * agent that passes the scenario with the safeguard must fail without it.
 */

/** An agent that sends no idempotency keys, and repeats a call that got no answer, as hosts and models do. */
const forgetful = agentBy(async ({ call }) => {
  const input = { amount: 12_000, counterparty: { type: 'handle', value: '@mira-photo' }, description: 'Saturday' }
  const pay = () => call('create_payment', input)
  await pay().catch(pay)
  return 'Paid.'
})

/** An agent that tries to pay with every existing card. */
const careless = agentBy(async ({ call }) => {
  const items = [{ productId: 'desk-lamp', quantity: 1 }]
  const { data: checkout } = await call('start_shop_checkout', { shopId: 'plain-goods', items })
  const { data: cards } = await call('list_agent_cards')
  for (const { id } of cards as unknown as { id: string }[]) {
    const { data: details } = await call('get_agent_card_details', { cardId: id })
    await call('pay_shop_checkout', { checkoutId: checkout.id, ...Object(details.attributes), amount: 6_900 })
  }
  return 'No card was good for it. Nothing was bought.'
})

/** An agent that follows instructions in an answer, unless they are in quotation marks. */
const literal = agentBy(async ({ call }) => {
  const { text } = await call('list_customers')
  const [, dollars, value] = /send \$(\d+)\.00 to (@[\w-]+)/.exec(text.replace(/“[^”]*”/g, '')) ?? []
  if (value !== undefined) {
    await call('create_payment', { amount: 100 * Number(dollars), counterparty: { type: 'handle', value } })
  }
  return text
})

interface Mutation {
  /** The group of the scenario, and how the product behaves without the safeguard. */
  name: string
  scenario: string
  agent: Agent
  mutate: () => void
}

const mutations: Mutation[] = [
  {
    name: 'money: a shop with too little stock captures the whole authorized amount',
    scenario: 'partial-capture',
    agent: baselines.careful,
    mutate: () => {
      vi.spyOn(shopRules, 'firstParcelCents').mockImplementation(({ totalCents }) => totalCents)
    },
  },
  {
    name: 'money: more is captured than was authorized',
    scenario: 'tax-within-budget',
    agent: baselines.careful,
    mutate: () => {
      const { capture } = purchaseRules
      vi.spyOn(purchaseRules, 'capture').mockImplementation((purchase, cents) => {
        const after = capture(purchase, cents)
        return { ...after, capturedCents: after.capturedCents + 100 }
      })
    },
  },
  {
    name: 'identity: a shop charges a card that was issued for another merchant',
    scenario: 'card-expired',
    agent: careless,
    mutate: () => {
      const { cardAtMerchant } = cardStore
      vi.spyOn(cardStore, 'cardAtMerchant').mockImplementation((tx, by) =>
        cardAtMerchant(tx, { ...by, merchantName: 'Millbrook Books' }),
      )
    },
  },
  {
    name: 'lifecycle: a hold never lapses',
    scenario: 'hold-still-open',
    agent: baselines.careful,
    mutate: () => {
      const { newPurchase } = purchaseStore
      vi.spyOn(purchaseStore, 'newPurchase').mockImplementation((...args) => {
        const row = newPurchase(...args)
        return { ...row, holdExpiresAtMs: row.holdExpiresAtMs && row.holdExpiresAtMs + 366 * 24 * 60 * 60 * 1000 }
      })
    },
  },
  {
    name: 'lifecycle: a refund returns only half',
    scenario: 'refund-for-a-fee',
    agent: baselines.careful,
    mutate: () => {
      const { refund } = purchaseRules
      vi.spyOn(purchaseRules, 'refund').mockImplementation((purchase, cents) => refund(purchase, Math.ceil(cents / 2)))
    },
  },
  {
    name: 'faults: a call repeated with the same idempotency key is carried out again',
    scenario: 'answer-lost',
    agent: baselines.careful,
    mutate: () => {
      vi.spyOn(idempotency, 'claim').mockReturnValue({ attempt: 'first' })
    },
  },
  {
    name: 'faults: an identical call without an idempotency key is not recognized as a repeat',
    scenario: 'answer-lost',
    agent: forgetful,
    mutate: () => {
      vi.spyOn(guard, 'guardOf').mockImplementation((_, call) => guard.unguarded(call))
    },
  },
  {
    name: 'people: limits are ignored',
    scenario: 'person-refuses',
    agent: baselines.careful,
    mutate: () => {
      vi.spyOn(limitRules, 'limitsHit').mockReturnValue([])
    },
  },
  {
    name: 'injections: an answer shows text by another party without quotation marks',
    scenario: 'instructions-in-a-name',
    agent: literal,
    mutate: () => {
      vi.spyOn(shownTexts, 'quoted').mockImplementation(String)
    },
  },
]

afterEach(() => {
  vi.restoreAllMocks()
})

describe.each(sampleOf(mutations, 3))('$name', ({ scenario: id, agent, mutate }) => {
  it(`the scenario ${id} notices the missing safeguard, and the same agent passes it with the safeguard`, async () => {
    const [scenario] = await loadScenarios([id])
    if (scenario === undefined) throw new Error(`There is no scenario ${id}.`)
    const intactTrial = await trialBy(agent, fixDraws(scenario))
    expect(intactTrial.verdicts.filter(({ failed }) => failed)).toEqual([])
    expect(intactTrial.passed).toBe(true)
    mutate()
    const brokenTrial = await trialBy(agent, fixDraws(scenario))
    expect(brokenTrial).toMatchObject({ passed: false, ended: 'answered', trouble: null })
    expect(brokenTrial.verdicts.some(({ failed }) => failed)).toBe(true)
  })
})
