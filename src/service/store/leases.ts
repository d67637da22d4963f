import { prepared, writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { LeaseRow } from './schema/leases.ts'

/** A lease that somebody wants, or has and wants for longer. */
type Wanted = LeaseRow & { nowMs: number }

/** Takes or prolongs it; false: another holder has it. Whoever dies with it loses it when its time is over. */
export async function takeLease(tx: Transaction, wanted: Wanted): Promise<boolean> {
  return (await take(tx, wanted)).numAffectedRows === 1n
}

const take = prepared((db, { name, holder, untilMs, nowMs }: Wanted) =>
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

/** Gives it back, where the holder still has it. */
export const endLease = writing((db, { name, holder }: Pick<LeaseRow, 'name' | 'holder'>) =>
  db.deleteFrom('leases').where('name', '=', name).where('holder', '=', holder),
)
