import type { Environment } from '../../core/operation.ts'
import { hasCredentialOf } from './credentials.ts'
import { prepared } from './engine/prepared.ts'
import type { Store, Transaction } from './engine/store.ts'

/** Returns the environment that the database belongs to; undefined before its first start. */
export async function heldEnvironment(tx: Transaction): Promise<Environment | undefined> {
  const [marked] = (await theDeployment(tx, {})).rows
  if (marked !== undefined) return marked.environment
  // A version that marked no database made credentials that say it. One key of production makes it production's, though
  // it may have been served as a sandbox since.
  for (const environment of ['production', 'sandbox'] as const) {
    if (await hasCredentialOf(tx, environment)) return environment
  }
  return undefined
}

const theDeployment = prepared((db, _none: object) => db.selectFrom('deployment').selectAll())

/** Marks a database that has no environment yet with this one. Returns the one that it belongs to. */
export async function holdEnvironment(store: Store, environment: Environment): Promise<Environment> {
  const [marked] = (await store.read((tx) => theDeployment(tx, {}))).rows
  if (marked !== undefined) return marked.environment
  return store.transaction(async (tx) => {
    // When two processes start at once, the second one finds the mark of the first.
    await tx.lock('environment')
    const [already] = (await theDeployment(tx, {})).rows
    if (already !== undefined) return already.environment
    const held = (await heldEnvironment(tx)) ?? environment
    await tx.db.insertInto('deployment').values({ id: 1, environment: held }).execute()
    return held
  })
}
