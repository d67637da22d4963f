import type { Action, Tool } from '../../src/simulate/action.ts'
import { createModel } from '../../src/simulate/model/model.ts'

/**
 * The model of card purchases that tests compare the service with. It wraps the simulation's model, which follows the
 * specification's text and may import nothing from the service (test/house-rules.test.ts). Names in that model are ids
 * here. test/simulate/model.test.ts checks the model against a table.
 */
export class Purchases {
  readonly #model
  readonly #startMs: number
  /** The time of each purchase and refund, by id. */
  readonly #madeMs = new Map<string, number>()

  constructor(availableCents: number, startMs: number) {
    this.#model = createModel({ own: { available: availableCents, total: availableCents }, customer: undefined })
    this.#startMs = startMs
  }

  get nowMs() {
    return this.#startMs + this.#model.nowMs()
  }

  /** The wallet's balance. Payments from the same wallet change it too. */
  get balance() {
    return this.#model.balance('own')
  }

  get cards() {
    return this.#model.cards().map((card) => {
      return { id: card.name, maximum: card.maximum, status: this.#model.cardFacts(card).status }
    })
  }

  get transactions() {
    return this.#model.transactions().map(({ name: id, card: cardId, ...transaction }) => {
      const { status, amount, held, captured, refunded, decline } = transaction
      return { id, cardId, status, amount, held, captured, refunded, decline }
    })
  }

  /** Returns the total held and captured by purchases since that time, which counts toward limits. */
  spentSince(sinceMs: number): number {
    const since = this.transactions.filter(({ id }) => (this.#madeMs.get(id) ?? 0) >= sinceMs)
    return since.reduce((sum, { status, held, captured }) => sum + (status === 'refunded' ? 0 : held + captured), 0)
  }

  passTo(nowMs: number): void {
    this.act('advance_sandbox_clock', { seconds: (nowMs - this.nowMs) / 1000 })
  }

  /**
   * Applies the action to the model. Returns the HTTP status that the service must answer. `makes` is the id of the
   * record that the service created.
   */
  act(tool: Tool, { makes = 'nothing', ...fields }: Partial<Action> = {}): number {
    const prediction = this.#model.apply({ step: 1, agent: 1, tool, party: 'own', makes, ...fields })
    if (prediction === undefined) throw new Error(`Bug: the model has nothing that ${tool} acts on`)
    if (!this.#madeMs.has(makes)) this.#madeMs.set(makes, this.nowMs)
    return prediction.facts.type === 'error' ? prediction.facts.status : 200
  }
}

/** The tool of each action on an authorized or captured purchase, named by the last segment of its path. */
export const purchaseTools = {
  capture: 'simulate_card_capture',
  refund: 'simulate_card_refund',
  reverse: 'simulate_card_reversal',
  expire: 'simulate_card_expiration',
} as const satisfies Record<string, Tool>
