import { prepared, preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { LeaseRow } from './schema/task-leases.ts'

/** A request to take or extend a lease, with the current real time. */
type LeaseRequest = LeaseRow & { nowMs: number }

/** Takes or extends a lease. Returns false if another process holds the lease and the lease has not expired. */
export async function takeTaskLease(tx: Transaction, lease: LeaseRequest): Promise<boolean> {
  return (await take(tx, lease)).numAffectedRows === 1n
}

const take = prepared((db, { name, holder, untilMs, nowMs }: LeaseRequest) =>
  db
    .insertInto('leases')
    .values({ name, holder, untilMs })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({ holder, untilMs })
        .where((row) => row.or([row('leases.holder', '=', holder), row('leases.untilMs', '<=', nowMs)])),
    ),
)

/** Ends a lease if the holder still has it. */
export const endTaskLease = preparedWrite((db, { name, holder }: Pick<LeaseRow, 'name' | 'holder'>) =>
  db.deleteFrom('leases').where('name', '=', name).where('holder', '=', holder),
)
