import type { Kysely } from 'kysely'
import { boughtSince } from './card-transactions.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { paidSince } from './payments.ts'
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
function sums(db: Kysely<Tables>, { partyId, sinceMs }: Window, agentId: string | null) {
  return db.selectNoFrom([
    paidSince(db, partyId, agentId, sinceMs).as('paidCents'),
    boughtSince(db, { partyId, agentId }, sinceMs, 'heldCents').as('heldCents'),
    boughtSince(db, { partyId, agentId }, sinceMs, 'capturedCents').as('capturedCents'),
  ])
}
