import type { Kysely } from 'kysely'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { Tables } from './schema/tables.ts'

/** Whose spending is summed: everything that left a party's wallets, or what one agent started on them. */
export interface Spender {
  partyId: string
  agentId: string | null
}

/**
 * What was spent since an instant, in cents: payments and wires that neither failed nor were taken back nor wait for a
 * decision, and card purchases by what they hold or captured. A purchase counts from its authorization on.
 */
export async function spentSince(tx: Transaction, { partyId, agentId }: Spender, sinceMs: number): Promise<number> {
  const by = { partyId, sinceMs }
  const { rows } = agentId === null ? await spentByParty(tx, by) : await spentByAgent(tx, { ...by, agentId })
  const [sums] = rows
  // The sum of a bigint is a numeric on PostgreSQL, which arrives as text.
  return Number(sums?.paidCents ?? 0) + Number(sums?.heldCents ?? 0) + Number(sums?.capturedCents ?? 0)
}

interface Window {
  partyId: string
  sinceMs: number
}

const spentByParty = prepared((db, by: Window) => sums(db, by, null))
const spentByAgent = prepared((db, by: Window & { agentId: string }) => sums(db, by, by.agentId))

/** Each sum by the index of party and time. */
function sums(db: Kysely<Tables>, by: Window, agentId: string | null) {
  return db.selectNoFrom([
    paidBy(db, by, agentId).as('paidCents'),
    boughtBy(db, by, agentId, 'heldCents').as('heldCents'),
    boughtBy(db, by, agentId, 'capturedCents').as('capturedCents'),
  ])
}

function paidBy(db: Kysely<Tables>, by: Window, agentId: string | null) {
  const ofParty = db
    .selectFrom('payments')
    .select((row) => row.fn.sum('amountCents').as('cents'))
    .where('partyId', '=', by.partyId)
    .where('createdAtMs', '>=', by.sinceMs)
    // The kinds whose money leaves the party.
    .where('kind', 'in', ['payment', 'wire'])
    .where('status', 'not in', ['FAILED', 'CANCELED', 'APPROVAL_DENIED', 'IN_REVIEW'])
  return agentId === null ? ofParty : ofParty.where('agentId', '=', agentId)
}

/** A purchase is of the agent that its card was issued to, whoever rehearsed it. */
function boughtBy(db: Kysely<Tables>, by: Window, agentId: string | null, part: 'heldCents' | 'capturedCents') {
  const ofParty = db
    .selectFrom('cardTransactions')
    .select((row) => row.fn.sum(`cardTransactions.${part}`).as('cents'))
    .where('cardTransactions.partyId', '=', by.partyId)
    .where('cardTransactions.createdAtMs', '>=', by.sinceMs)
    .where('cardTransactions.kind', '=', 'purchase')
  if (agentId === null) return ofParty
  return ofParty
    .innerJoin('agentCards', 'agentCards.id', 'cardTransactions.cardId')
    .where('agentCards.agentId', '=', agentId)
}
