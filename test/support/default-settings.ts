import { loadConfig } from '../../src/config/load.ts'
import type { Environment } from '../../src/core/operation.ts'

/** Returns the default settings of an MCP server. */
export function defaultSettings(environment: Environment) {
  const {
    cardDetails,
    confirm: mode,
    confirmAbove: aboveCents,
  } = loadConfig({
    env: { PAYMENTS_ENVIRONMENT: environment },
    home: '/home/nobody',
  })
  return { environment, cardDetails, confirm: { mode, aboveCents } }
}
