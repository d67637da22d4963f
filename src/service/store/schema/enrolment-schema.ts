import type { Kysely } from 'kysely'
import { addColumns } from './schema.ts'

/** Which secret each user's authenticator app has, of which the database knows no more than what it is derived with. */
export async function addEnrolments(db: Kysely<unknown>): Promise<void> {
  await addColumns(db, 'secondFactors', { text: 'seed? pendingSeed?' })
}
