import type { Action, Tool } from '../../src/simulate/action.ts'
import { createModel } from '../../src/simulate/model/model.ts'

/**
 * A model of card purchases, for comparison with the service. It wraps the model of the `simulate` command, in which
 * each record has a name. Here, this name is the id of the service's record. The wrapped model follows the
 * specification and may import nothing from the service (test/house-rules.test.ts). Its own tests are in
 * test/simulate/model.test.ts.
 */
export class Purchases {
  readonly #model
  readonly #startMs: number
  /** The creation time of each record, by id. */
  readonly #madeMs = new Map<string, number>()

  constructor(availableCents: number, startMs: number) {
    this.#model = createModel({ own: { available: availableCents, total: availableCents }, customer: undefined })
    this.#startMs = startMs
  }

  get nowMs() {
    return this.#startMs + this.#model.nowMs()
  }

  /** The balance of the wallet. Payments change it as well as purchases. */
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

  /**
   * Returns the amount that counts toward limits: the total that purchases since the given time hold or have captured.
   */
  spentSince(sinceMs: number): number {
    const since = this.transactions.filter(({ id }) => (this.#madeMs.get(id) ?? 0) >= sinceMs)
    return since.reduce((sum, { status, held, captured }) => sum + (status === 'refunded' ? 0 : held + captured), 0)
  }

  passTo(nowMs: number): void {
    this.act('advance_sandbox_clock', { seconds: (nowMs - this.nowMs) / 1000 })
  }

  /**
   * Applies the action to the model, and returns the HTTP status that the service must return. `makes` is the id of the
   * record that the service created, if it created one.
   */
  act(tool: Tool, { makes = 'nothing', ...fields }: Partial<Action> = {}): number {
    const prediction = this.#model.apply({ step: 1, agent: 1, tool, party: 'own', makes, ...fields })
    if (prediction === undefined) throw new Error(`Bug: the model has no record for ${tool} to act on`)
    if (!this.#madeMs.has(makes)) this.#madeMs.set(makes, this.nowMs)
    return prediction.facts.type === 'error' ? prediction.facts.status : 200
  }
}

/** The tools that act on an authorized or captured purchase. Each key is the last segment of the REST path. */
export const purchaseTools = {
  capture: 'simulate_card_capture',
  refund: 'simulate_card_refund',
  reverse: 'simulate_card_reversal',
  expire: 'simulate_card_expiration',
} as const satisfies Record<string, Tool>
