import { expect } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import type { CardTransactionRow } from '../../src/service/store/schema/card-transactions.ts'
import { proveBooks } from './books.ts'

/** The secret of the agent's seeded key. */
export const agentSecret = 'journal-agent-secret-0123456789'

/** A request in a client's journal: it is added before it is sent, and `acknowledged` is the complete answer. */
export interface Intent {
  key: string
  path: string
  attributes: Record<string, unknown>
  acknowledged?: string
}

export function perform(url: string, intent: Intent): Promise<Response> {
  return fetch(`${url}${intent.path}`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ak_ntl_sandbox_${agentSecret}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': intent.key,
      'X-Instance-ID': 'journal',
    },
    body: JSON.stringify({ data: { attributes: intent.attributes } }),
  })
}

/** A journal of clients' requests, each with its own key, and their answers. */
export class Journal {
  readonly intents: Intent[] = []
  acknowledged = 0
  /** The number of refunds. Each refund is one cent larger than the last, so a lost or doubled refund is noticed. */
  #refunds = 0
  readonly #name: string
  readonly #send: (intent: Intent) => Promise<string>

  /** @param send Sends the request and returns the text of the answer. It throws if the status is not 200. */
  constructor(name: string, send: (intent: Intent) => Promise<string>) {
    this.#name = name
    this.#send = send
  }

  /** Makes a purchase, and then reverses it, or captures and refunds it. */
  async buy(): Promise<void> {
    const { id: cardId } = await this.#post('/agent-cards', (key) => ({
      merchant: { name: key },
      maximumAmount: 900,
      currency: 'USD',
    }))
    const { id } = await this.#post(`/simulations/agent-cards/${cardId}/authorize`, (key) => ({
      amount: 900,
      currency: 'USD',
      merchant: { name: key },
    }))
    const path = `/simulations/card-transactions/${id}`
    if (this.intents.length % 3 === 0) await this.#post(`${path}/reverse`, () => ({}))
    else {
      await this.#post(`${path}/capture`, () => ({ amount: 900, currency: 'USD' }))
      this.#refunds += 1
      const amount = this.#refunds
      await this.#post(`${path}/refund`, () => ({ amount, currency: 'USD' }))
    }
  }

  async #post(path: string, attributes: (key: string) => Record<string, unknown>): Promise<{ id: string }> {
    const key = `${this.#name} request ${this.intents.length}`
    const intent: Intent = { key, path, attributes: attributes(key) }
    this.intents.push(intent)
    intent.acknowledged = await this.#send(intent)
    this.acknowledged += 1
    return JSON.parse(intent.acknowledged).data
  }

  /**
   * Repeats every request with its key. Acknowledged requests must get the same answer as before; others must succeed.
   */
  async repeatAll(url: string): Promise<void> {
    const remaining = this.intents.values()
    const clients = Array.from({ length: 16 }, async () => {
      for (const intent of remaining) await repeatRequest(url, intent)
    })
    await Promise.all(clients)
  }

  /** Checks that the books are right, and contain each request's effect exactly once. */
  async expectOneEffectEach(databaseUrl: string): Promise<void> {
    this.expectOneOfEach(await readEffects(databaseUrl))
  }

  /** Checks that each request had its effect exactly once. */
  expectOneOfEach({ transactions, cardMerchants }: Effects): void {
    const isOwn = (name: string) => name.startsWith(`${this.#name} `)
    const purchases = [...transactions.values()].filter(
      ({ kind, merchantName }) => kind === 'purchase' && isOwn(merchantName),
    )
    const keys = (pattern: RegExp) => this.intents.filter(({ path }) => pattern.test(path)).map(({ key }) => key)
    expect(cardMerchants.filter(isOwn).sort()).toEqual(keys(/^\/agent-cards$/).sort())
    expect(purchases.map(({ merchantName }) => merchantName).sort()).toEqual(keys(/authorize$/).sort())
    const ids = new Set(purchases.map(({ id }) => id))
    const refunded = [...transactions.values()]
      .filter(({ purchaseId }) => ids.has(purchaseId ?? ''))
      .map(({ amountCents }) => amountCents)
    expect(refunded.sort((a, b) => a - b)).toEqual(Array.from({ length: this.#refunds }, (_, index) => index + 1))
    for (const { path, attributes } of this.intents) {
      const [, id, action] = /card-transactions\/(\w+)\/(\w+)$/.exec(path) ?? []
      if (id === undefined) continue
      const record = transactions.get(id)
      expect(record?.status).toBe(action === 'reverse' ? 'reversed' : 'captured')
      if (action === 'refund') expect(record?.refundedCents).toBe(attributes.amount)
    }
  }
}

/** The stored effects of the requests. */
interface Effects {
  /** The card transactions, by id. */
  transactions: ReadonlyMap<string, CardTransactionRow>
  cardMerchants: readonly string[]
}

/** Reads the effects, and checks that the books are right. */
export async function readEffects(databaseUrl: string): Promise<Effects> {
  const store = await openStore({ url: databaseUrl, system: realSystem })
  try {
    const { transactions } = await proveBooks(store)
    const cards = await store.transaction(({ db }) => db.selectFrom('agentCards').select('merchantName').execute())
    return {
      transactions: new Map(transactions.map((transaction) => [transaction.id, transaction])),
      cardMerchants: cards.map(({ merchantName }) => merchantName),
    }
  } finally {
    await store.close()
  }
}

async function repeatRequest(url: string, intent: Intent): Promise<void> {
  let response = await perform(url, intent)
  // On a busy machine, a request may exceed its time limit; then it is sent again.
  while (response.status === 503) response = await perform(url, intent)
  const text = await response.text()
  expect(response.status, `${intent.path}: ${text}`).toBe(200)
  if (intent.acknowledged === undefined) return
  expect(text).toBe(intent.acknowledged)
  expect(response.headers.get('x-idempotency-replayed')).toBe('true')
}
