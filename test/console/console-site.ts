import { runIdOf } from '../../src/service/request/run-log.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import type { Visitor } from '../pages/oauth-site.ts'
import { createPersonSite, type PersonSite } from '../pages/person-site.ts'
import { entriesOf, type StoredEntry } from '../runs/stored-entries.ts'
import type { TestDatabase } from '../support/databases.ts'
import type { WorldOptions } from '../support/world.ts'

/** The service, and visitors that use its console and act like browsers. */
export interface ConsoleSite extends PersonSite {
  visitor(user?: UserRow): Promise<Visitor>
  /** Returns the path of a run's page. The run must belong to the seeded party. */
  runPath(instanceId: string | null): string
  entries(instanceId: string | null): Promise<StoredEntry[]>
  entryPath(entry: StoredEntry): string
}

export async function createConsoleSite(database: TestDatabase, options: WorldOptions = {}): Promise<ConsoleSite> {
  const site = await createPersonSite(database, options)
  return {
    ...site,
    visitor: (user = site.owner) => site.visitor(user),
    runPath: (instanceId) => `/console/runs/${runIdOf(site.owner.partyId, instanceId)}`,
    entries: (instanceId) => entriesOf(site.world, instanceId),
    entryPath: ({ runId, id }) => `/console/runs/${runId}/entries/${id}`,
  }
}
