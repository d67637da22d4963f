import { join } from 'node:path'
import { measurePartiesOnPostgres } from './authorizations-postgres.ts'
import { measureCrowds, measureHotWallet } from './hot-wallet.ts'
import { type Databases, startPostgres } from './postgres-server.ts'
import { measureQuietParty } from './quiet-party.ts'
import type { Row } from './table.ts'

/** The service on PostgreSQL: against statements by hand, against itself on SQLite, and how parties fare beside each other. */
export async function measurePostgres(directory: string): Promise<Row[]> {
  const server = await startPostgres(directory)
  const databases = async (name: string): Promise<Databases> => {
    return { sqlite: `sqlite:${join(directory, name)}.sqlite`, postgres: await server.createDatabase(name) }
  }
  try {
    return [
      ...(await measurePartiesOnPostgres(await server.createDatabase('ours'), await server.createDatabase('bare'))),
      ...(await measureHotWallet(await databases('hot'), await databases('hot_http'))),
      ...(await measureCrowds(await databases('crowd'))),
      ...(await measureQuietParty(await databases('quiet'))),
    ]
  } finally {
    await server.stop()
  }
}
