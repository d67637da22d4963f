import { ConfigError, type ConfigSources, configFor } from '../config/load.ts'
import type { CommandName } from '../config/setting.ts'
import type { Config } from '../config/settings.ts'
import type { Service } from '../service/service.ts'

/** The flags of a command line. */
export type Flags = NonNullable<ConfigSources['flags']>

/** The settings of the command that this process runs. What it does not read, the person at the terminal is told. */
export function configured(command: CommandName, flags: Flags): Config {
  return configFor(command, { flags }, (line) => process.stderr.write(`payments-mcp: ${line}\n`))
}

/** In production the MCP server over stdio has no sandbox to work on. @throws ConfigError */
export function refuseEmbeddedProduction({ environment, baseUrl }: Config): void {
  if (environment === 'sandbox' || baseUrl !== undefined) return
  throw new ConfigError(
    'PAYMENTS_BASE_URL (--base-url) got nothing; with PAYMENTS_ENVIRONMENT=production it accepts the https address of the payments API.',
  )
}

/** The rules of the file of faults, which is read only where one is given. @throws ConfigError */
export async function configuredFaults({ faults: path }: Config): Promise<FaultRules | undefined> {
  return path === undefined ? undefined : (await import('./fault-file.ts')).readFaults(path)
}

export type FaultRules = Parameters<Service['faults']['load']>[0]
