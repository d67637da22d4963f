import { loadConfig } from '../config/load.ts'
import { type Config, type LogLevel, type SettingKey, settings } from '../config/settings.ts'
import { describeText } from '../config/values.ts'

/** Every option has a default. */
export interface SandboxOptions {
  /** Where it listens on 127.0.0.1; 0, the default, is any free port, and with false only `fetch` reaches it. */
  port?: number | false | undefined
  /** `sqlite::memory:`, the default, `sqlite:PATH` or `postgres://…`. */
  database?: string | undefined
  /** What is logged, to stderr; by default nothing. */
  logLevel?: LogLevel | undefined
}

/** As settings, with nothing of this process's environment. @throws TypeError that names the option and what it accepts */
export function configOf({ port = 0, database = 'sqlite::memory:', logLevel = 'silent' }: SandboxOptions): Config {
  const flags = {
    port: accepted('port', String(port === false ? 0 : port), 'port'),
    databaseUrl: accepted('database', database, 'databaseUrl'),
    logLevel: accepted('logLevel', logLevel, 'logLevel'),
    // A test suite is quicker than any agent, and the fault `error` with the code `rate_limited` is there to test that.
    rateLimit: '1000000000',
  }
  return loadConfig({ env: {}, flags })
}

function accepted(option: string, text: string, key: SettingKey): string {
  const setting = settings.find((known) => known.key === key)
  if (setting === undefined) throw new Error(`Bug: ${key} is no setting.`)
  if (typeof text === 'string' && setting.parse(text, 'sandbox') !== undefined) return text
  const got = describeText(String(text), setting.secret)
  throw new TypeError(`createSandbox: ${option} got ${got}; it accepts ${setting.accepts}.`)
}
