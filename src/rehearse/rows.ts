import { cardStatus } from '../service/rules/agent-cards.ts'
import { readTimes } from '../service/store/clock.ts'
import type { Store, Transaction } from '../service/store/engine/store.ts'
import { maskText } from './mask.ts'

/** What a trial's ledger holds at a moment, by the ids of the records. Secrets in names that an agent gave are masked. */
export interface Rows {
  /** The sandbox's time. */
  nowMs: number
  purchases: ReadonlyMap<string, Purchase>
  payments: ReadonlyMap<string, Payment>
  wallets: readonly { partyId: string; availableCents: number; heldCents: number }[]
}

export interface Purchase {
  partyId: string
  merchant: string
  status: string
  decline: string | null
  amountCents: number
  heldCents: number
  capturedCents: number
  refundedCents: number
}

export interface Payment {
  partyId: string
  kind: 'payment' | 'wire'
  status: string
  amountCents: number
  recipientPartyId: string | null
  /** What it was paid by where nobody known is to be paid. */
  payee: string
}

/** Reads all money there is: a trial's world is small. */
export function readRows(store: Store): Promise<Rows> {
  return store.transaction(async (tx) => {
    const { nowMs } = await readTimes(tx)
    const [purchases, payments, wallets] = [await purchasesIn(tx), await paymentsIn(tx), await walletsIn(tx)]
    return { nowMs, purchases, payments, wallets }
  })
}

async function purchasesIn(tx: Transaction): Promise<Map<string, Purchase>> {
  const rows = await tx.db
    .selectFrom('cardTransactions')
    .selectAll()
    .where('kind', '=', 'purchase')
    .orderBy('id')
    .execute()
  return new Map(
    rows.map(({ id, partyId, merchantName, status, declineCode: decline, ...cents }) => {
      const merchant = maskText(merchantName)
      const { amountCents, heldCents, capturedCents, refundedCents } = cents
      return [id, { partyId, merchant, status, decline, amountCents, heldCents, capturedCents, refundedCents }]
    }),
  )
}

async function paymentsIn(tx: Transaction): Promise<Map<string, Payment>> {
  const rows = await tx.db.selectFrom('payments').selectAll().orderBy('id').execute()
  return new Map(
    rows.flatMap(({ id, kind, partyId, status, amountCents, recipientPartyId, claimant, beneficiary }) => {
      if (kind !== 'payment' && kind !== 'wire') return []
      const account = kind === 'wire' && beneficiary !== null ? (JSON.parse(beneficiary) as { name: string }).name : ''
      return [
        [id, { partyId, kind, status, amountCents, recipientPartyId, payee: maskText(claimant ?? account) }] as const,
      ]
    }),
  )
}

const walletsIn = (tx: Transaction) =>
  tx.db.selectFrom('wallets').select(['partyId', 'availableCents', 'heldCents']).orderBy('id').execute()

/** What else is counted in the end. */
export interface OtherRows {
  cards: { id: string; partyId: string; merchant: string; status: string }[]
  shopOrders: { partyId: string; cardTransactionId: string; state: string }[]
  approvals: { id: string; partyId: string; status: string }[]
  credentials: string[]
  delegations: { agentPartyId: string; customerPartyId: string; status: string }[]
}

export function readOtherRows(store: Store): Promise<OtherRows> {
  return store.transaction(async (tx) => {
    const { nowMs } = await readTimes(tx)
    const cards = await tx.db.selectFrom('agentCards').selectAll().orderBy('id').execute()
    const credentials = await tx.db.selectFrom('credentials').select('id').orderBy('id').execute()
    return {
      cards: cards.map((card) => {
        const { id, partyId, merchantName } = card
        return { id, partyId, merchant: maskText(merchantName), status: cardStatus(card, nowMs) }
      }),
      shopOrders: await tx.db
        .selectFrom('shopOrders')
        .select(['partyId', 'cardTransactionId', 'state'])
        .orderBy('id')
        .execute(),
      approvals: await tx.db.selectFrom('approvals').select(['id', 'partyId', 'status']).orderBy('id').execute(),
      credentials: credentials.map(({ id }) => id),
      delegations: await tx.db
        .selectFrom('delegations')
        .select(['agentPartyId', 'customerPartyId', 'status'])
        .orderBy('id')
        .execute(),
    }
  })
}

/** The name of each party: of a world's own what the world calls it, of another what people do. */
export function readParties(store: Store): Promise<{ id: string; displayName: string; handle: string | null }[]> {
  return store.transaction((tx) =>
    tx.db.selectFrom('parties').select(['id', 'displayName', 'handle']).orderBy('id').execute(),
  )
}
