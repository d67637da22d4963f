import fc from 'fast-check'
import type { Answer, OtherParty, Sent, World } from '../support/world.ts'

/** The actions of agents, merchants, people and banks, in two concurrent runs. */
const acts = [
  ...(['issue', 'issue', 'issue', 'authorize', 'authorize', 'authorize', 'authorize', 'again'] as const),
  ...(['capture', 'capture', 'refund', 'refund', 'reverse', 'expire', 'miss', 'pass'] as const),
  ...(['pay', 'pay', 'mail', 'claim', 'cancel', 'approve', 'deny', 'fund', 'wire', 'move'] as const),
  ...(['deposit', 'withdraw', 'settle', 'fail', 'return', 'ask', 'paid', 'declined', 'unpaid'] as const),
  ...(['subscribe', 'forCustomer', 'billed', 'billed'] as const),
] as const

export const histories = fc.array(
  fc.record({
    act: fc.constantFrom(...acts),
    run: fc.constantFrom(0, 0, 0, 1),
    pick: fc.nat(),
    /**
     * A payment's amount. Card limits and purchases are half of it. Some purchases exceed their card's limit, and
     * some payments need no approval.
     */
    amount: fc.integer({ min: 100, max: 3000 }),
    merchant: fc.constantFrom('Books', 'BOOKS', 'Bo\u202eoks | <b>', 'Books '),
  }),
  { minLength: 20, maxLength: 60 },
)
type Act = typeof histories extends fc.Arbitrary<(infer One)[]> ? One : never

/** Payments above this amount wait for an approval. */
export const limitCents = 1500

/** The records created in one run, by kind, as reported to their creator. */
export class RunMade {
  readonly name: string
  cards: string[] = []
  purchases: string[] = []
  payments: string[] = []
  transfers: string[] = []
  requests: string[] = []
  subscriptions: string[] = []
  forCustomer: string[] = []
  calls = 0
  refused: string[] = []
  replays = 0
  /** The source ids of the run's ledger entries. */
  sources = new Set<string>()

  constructor(name: string) {
    this.name = name
  }
}

export interface Grounds {
  world: World
  payer: OtherParty
  walletIds: readonly [string, string]
  accountId: string
  customerPartyId: string
}

/** Performs acts in two runs, and keeps the records that each run created. */
export class History {
  readonly runs: readonly [RunMade, RunMade]
  readonly #on: Grounds

  constructor(on: Grounds, names: readonly [string, string]) {
    this.#on = on
    this.runs = [new RunMade(names[0]), new RunMade(names[1])]
  }

  async take(act: Act): Promise<void> {
    await takes[act.act]({
      ...act,
      on: this.#on,
      all: this.runs,
      made: this.runs[act.run as 0 | 1],
      call: (path, attributes, sent) => this.#call(act.run as 0 | 1, path, attributes, sent),
    })
  }

  /** Makes an agent's call in a run, and counts it even if it is refused. */
  async #call(run: 0 | 1, path: string, attributes?: object, sent: Sent = {}): Promise<Answer> {
    const { world } = this.#on
    const made = this.runs[run]
    const named = { instanceId: made.name, ...sent }
    const answer = await (attributes === undefined
      ? world.send('POST', path, named)
      : world.post(path, attributes, named))
    made.calls++
    if (answer.status >= 400) made.refused.push(answer.json.errors[0].code)
    return answer
  }
}

interface Taking extends Act {
  on: Grounds
  all: readonly [RunMade, RunMade]
  made: RunMade
  call(path: string, attributes?: object, sent?: Sent): Promise<Answer>
}

const usd = 'USD'
const someOf = (ids: readonly string[], pick: number): string | undefined => ids[pick % Math.max(1, ids.length)]
const of = (all: readonly RunMade[], kind: 'cards' | 'purchases' | 'payments' | 'transfers' | 'requests') =>
  all.flatMap((run) => run[kind])
const idOf = ({ status, json }: Answer): string | undefined => (status < 300 ? json.data.id : undefined)

function keep(made: RunMade, kind: 'payments' | 'transfers' | 'requests' | 'subscriptions', answer: Answer): void {
  const id = idOf(answer)
  if (id === undefined) return
  made[kind].push(id)
  made.sources.add(id)
}

async function onPurchase({ all, pick, call }: Taking, action: string, attributes?: object): Promise<void> {
  const id = someOf(of(all, 'purchases'), pick)
  if (id === undefined) return
  const refund = idOf(await call(`/simulations/card-transactions/${id}/${action}`, attributes))
  if (refund === undefined) return
  // A refund by any run returns the money to the run whose card was charged.
  for (const run of all) if (run.purchases.includes(id)) run.sources.add(refund)
}

/** Sends a request outside of all runs, as the account's owner, a payer or a bank. */
async function sendOutsideRuns({ on: { world } }: Taking, path: string, sent: Sent = {}): Promise<Answer> {
  const answer = await world.send('POST', path, { key: world.apiKey, instanceId: null, ...sent })
  // Reading the status marks a refusal as expected.
  void answer.status
  return answer
}

async function decide(taking: Taking, how: 'approve' | 'deny'): Promise<void> {
  const { world } = taking.on
  const waiting = (await world.get('/approvals?status=pending', { key: world.apiKey })).json.data
  const approval = waiting[taking.pick % Math.max(1, waiting.length)]
  if (approval !== undefined) await sendOutsideRuns(taking, `/approvals/${approval.id}/${how}`)
}

const onTransfer = async (taking: Taking, action: string) => {
  const id = someOf(of(taking.all, 'transfers'), taking.pick)
  if (id !== undefined) await sendOutsideRuns(taking, `/simulations/transfers/${id}/${action}`)
}

const takes: Record<Act['act'], (taking: Taking) => Promise<void>> = {
  issue: async ({ call, made, amount, merchant }) => {
    const id = idOf(
      await call('/agent-cards', { merchant: { name: merchant }, maximumAmount: Math.ceil(amount / 2), currency: usd }),
    )
    if (id !== undefined) made.cards.push(id)
  },
  /** Buys with any run's card. The run that issued the card reports the purchase. */
  authorize: async ({ call, all, pick, amount, merchant }) => {
    const cardId = someOf(of(all, 'cards'), pick)
    if (cardId === undefined) return
    const bought = { amount: Math.ceil(amount / 2), currency: usd, merchant: { name: merchant } }
    const id = idOf(await call(`/simulations/agent-cards/${cardId}/authorize`, bought))
    const made = all.find(({ cards }) => cards.includes(cardId))
    if (id === undefined || made === undefined) return
    made.purchases.push(id)
    made.sources.add(id)
  },
  again: async ({ call, made, amount }) => {
    const card = { merchant: { name: 'Books' }, maximumAmount: Math.ceil(amount / 2), currency: usd }
    const same = { idempotencyKey: `again ${made.name} ${made.calls}` }
    const first = await call('/agent-cards', card, same)
    const second = await call('/agent-cards', card, same)
    if (first.status >= 300 || second.text !== first.text) throw new Error(`No replay: ${first.text} ${second.text}`)
    made.cards.push(first.json.data.id)
    made.replays++
  },
  capture: (taking) => onPurchase(taking, 'capture', { amount: Math.ceil(taking.amount / 3), currency: usd }),
  refund: (taking) => onPurchase(taking, 'refund', { amount: Math.ceil(taking.amount / 6), currency: usd }),
  reverse: (taking) => onPurchase(taking, 'reverse'),
  expire: (taking) => onPurchase(taking, 'expire'),
  miss: async ({ call }) => void (await call('/simulations/card-transactions/cit_missing/reverse')),
  pass: async ({ on, pick }) => on.world.system.pass((1 + (pick % 5)) * 24 * 60 * 60_000),
  pay: async ({ call, made, amount, on }) => {
    const counterparty = { type: 'party_id', value: on.payer.partyId }
    keep(made, 'payments', await call('/payments', { amount, counterparty, description: '| <i>tea' }))
  },
  mail: async ({ call, made, amount, pick }) => {
    const counterparty = { type: 'email', value: `somebody-${pick}@example.com` }
    keep(made, 'payments', await call('/payments', { amount, counterparty }))
  },
  claim: async (taking) => {
    const id = someOf(of(taking.all, 'payments'), taking.pick)
    if (id !== undefined)
      await sendOutsideRuns(taking, `/simulations/payments/${id}/complete-claim`, { idempotencyKey: null })
  },
  cancel: async ({ call, all, pick }) => {
    const id = someOf(of(all, 'payments'), pick)
    if (id !== undefined) await call(`/payments/${id}/cancel`)
  },
  approve: (taking) => decide(taking, 'approve'),
  deny: (taking) => decide(taking, 'deny'),
  fund: async ({ call, made, amount, on: { world } }) => {
    const { partyId } = await world.whoami()
    const path = `/simulations/customers/${partyId}/transfers/deposit`
    keep(made, 'transfers', await call(path, { amount, currency: usd }, { key: world.apiKey }))
  },
  wire: async ({ call, made, amount, on: { world } }) => {
    const address = { addressLine1: '1 Main St', city: 'Austin', state: 'TX', postalCode: '78701', country: 'US' }
    const beneficiary = { name: 'A bank', accountNumber: '123456789', routingNumber: '021000021', address }
    keep(made, 'transfers', await call('/wire', { amount, currency: usd, beneficiary }, { key: world.apiKey }))
  },
  move: async ({ call, made, amount, pick, on: { world, walletIds } }) => {
    const [sourceWalletId, destWalletId] = pick % 2 === 0 ? walletIds : walletIds.toReversed()
    const moved = { amount, sourceWalletId, destWalletId }
    keep(made, 'transfers', await call('/transfers/internal', moved, { key: world.apiKey }))
  },
  deposit: async ({ call, made, amount, on: { world, walletIds, accountId: externalAccountId } }) => {
    const input = { amount, externalAccountId, walletId: walletIds[0] }
    keep(made, 'transfers', await call('/transfers/deposit', input, { key: world.apiKey }))
  },
  withdraw: async ({ call, made, amount, on: { world, walletIds, accountId: externalAccountId } }) => {
    const sent = { amount, externalAccountId, walletId: walletIds[0] }
    keep(made, 'transfers', await call('/transfers/withdraw', sent, { key: world.apiKey }))
  },
  settle: (taking) => onTransfer(taking, 'settle'),
  fail: (taking) => onTransfer(taking, 'fail'),
  return: (taking) => onTransfer(taking, 'return'),
  ask: async ({ call, made, amount, on: { world, payer } }) => {
    const input = { amount, payer: { type: 'party_id', value: payer.partyId }, description: 'a `tip`' }
    const answer = await call('/payment-requests', input, { key: world.apiKey })
    keep(made, 'requests', answer)
  },
  /** Requests money from this party. The run pays the request from a wallet or a bank account. */
  billed: async (taking) => {
    const { call, made, amount, pick, on } = taking
    const { partyId: value } = await on.world.whoami()
    const input = { amount, payer: { type: 'party_id', value } }
    const id = idOf(await sendOutsideRuns(taking, '/payment-requests', { key: on.payer.apiKey, attributes: input }))
    const paymentSource =
      pick % 2 === 0
        ? { type: 'wallet', walletId: on.walletIds[0] }
        : { type: 'external_account', externalAccountId: on.accountId }
    keep(made, 'payments', await call(`/payment-requests/${id}/fulfill`, { paymentSource }, { key: on.world.apiKey }))
  },
  /** Pays a run's payment request. The ledger names this payment, not the request. */
  paid: async (taking) => {
    const { all, pick, on } = taking
    const id = someOf(of(all, 'requests'), pick)
    if (id === undefined) return
    const { apiKey: key, walletId } = on.payer
    const attributes = { paymentSource: { type: 'wallet', walletId } }
    const payment = idOf(await sendOutsideRuns(taking, `/payment-requests/${id}/fulfill`, { key, attributes }))
    if (payment !== undefined) for (const run of all) if (run.requests.includes(id)) run.sources.add(payment)
  },
  declined: async (taking) => {
    const id = someOf(of(taking.all, 'requests'), taking.pick)
    if (id !== undefined)
      await sendOutsideRuns(taking, `/payment-requests/${id}/decline`, { key: taking.on.payer.apiKey })
  },
  unpaid: async ({ call, all, pick, on: { world } }) => {
    const id = someOf(of(all, 'requests'), pick)
    if (id !== undefined) await call(`/payment-requests/${id}/cancel`, undefined, { key: world.apiKey })
  },
  subscribe: async (taking) => {
    const { call, made, amount, on } = taking
    const terms = { description: 'Gym', every: { unit: 'week', count: 1 }, amount, taxAmount: 0 }
    const answer = await call('/subscriptions', terms, { key: on.world.apiKey })
    keep(made, 'subscriptions', answer)
    const path = `/simulations/subscriptions/${idOf(answer)}/checkout`
    await sendOutsideRuns(taking, path, { attributes: { card: 'approves' } })
  },
  forCustomer: async ({ call, made, amount, merchant, on: { customerPartyId } }) => {
    const card = { merchant: { name: merchant }, maximumAmount: Math.ceil(amount / 2), currency: usd, customerPartyId }
    const id = idOf(await call('/agent-cards', card))
    if (id !== undefined) made.forCustomer.push(id)
  },
}
