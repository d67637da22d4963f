import { type ConfigSources, configFor } from '../config/load.ts'
import type { CommandName } from '../config/setting.ts'
import type { Config } from '../config/settings.ts'

/** What stands behind the command on the command line. */
export type Flags = NonNullable<ConfigSources['flags']>

/** The settings of the command that this process runs. What it does not read, the person at the terminal is told. */
export function configured(command: CommandName, flags: Flags): Config {
  return configFor(command, { flags }, (line) => process.stderr.write(`payments-mcp: ${line}\n`))
}
