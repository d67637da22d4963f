import { agentSecret } from '../ledger/journal.ts'
import { type Served, serve } from '../packaging/served.ts'
import { runResource } from '../support/run-resources.ts'

const cli = await runResource('cli')

/** Starts a service process that uses the given database and accepts the agent key that `Clients` send. */
export function serveOn(databaseUrl: string, env: Record<string, string> = {}): Promise<Served> {
  return serve([cli, 'serve'], {
    PATH: process.env.PATH ?? '',
    PAYMENTS_DATABASE_URL: databaseUrl,
    PAYMENTS_PORT: '0',
    PAYMENTS_SANDBOX_AGENT_KEY: agentSecret,
    PAYMENTS_RATE_LIMIT: '1000000',
    // Hides the log messages about an unreachable database. No test checks these messages.
    PAYMENTS_LOG_LEVEL: 'fatal',
    ...env,
  })
}
