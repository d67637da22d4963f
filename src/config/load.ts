import { homedir } from 'node:os'
import { maskSecrets } from '../core/masking.ts'
import { type Environment, environmentSegments } from '../core/operation.ts'
import { nearestWord } from '../core/spelling.ts'
import { directoryOf } from './data-directory.ts'
import { dataSettings } from './data-settings.ts'
import type { CommandName, Start } from './setting.ts'
import { type Config, type KnownSetting, names, type SettingKey, settings } from './settings.ts'
import { describeText, isPostgresUrl, keyPattern } from './values.ts'

/** An error for the person who starts the program. The CLI prints its message and exits with code 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** The sources of the configuration. By default they belong to this process; tests pass their own. */
export interface ConfigSources {
  env?: Readonly<Record<string, string | undefined>>
  /** The flags' values, keyed by setting as in commander's `opts()`. Properties that are not settings are ignored. */
  flags?: { readonly [K in SettingKey]?: string | undefined }
  platform?: NodeJS.Platform
  /** The user's home directory. */
  home?: string
  /** The command to run. Some defaults depend on it. */
  command?: CommandName
}

/**
 * Reads and checks every setting. A flag takes precedence over its environment variable, and an empty variable counts
 * as unset. @throws ConfigError
 */
export function loadConfig(sources: ConfigSources = {}): Config {
  const { env = process.env, flags = {}, platform = process.platform, home = homedir(), command } = sources
  const { file: dataFile } = dataDirectory({ env, platform, home })
  const read = (setting: KnownSetting, environment: Environment) =>
    settingValue(setting, flags[setting.key] ?? (env[setting.variable] || undefined), {
      environment,
      command,
      dataFile,
    })
  // Reads `environment` first, because the parsers and defaults of other settings depend on it.
  const environment = read(settingOf('environment'), 'sandbox') as Environment
  const values = Object.fromEntries(settings.map((setting) => [setting.key, read(setting, environment)]))
  const config = Object.freeze(values) as unknown as Config
  refuseKeyOfOtherEnvironment(config.key, environment)
  refuseStandbyOfSqlite(config)
  refuseFileWithoutSandbox('world', config)
  refuseFileWithoutSandbox('faults', config)
  return config
}

/**
 * Reads a command's settings. Warns about variables that the command does not read.
 * @throws ConfigError if a flag is given that the command does not read, or if a value is invalid
 */
export function configFor(command: CommandName, sources: ConfigSources, warn: (line: string) => void): Config {
  const { env = process.env, flags = {} } = sources
  const unread = settings.find(({ key, readBy }) => flags[key] !== undefined && !readBy.includes(command))
  if (unread !== undefined) throw new ConfigError(`${unread.flag} ${unreadBy(command, unread.readBy)}.`)
  for (const variable of Object.keys(env).filter((name) => name.startsWith('PAYMENTS_') && env[name] !== '')) {
    const setting = settings.find((candidate) => candidate.variable === variable)
    if (setting === undefined) warn(unknownVariable(variable))
    else if (!setting.readBy.includes(command)) warn(`${variable} ${unreadBy(command, setting.readBy)}; it is ignored.`)
  }
  return loadConfig({ ...sources, command })
}

/** Returns this process's environment for a child process, without the `PAYMENTS_…` variables of this package. */
export function foreignEnvironment(env: ConfigSources['env'] = process.env): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('PAYMENTS_')))
}

/** Returns the settings that were given for a command, as unparsed strings keyed by environment variable. */
export function givenSettings(command: CommandName, { env = process.env, flags = {} }: ConfigSources) {
  const entries = settings
    .filter(({ readBy }) => readBy.includes(command))
    .map(({ key, variable }) => [variable, flags[key] ?? (env[variable] || undefined)] as const)
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined))
}

function unreadBy(command: CommandName, readBy: readonly CommandName[]): string {
  const [reader, ...others] = [command, ...readBy].map((name) =>
    name === 'stdio' ? 'the MCP server over stdio' : name,
  )
  return `is not read by ${reader}, but by ${others.join(', ')}`
}

function withoutPrefix(variable: string): string {
  return variable.replace(/^PAYMENTS_/, '')
}

function unknownVariable(variable: string): string {
  // All variables share a prefix, so only the rest of a name shows which variable was meant.
  const variablesByPart = new Map(settings.map((setting) => [withoutPrefix(setting.variable), setting.variable]))
  const nearestVariable = variablesByPart.get(nearestWord(withoutPrefix(variable), [...variablesByPart.keys()]) ?? '')
  const advice =
    nearestVariable === undefined ? 'payments-mcp help settings lists them' : `did you mean ${nearestVariable}?`
  return `${variable} is not a setting and is ignored; ${advice}`
}

export function isDefaultDatabase({ databaseUrl, environment }: Pick<Config, 'databaseUrl' | 'environment'>): boolean {
  return (
    databaseUrl ===
    dataSettings.databaseUrl.default.value({ environment, command: undefined, dataFile: dataDirectory().file })
  )
}

/** Returns the folder for this user's payments-mcp data, and a function that returns a file's path in that folder. */
export function dataDirectory({
  env = process.env,
  platform = process.platform,
  home = homedir(),
}: Omit<ConfigSources, 'flags'> = {}) {
  return directoryOf(env, platform, home)
}

/** The properties of the machine and user that determine where other programs store their files. */
export interface UserMachine {
  platform: NodeJS.Platform
  home: string
  env: Readonly<Record<string, string | undefined>>
}

export function userMachine(): UserMachine {
  return { platform: process.platform, home: homedir(), env: process.env }
}

/** Returns the proxy through which this user's programs reach the internet, and the hosts that need no proxy. */
export function outgoingProxy({ env = process.env }: Pick<ConfigSources, 'env'> = {}) {
  const envValue = (name: string) => env[name] || env[name.toLowerCase()] || undefined
  return { httpsProxy: envValue('HTTPS_PROXY'), noProxy: envValue('NO_PROXY') }
}

function settingOf(key: SettingKey): KnownSetting {
  const setting = settings.find((candidate) => candidate.key === key)
  if (setting === undefined) throw new Error(`Bug: ${key} is not a setting.`)
  return setting
}

function settingValue(setting: KnownSetting, given: string | undefined, start: Start): unknown {
  const { key, default: fallback, secret, accepts } = setting
  const text = given ?? ('text' in fallback ? fallback.text : undefined)
  if (text === undefined) return 'value' in fallback ? fallback.value?.(start) : undefined
  const value = setting.parse(text, start.environment)
  if (value === undefined) throw refusal(key, describeText(text, secret), accepts)
  return value
}

function refusal(key: SettingKey, got: string, accepts: string): ConfigError {
  const { variable, flag } = names(key)
  return new ConfigError(`${variable} (${flag}) got ${got}; it accepts ${accepts}.`)
}

function refuseKeyOfOtherEnvironment(key: string | undefined, environment: Environment) {
  const segment = environmentSegments[environment]
  if (key === undefined || keyPattern.exec(key)?.[2] === segment) return
  const got = `${maskSecrets(key)}, which is not a key for ${names('environment').variable}=${environment}`
  throw refusal('key', got, `a key that starts with sk_ntl_${segment}_ or ak_ntl_${segment}_`)
}

function refuseStandbyOfSqlite({ databaseUrl, databaseReadUrl }: Config): void {
  if (databaseReadUrl === undefined || isPostgresUrl(databaseUrl)) return
  const got = `${describeText(databaseReadUrl, false)} together with ${names('databaseUrl').variable}=${databaseUrl}`
  throw refusal('databaseReadUrl', got, settingOf('databaseReadUrl').accepts)
}

/** Refuses a world file or fault file if the embedded sandbox is not used, because only the sandbox reads them. */
function refuseFileWithoutSandbox(key: 'world' | 'faults', { [key]: file, environment, baseUrl }: Config): void {
  if (file === undefined || (environment === 'sandbox' && baseUrl === undefined)) return
  const otherKey = environment === 'sandbox' ? 'baseUrl' : 'environment'
  const got = `${describeText(file, false)} together with ${names(otherKey).variable}=${environment === 'sandbox' ? baseUrl : environment}`
  throw refusal(key, got, settingOf(key).accepts)
}
