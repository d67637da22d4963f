import type { Environment } from '../../core/operation.ts'
import { prepared } from './engine/prepared.ts'
import type { Store, Transaction } from './engine/store.ts'

/** Returns the environment that the database belongs to; undefined before the first start with it. */
export async function findEnvironment(tx: Transaction): Promise<Environment | undefined> {
  return (await theDeployment(tx, {})).rows[0]?.environment
}

const theDeployment = prepared((db, _none: object) => db.selectFrom('deployment').selectAll())

/** Assigns this environment to a database that has none yet. Returns the database's environment. */
export async function assignEnvironment(store: Store, environment: Environment): Promise<Environment> {
  const marked = await store.read(findEnvironment)
  if (marked !== undefined) return marked
  return store.transaction(async (tx) => {
    // If two processes start at once, the second one finds the environment that the first one wrote.
    await tx.lock('environment')
    const already = await findEnvironment(tx)
    if (already !== undefined) return already
    await tx.db.insertInto('deployment').values({ id: 1, environment }).execute()
    return environment
  })
}
