import {
  type HeldCall,
  type HeldState,
  heldMs,
  heldState,
  isSameCall,
  maxHeld,
  type StoredDecision,
} from '../../core/held-call.ts'
import { newId, type System, seal, unseal } from '../../core/system.ts'
import { pendingApprovals } from './approvals.ts'
import { realNow } from './clock.ts'
import { deletingOldest } from './engine/deletions.ts'
import { preparedInsert } from './engine/insert.ts'
import { prepared } from './engine/prepared.ts'
import type { Store, Transaction } from './engine/store.ts'
import { derivedSecret, rootKeys } from './root-keys.ts'
import type { PendingDecisionRow } from './schema/pending-decisions.ts'

/** The owner of pending decisions: the key or grant that made the calls, and the party that owns this credential. */
export interface DecisionOwner {
  partyId: string
  principalId: string
}

export interface DecisionRecord {
  id: string
  principalId: string
  call: HeldCall
  state: HeldState
  tries: number
  answer?: { data: unknown; meta?: Record<string, unknown> | undefined } | undefined
  decidedBy: string | null
  endsAtMs: number
}

/**
 * Creates functions for calls that wait for a person's decision. All these calls were made by one principal. Each
 * function runs in its own transaction.
 */
export function createPendingDecisions(store: Store, system: System, { partyId, principalId }: DecisionOwner) {
  const ownedRow = (row: PendingDecisionRow | undefined) => (row?.principalId === principalId ? row : undefined)
  return {
    /** Stores a call, unless the same call already waits. Returns undefined if too many other calls already wait. */
    keep: (call: HeldCall): Promise<{ id: string; endsAtMs: number; isNew: boolean } | undefined> =>
      store.transaction(async (tx) => {
        await tx.lock(`decisions ${principalId}`)
        const nowMs = await realNow(tx)
        const { rows } = await waitingOfPrincipal(tx, { partyId, principalId, nowMs, limit: maxHeld })
        for (const row of rows) {
          const { id, call: storedCall, endsAtMs } = await openDecision(tx, row)
          if (isSameCall(storedCall, call)) return { id, endsAtMs, isNew: false }
        }
        if (rows.length === maxHeld) return undefined
        const id = newId('dcn', system, nowMs)
        const endsAtMs = nowMs + heldMs
        await insertDecision(tx, {
          id,
          partyId,
          principalId,
          status: 'pending',
          tries: 0,
          answer: null,
          decidedBy: null,
          call: await sealValue(tx, system, { partyId, id, part: 'call' }, call),
          createdAtMs: nowMs,
          expiresAtMs: endsAtMs,
        })
        return { id, endsAtMs, isNew: true }
      }),
    find: (id: string): Promise<DecisionRecord | undefined> =>
      store.read(async (tx) => {
        const row = ownedRow(await findDecision(tx, { partyId, id }))
        return row && openDecision(tx, row)
      }),
    /** Returns whether the call still waits for a decision. Does not decrypt the call. */
    isPending: (id: string): Promise<boolean> =>
      store.read(async (tx) => {
        const row = ownedRow(await findDecision(tx, { partyId, id }))
        return row?.status === 'pending' && (await realNow(tx)) < row.expiresAtMs
      }),
    /**
     * Counts a try to carry out the call, after the try failed because the person must verify first. Does nothing if
     * the stored count is no longer `tries`.
     */
    countTry: (id: string, tries: number): Promise<void> =>
      store.transaction(async (tx) => {
        await tx.db
          .updateTable('pendingDecisions')
          .set({ tries: tries + 1 })
          .where('partyId', '=', partyId)
          .where('id', '=', id)
          .where('tries', '=', tries)
          .execute()
      }),
    finish: (id: string, answer: NonNullable<DecisionRecord['answer']>): Promise<void> =>
      store.transaction(async (tx) => {
        const change = { answer: await sealValue(tx, system, { partyId, id, part: 'answer' }, answer) }
        const decisions = tx.db.updateTable('pendingDecisions').set(change).where('partyId', '=', partyId)
        await decisions.where('id', '=', id).execute()
      }),
  }
}

/** Deletes decisions whose `expiresAtMs` is at or before the given time, and returns how many it deleted. */
export const deletePendingDecisions = deletingOldest('pendingDecisions', ['partyId', 'id'], 'expiresAtMs')

/** How long a decision stays stored after its `expiresAtMs`, so that its outcome can still be read. */
export const endedDecisionKeptMs = 60 * 60_000

export async function findDecision(
  tx: Transaction,
  by: { partyId: string; id: string },
): Promise<PendingDecisionRow | undefined> {
  return (await decisionById(tx, by)).rows[0]
}

/** Returns the pending decisions that a party's users can make, in order of expiry. */
export async function waitingDecisions(
  tx: Transaction,
  by: { partyId: string; nowMs: number; limit: number },
): Promise<PendingDecisionRow[]> {
  return (await waitingOfParty(tx, by)).rows
}

/** Counts the calls and payments that wait for a decision by a party's users, at most `limit` of each. */
export async function countWaiting(
  tx: Transaction,
  by: { partyId: string; nowMs: number; limit: number },
): Promise<number> {
  return (await waitingIds(tx, by)).rows.length
}

/** Stores what a user decided about a pending call. Returns false if somebody has already decided. */
export async function storeDecision(
  tx: Transaction,
  { partyId, id }: Pick<PendingDecisionRow, 'partyId' | 'id'>,
  { status, endsAtMs }: StoredDecision,
  decidedBy: string,
): Promise<boolean> {
  const { numUpdatedRows } = await tx.db
    .updateTable('pendingDecisions')
    .set({ status, decidedBy, expiresAtMs: endsAtMs })
    .where('partyId', '=', partyId)
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Decrypts a decision. */
export async function openDecision(tx: Transaction, row: PendingDecisionRow): Promise<DecisionRecord> {
  const { id, partyId, principalId, tries, decidedBy, expiresAtMs: endsAtMs } = row
  const state = heldState({ status: row.status, endsAtMs }, await realNow(tx))
  const call = await openValue<HeldCall>(tx, { partyId, id, part: 'call' }, row.call)
  const decision = { id, principalId, call, state, tries, decidedBy, endsAtMs } as const
  if (row.answer === null) return decision
  return { ...decision, answer: await openValue(tx, { partyId, id, part: 'answer' }, row.answer) }
}

interface Sealed {
  partyId: string
  id: string
  part: 'call' | 'answer'
}

/** Returns the text from which the encryption key of a call or an answer is derived. */
export const decisionText = ({ partyId, id, part }: Sealed) => `pending decision ${part} ${partyId} ${id}`

async function sealValue(tx: Transaction, system: System, target: Sealed, value: unknown): Promise<string> {
  const { newestId, derive } = await rootKeys(tx)
  return `${newestId}.${seal(system, derive(newestId, decisionText(target)), JSON.stringify(value))}`
}

async function openValue<Value>(tx: Transaction, target: Sealed, sealed: string): Promise<Value> {
  const [id, box = ''] = sealed.split('.')
  const value = unseal(await derivedSecret(tx, Number(id), decisionText(target)), box)
  if (value === undefined) throw new Error(`Bug: the ${target.part} of the decision ${target.id} cannot be decrypted.`)
  return JSON.parse(value) as Value
}

const insertDecision = preparedInsert('pendingDecisions')

const decisionById = prepared((db, by: { partyId: string; id: string }) =>
  db.selectFrom('pendingDecisions').selectAll().where('partyId', '=', by.partyId).where('id', '=', by.id),
)

const waitingOfParty = prepared((db, by: { partyId: string; nowMs: number; limit: number }) =>
  db
    .selectFrom('pendingDecisions')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('status', '=', 'pending')
    .where('expiresAtMs', '>', by.nowMs)
    .orderBy('expiresAtMs')
    .limit(by.limit),
)

/** Selects the ids of a party's waiting calls and of its pending approvals. Both parts of the query use an index. */
const waitingIds = prepared((db, by: { partyId: string; nowMs: number; limit: number }) => {
  const calls = db
    .selectFrom('pendingDecisions')
    .select('id')
    .where('partyId', '=', by.partyId)
    .where('status', '=', 'pending')
    .where('expiresAtMs', '>', by.nowMs)
    .limit(by.limit)
  return db
    .selectFrom(calls.as('calls'))
    .select('id')
    .unionAll(db.selectFrom(pendingApprovals(db, by).as('payments')).select('id'))
})

const waitingOfPrincipal = prepared((db, by: DecisionOwner & { nowMs: number; limit: number }) =>
  db
    .selectFrom('pendingDecisions')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('principalId', '=', by.principalId)
    .where('status', '=', 'pending')
    .where('expiresAtMs', '>', by.nowMs)
    .limit(by.limit),
)
