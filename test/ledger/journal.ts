import { expect } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import type { CardTransactionRow } from '../../src/service/store/schema/card-transactions.ts'
import { proveBooks } from './books.ts'

/** The secret part of the API key that the sandbox seeds for the agent. */
export const agentSecret = 'journal-agent-secret-0123456789'

/** A request in a journal. It is added to the journal before it is sent. */
export interface Intent {
  key: string
  path: string
  attributes: Record<string, unknown>
  /** The body of the answer; undefined until the answer has arrived. */
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

/** Records the requests of concurrent clients, and the answers. Each request has its own idempotency key. */
export class Journal {
  readonly intents: Intent[] = []
  /** The number of requests that were answered. */
  acknowledged = 0
  /**
   * The number of refunds. Each refund is one cent larger than the one before, so the stored amounts show whether a
   * refund was lost or made twice.
   */
  #refunds = 0
  readonly #name: string
  readonly #send: (intent: Intent) => Promise<string>

  /** @param send sends a request and returns the body of the answer; it throws if the status is not 200 */
  constructor(name: string, send: (intent: Intent) => Promise<string>) {
    this.#name = name
    this.#send = send
  }

  /** Makes a purchase, and then either reverses it, or captures it and refunds part of it. */
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
   * Repeats every request with its idempotency key. Acknowledged requests must get their answer again; the other
   * requests must succeed.
   */
  async repeatAll(url: string): Promise<void> {
    const remaining = this.intents.values()
    const clients = Array.from({ length: 16 }, async () => {
      for (const intent of remaining) await repeatRequest(url, intent)
    })
    await Promise.all(clients)
  }

  /** Checks the invariants of the books, and that each request had its effect exactly once. */
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
  /** The card transactions by their ids. */
  transactions: ReadonlyMap<string, CardTransactionRow>
  /** The merchant name of each issued card. */
  cardMerchants: readonly string[]
}

/** Reads the stored effects, and checks the invariants of the books. */
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
  // On a busy machine, a request may exceed its time limit and get status 503. It is then sent again.
  while (response.status === 503) response = await perform(url, intent)
  const text = await response.text()
  expect(response.status, `${intent.path}: ${text}`).toBe(200)
  if (intent.acknowledged === undefined) return
  expect(text).toBe(intent.acknowledged)
  expect(response.headers.get('x-idempotency-replayed')).toBe('true')
}
