import { type Kysely, sql } from 'kysely'
import { newSecret, realSystem } from '../../../core/system.ts'
import { createTable } from './schema.ts'

/**
 * What was tried with a user's codes. Its instants are real time, as the codes are: an authenticator app knows nothing
 * of the sandbox's clock, and moving that clock must not give more tries.
 */
export interface SecondFactorRow {
  userId: string
  /** The time step (RFC 6238) of the last code that was accepted; null before the first. */
  lastStep: number | null
  /** JSON array: when codes were refused lately. */
  refusedAtMs: string
  /** What the secret of the user's app is derived with, `<root key>.<nonce>`; null: the user has not enrolled. */
  seed: string | null
  /** As above, of an enrolment whose first code is awaited. */
  pendingSeed: string | null
}

export async function createSecondFactorSchema(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'secondFactors', { text: 'userId refusedAtMs', bigint: 'lastStep?', key: ['userId'] })
  // A refusal undoes what its handler wrote, and the 428 names an address that is signed with this key. Were it made
  // there first, the address would be signed with a key that is gone.
  const [checkoutKey, id, secret] = [sql.table('checkoutKey'), sql.ref('id'), sql.ref('secret')]
  const insert = sql`insert into ${checkoutKey} (${id}, ${secret}) values (1, ${newSecret(realSystem)})`
  await sql`${insert} on conflict (${id}) do nothing`.execute(db)
}
