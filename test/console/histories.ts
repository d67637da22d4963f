import fc from 'fast-check'
import type { Answer, OtherParty, Sent, World } from '../support/world.ts'

/** The actions of agents, merchants, people and banks. An action that is listed several times is drawn more often. */
const actionNames = [
  ...(['issueCard', 'issueCard', 'issueCard', 'repeatIssue', 'issueForCustomer'] as const),
  ...(['authorize', 'authorize', 'authorize', 'authorize', 'capture', 'capture', 'refund', 'refund'] as const),
  ...(['reverse', 'reverseMissing', 'expire', 'passTime'] as const),
  ...(['pay', 'pay', 'payByEmail', 'claimPayment', 'cancelPayment', 'approve', 'deny', 'sendWire'] as const),
  ...(['simulateDeposit', 'deposit', 'withdraw', 'moveBetweenWallets', 'settleTransfer', 'failTransfer'] as const),
  ...(['returnTransfer', 'requestPayment', 'payerPays', 'payerDeclines', 'cancelRequest'] as const),
  ...(['payRequest', 'payRequest', 'subscribe'] as const),
] as const

export const histories = fc.array(
  fc.record({
    name: fc.constantFrom(...actionNames),
    run: fc.constantFrom(0, 0, 0, 1),
    pick: fc.nat(),
    /**
     * The amount of a payment, in cents. The limit of a card and the amount of a purchase are half of this amount. In
     * this range, some purchases exceed the limit of their card, and some payments need approval.
     */
    amount: fc.integer({ min: 100, max: 3000 }),
    merchant: fc.constantFrom('Books', 'BOOKS', 'Bo\u202eoks | <b>', 'Books '),
  }),
  { minLength: 20, maxLength: 60 },
)
type Action = typeof histories extends fc.Arbitrary<(infer Item)[]> ? Item : never

/** Payments above this amount wait for an approval. */
export const limitCents = 1500

/** The ids of the records that belong to one run, by kind, and facts about the calls of the run. */
export class RunRecords {
  readonly name: string
  cards: string[] = []
  purchases: string[] = []
  payments: string[] = []
  transfers: string[] = []
  requests: string[] = []
  subscriptions: string[] = []
  customerCards: string[] = []
  calls = 0
  refusalCodes: string[] = []
  replays = 0
  /** The ids of the records whose ledger entries count for the run. */
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

/** Performs actions in two runs, and remembers the records that each run created. */
export class History {
  readonly runs: readonly [RunRecords, RunRecords]
  readonly #on: Grounds

  constructor(on: Grounds, names: readonly [string, string]) {
    this.#on = on
    this.runs = [new RunRecords(names[0]), new RunRecords(names[1])]
  }

  async perform(action: Action): Promise<void> {
    await actions[action.name]({
      ...action,
      on: this.#on,
      runs: this.runs,
      records: this.runs[action.run as 0 | 1],
      call: (path, attributes, sent) => this.#call(action.run as 0 | 1, path, attributes, sent),
    })
  }

  /** Sends a request in a run. Counts the request for the run, whether or not it is refused. */
  async #call(run: 0 | 1, path: string, attributes?: object, sent: Sent = {}): Promise<Answer> {
    const { world } = this.#on
    const records = this.runs[run]
    const inRun = { instanceId: records.name, ...sent }
    const answer = await (attributes === undefined
      ? world.send('POST', path, inRun)
      : world.post(path, attributes, inRun))
    records.calls++
    if (answer.status >= 400) records.refusalCodes.push(answer.json.errors[0].code)
    return answer
  }
}

interface ActionContext extends Action {
  on: Grounds
  runs: readonly [RunRecords, RunRecords]
  records: RunRecords
  call(path: string, attributes?: object, sent?: Sent): Promise<Answer>
}

const usd = 'USD'
const pickFrom = (ids: readonly string[], pick: number): string | undefined => ids[pick % Math.max(1, ids.length)]
const idsIn = (runs: readonly RunRecords[], kind: 'cards' | 'purchases' | 'payments' | 'transfers' | 'requests') =>
  runs.flatMap((run) => run[kind])
const idOf = ({ status, json }: Answer): string | undefined => (status < 300 ? json.data.id : undefined)

function addId(
  records: RunRecords,
  kind: 'payments' | 'transfers' | 'requests' | 'subscriptions',
  answer: Answer,
): void {
  const id = idOf(answer)
  if (id === undefined) return
  records[kind].push(id)
  records.sources.add(id)
}

async function changePurchase({ runs, pick, call }: ActionContext, action: string, attributes?: object): Promise<void> {
  const id = pickFrom(idsIn(runs, 'purchases'), pick)
  if (id === undefined) return
  const refund = idOf(await call(`/simulations/card-transactions/${id}/${action}`, attributes))
  if (refund === undefined) return
  // A refund counts for the run that issued the charged card, even if the other run requested the refund.
  for (const run of runs) if (run.purchases.includes(id)) run.sources.add(refund)
}

/** Sends a request outside both runs, in the role of the account's owner, a payer or a bank. */
async function sendOutsideRuns({ on: { world } }: ActionContext, path: string, sent: Sent = {}): Promise<Answer> {
  const answer = await world.send('POST', path, { key: world.apiKey, instanceId: null, ...sent })
  // A refusal is acceptable here. The status is read, because a test fails if it ignores a refusal.
  void answer.status
  return answer
}

async function decide(context: ActionContext, how: 'approve' | 'deny'): Promise<void> {
  const { world } = context.on
  const waiting = (await world.get('/approvals?status=pending', { key: world.apiKey })).json.data
  const approval = waiting[context.pick % Math.max(1, waiting.length)]
  if (approval !== undefined) await sendOutsideRuns(context, `/approvals/${approval.id}/${how}`)
}

const changeTransfer = async (context: ActionContext, action: string) => {
  const id = pickFrom(idsIn(context.runs, 'transfers'), context.pick)
  if (id !== undefined) await sendOutsideRuns(context, `/simulations/transfers/${id}/${action}`)
}

const actions: Record<Action['name'], (context: ActionContext) => Promise<void>> = {
  issueCard: async ({ call, records, amount, merchant }) => {
    const id = idOf(
      await call('/agent-cards', { merchant: { name: merchant }, maximumAmount: Math.ceil(amount / 2), currency: usd }),
    )
    if (id !== undefined) records.cards.push(id)
  },
  /** Buys with a card of either run. The purchase belongs to the run that issued the card. */
  authorize: async ({ call, runs, pick, amount, merchant }) => {
    const cardId = pickFrom(idsIn(runs, 'cards'), pick)
    if (cardId === undefined) return
    const bought = { amount: Math.ceil(amount / 2), currency: usd, merchant: { name: merchant } }
    const id = idOf(await call(`/simulations/agent-cards/${cardId}/authorize`, bought))
    const records = runs.find(({ cards }) => cards.includes(cardId))
    if (id === undefined || records === undefined) return
    records.purchases.push(id)
    records.sources.add(id)
  },
  repeatIssue: async ({ call, records, amount }) => {
    const card = { merchant: { name: 'Books' }, maximumAmount: Math.ceil(amount / 2), currency: usd }
    const same = { idempotencyKey: `repeat ${records.name} ${records.calls}` }
    const first = await call('/agent-cards', card, same)
    const second = await call('/agent-cards', card, same)
    if (first.status >= 300 || second.text !== first.text) throw new Error(`Not replayed: ${first.text} ${second.text}`)
    records.cards.push(first.json.data.id)
    records.replays++
  },
  capture: (context) => changePurchase(context, 'capture', { amount: Math.ceil(context.amount / 3), currency: usd }),
  refund: (context) => changePurchase(context, 'refund', { amount: Math.ceil(context.amount / 6), currency: usd }),
  reverse: (context) => changePurchase(context, 'reverse'),
  expire: (context) => changePurchase(context, 'expire'),
  reverseMissing: async ({ call }) => void (await call('/simulations/card-transactions/cit_missing/reverse')),
  passTime: async ({ on, pick }) => on.world.system.pass((1 + (pick % 5)) * 24 * 60 * 60_000),
  pay: async ({ call, records, amount, on }) => {
    const counterparty = { type: 'party_id', value: on.payer.partyId }
    addId(records, 'payments', await call('/payments', { amount, counterparty, description: '| <i>tea' }))
  },
  payByEmail: async ({ call, records, amount, pick }) => {
    const counterparty = { type: 'email', value: `somebody-${pick}@example.com` }
    addId(records, 'payments', await call('/payments', { amount, counterparty }))
  },
  claimPayment: async (context) => {
    const id = pickFrom(idsIn(context.runs, 'payments'), context.pick)
    if (id !== undefined)
      await sendOutsideRuns(context, `/simulations/payments/${id}/complete-claim`, { idempotencyKey: null })
  },
  cancelPayment: async ({ call, runs, pick }) => {
    const id = pickFrom(idsIn(runs, 'payments'), pick)
    if (id !== undefined) await call(`/payments/${id}/cancel`)
  },
  approve: (context) => decide(context, 'approve'),
  deny: (context) => decide(context, 'deny'),
  simulateDeposit: async ({ call, records, amount, on: { world } }) => {
    const { partyId } = await world.whoami()
    const path = `/simulations/customers/${partyId}/transfers/deposit`
    addId(records, 'transfers', await call(path, { amount, currency: usd }, { key: world.apiKey }))
  },
  sendWire: async ({ call, records, amount, on: { world } }) => {
    const address = { addressLine1: '1 Main St', city: 'Austin', state: 'TX', postalCode: '78701', country: 'US' }
    const beneficiary = { name: 'A bank', accountNumber: '123456789', routingNumber: '021000021', address }
    addId(records, 'transfers', await call('/wire', { amount, currency: usd, beneficiary }, { key: world.apiKey }))
  },
  moveBetweenWallets: async ({ call, records, amount, pick, on: { world, walletIds } }) => {
    const [sourceWalletId, destWalletId] = pick % 2 === 0 ? walletIds : walletIds.toReversed()
    const moved = { amount, sourceWalletId, destWalletId }
    addId(records, 'transfers', await call('/transfers/internal', moved, { key: world.apiKey }))
  },
  deposit: async ({ call, records, amount, on: { world, walletIds, accountId: externalAccountId } }) => {
    const input = { amount, externalAccountId, walletId: walletIds[0] }
    addId(records, 'transfers', await call('/transfers/deposit', input, { key: world.apiKey }))
  },
  withdraw: async ({ call, records, amount, on: { world, walletIds, accountId: externalAccountId } }) => {
    const sent = { amount, externalAccountId, walletId: walletIds[0] }
    addId(records, 'transfers', await call('/transfers/withdraw', sent, { key: world.apiKey }))
  },
  settleTransfer: (context) => changeTransfer(context, 'settle'),
  failTransfer: (context) => changeTransfer(context, 'fail'),
  returnTransfer: (context) => changeTransfer(context, 'return'),
  requestPayment: async ({ call, records, amount, on: { world, payer } }) => {
    const input = { amount, payer: { type: 'party_id', value: payer.partyId }, description: 'a `tip`' }
    const answer = await call('/payment-requests', input, { key: world.apiKey })
    addId(records, 'requests', answer)
  },
  /**
   * Lets the payer request money from the seeded party. The run then pays this request from a wallet or a bank account.
   */
  payRequest: async (context) => {
    const { call, records, amount, pick, on } = context
    const { partyId: value } = await on.world.whoami()
    const input = { amount, payer: { type: 'party_id', value } }
    const id = idOf(await sendOutsideRuns(context, '/payment-requests', { key: on.payer.apiKey, attributes: input }))
    const paymentSource =
      pick % 2 === 0
        ? { type: 'wallet', walletId: on.walletIds[0] }
        : { type: 'external_account', externalAccountId: on.accountId }
    addId(
      records,
      'payments',
      await call(`/payment-requests/${id}/fulfill`, { paymentSource }, { key: on.world.apiKey }),
    )
  },
  /**
   * Pays a payment request of a run, as the payer. The source of the ledger entries is the new payment, not the
   * request.
   */
  payerPays: async (context) => {
    const { runs, pick, on } = context
    const id = pickFrom(idsIn(runs, 'requests'), pick)
    if (id === undefined) return
    const { apiKey: key, walletId } = on.payer
    const attributes = { paymentSource: { type: 'wallet', walletId } }
    const payment = idOf(await sendOutsideRuns(context, `/payment-requests/${id}/fulfill`, { key, attributes }))
    if (payment !== undefined) for (const run of runs) if (run.requests.includes(id)) run.sources.add(payment)
  },
  payerDeclines: async (context) => {
    const id = pickFrom(idsIn(context.runs, 'requests'), context.pick)
    if (id !== undefined)
      await sendOutsideRuns(context, `/payment-requests/${id}/decline`, { key: context.on.payer.apiKey })
  },
  cancelRequest: async ({ call, runs, pick, on: { world } }) => {
    const id = pickFrom(idsIn(runs, 'requests'), pick)
    if (id !== undefined) await call(`/payment-requests/${id}/cancel`, undefined, { key: world.apiKey })
  },
  subscribe: async (context) => {
    const { call, records, amount, on } = context
    const terms = { description: 'Gym', every: { unit: 'week', count: 1 }, amount, taxAmount: 0 }
    const answer = await call('/subscriptions', terms, { key: on.world.apiKey })
    addId(records, 'subscriptions', answer)
    const path = `/simulations/subscriptions/${idOf(answer)}/checkout`
    await sendOutsideRuns(context, path, { attributes: { card: 'approves' } })
  },
  issueForCustomer: async ({ call, records, amount, merchant, on: { customerPartyId } }) => {
    const card = { merchant: { name: merchant }, maximumAmount: Math.ceil(amount / 2), currency: usd, customerPartyId }
    const id = idOf(await call('/agent-cards', card))
    if (id !== undefined) records.customerCards.push(id)
  },
}
