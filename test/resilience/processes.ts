import { agentSecret } from '../ledger/journal.ts'
import { type Served, serve } from '../packaging/served.ts'
import { runResource } from '../support/run-resources.ts'

const cli = await runResource('cli')

/** Starts a process of the service on that database, for `Clients`. */
export function serveOn(databaseUrl: string, env: Record<string, string> = {}): Promise<Served> {
  return serve([cli, 'serve'], {
    PATH: process.env.PATH ?? '',
    PAYMENTS_DATABASE_URL: databaseUrl,
    PAYMENTS_PORT: '0',
    PAYMENTS_SANDBOX_AGENT_KEY: agentSecret,
    PAYMENTS_RATE_LIMIT: '1000000',
    // At other levels the service logs that the database is unreachable, which no test checks.
    PAYMENTS_LOG_LEVEL: 'fatal',
    ...env,
  })
}
