import { newId, type System } from '../../core/system.ts'
import type { Store } from './engine/store.ts'

/** Tests a write: inserts a row and deletes it in the same transaction. Fails, for example, if the disk is full. */
export function probeWrite(store: Store, system: System): Promise<void> {
  const sentAtMs = system.now()
  const id = newId('probe', system, sentAtMs)
  return store.aside(async ({ db }) => {
    await db.insertInto('mcpMail').values({ id, idHash: '', addressee: '', message: '', sentAtMs }).execute()
    await db.deleteFrom('mcpMail').where('id', '=', id).execute()
  })
}
