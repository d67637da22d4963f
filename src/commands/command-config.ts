import { ConfigError, type ConfigSources, configFor } from '../config/load.ts'
import type { CommandName } from '../config/setting.ts'
import type { Config } from '../config/settings.ts'
import type { Service } from '../service/service.ts'

/** The flags of a command line. */
export type Flags = NonNullable<ConfigSources['flags']>

/** Loads the settings of a command. Warns on stderr about environment variables that the command does not read. */
export function commandConfig(command: CommandName, flags: Flags): Config {
  return configFor(command, { flags }, (line) => process.stderr.write(`payments-mcp: ${line}\n`))
}

/**
 * Refuses production if no deployed API is configured, because the commands that call this function can embed only a
 * sandbox.
 * @throws ConfigError
 */
export function refuseEmbeddedProduction({ environment, baseUrl }: Config): void {
  if (environment === 'sandbox' || baseUrl !== undefined) return
  throw new ConfigError(
    'PAYMENTS_BASE_URL (--base-url) is required with PAYMENTS_ENVIRONMENT=production; it accepts the https address of the payments API.',
  )
}

/**
 * Reads the fault rules from the file that the setting `faults` names; undefined if it names no file.
 * @throws ConfigError
 */
export async function configuredFaultRules({ faults: path }: Config): Promise<FaultRules | undefined> {
  return path === undefined ? undefined : (await import('./fault-file.ts')).readFaults(path)
}

export type FaultRules = Parameters<Service['faults']['load']>[0]
