import type { Environment } from '../../core/operation.ts'
import { prepared } from './engine/prepared.ts'
import type { Store, Transaction } from './engine/store.ts'

/**
 * Returns the environment that the database belongs to; undefined if no service has been started with this database
 * yet.
 */
export async function findEnvironment(tx: Transaction): Promise<Environment | undefined> {
  return (await deployment(tx, {})).rows[0]?.environment
}

const deployment = prepared((db, _none: object) => db.selectFrom('deployment').selectAll())

/** Assigns the environment to the database if the database has none yet. Returns the database's environment. */
export async function assignEnvironment(store: Store, environment: Environment): Promise<Environment> {
  const existing = await store.read(findEnvironment)
  if (existing !== undefined) return existing
  return store.transaction(async (tx) => {
    // If two processes start at the same time, the second waits here, and then finds the environment that the first one
    // wrote.
    await tx.lock('environment')
    const assigned = await findEnvironment(tx)
    if (assigned !== undefined) return assigned
    await tx.db.insertInto('deployment').values({ id: 1, environment }).execute()
    return environment
  })
}
