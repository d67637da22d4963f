import { homedir } from 'node:os'
import { maskSecrets } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import { type Environment, environmentSegments } from '../core/operation.ts'
import { directoryOf } from './data-directory.ts'
import { type CommandName, type Config, names, type Setting, type SettingKey, settings, table } from './settings.ts'
import { describeText, keyPattern } from './values.ts'

/** One line for the person who starts the program; the cli prints it and exits 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** What a start is configured by. Tests pass their own; the defaults are this process's. */
export interface ConfigSources {
  env?: Readonly<Record<string, string | undefined>>
  /** By the setting's key, as commander's `opts()` has them; others are ignored. */
  flags?: { readonly [K in SettingKey]?: string | undefined }
  platform?: NodeJS.Platform
  /** The user's home directory. */
  home?: string
}

/** Reads and checks every setting: a flag wins over its variable, an empty variable counts as unset. Throws ConfigError. */
export function loadConfig(sources: ConfigSources = {}): Config {
  const { env = process.env, flags = {}, platform = process.platform, home = homedir() } = sources
  const environment = read('environment', env, flags, 'sandbox') ?? 'sandbox'
  const values = Object.fromEntries(settings.map(({ key }) => [key, read(key, env, flags, environment)]))
  const config = values as unknown as Config
  refuseOtherEnvironment(config.key, environment)
  return Object.freeze({
    ...config,
    allowedOrigins: config.allowedOrigins ?? [],
    trustedProxies: config.trustedProxies ?? [],
    cardDetails: config.cardDetails ?? (environment === 'sandbox' ? 'reveal' : 'masked'),
    databaseUrl: config.databaseUrl ?? `sqlite:${dataDirectory({ env, platform, home }).file(`${environment}.sqlite`)}`,
  })
}

/** The settings of a command. Throws ConfigError for a flag that it does not read, and tells of such variables. */
export function configFor(command: CommandName, sources: ConfigSources, tell: (line: string) => void): Config {
  const { env = process.env, flags = {} } = sources
  const unread = settings.find(({ key, readBy }) => flags[key] !== undefined && !readBy.includes(command))
  if (unread !== undefined) throw new ConfigError(`${unread.flag} ${unreadBy(command, unread.readBy)}.`)
  for (const variable of Object.keys(env).filter((name) => name.startsWith('PAYMENTS_') && env[name] !== '')) {
    const setting = settings.find((known) => known.variable === variable)
    if (setting === undefined) tell(unknownVariable(variable))
    else if (!setting.readBy.includes(command)) tell(`${variable} ${unreadBy(command, setting.readBy)}; it is ignored.`)
  }
  return loadConfig(sources)
}

function unreadBy(command: CommandName, readBy: readonly CommandName[]): string {
  const [reader, ...others] = [command, ...readBy].map((name) =>
    name === 'stdio' ? 'the MCP server over stdio' : name,
  )
  return `is not read by ${reader}, but by ${others.join(', ')}`
}

function ownPart(variable: string): string {
  return variable.replace(/^PAYMENTS_/, '')
}

function unknownVariable(variable: string): string {
  // The beginning that all have in common makes none of them alike.
  const known = new Map(settings.map((setting) => [ownPart(setting.variable), setting.variable]))
  const meant = known.get(nearest(ownPart(variable), [...known.keys()]) ?? '')
  const advice = meant === undefined ? 'payments-mcp --help lists the settings' : `did you mean ${meant}?`
  return `${variable} is not a setting and is ignored; ${advice}`
}

/** The folder this user's data lives in, and the path of a file in it. */
export function dataDirectory({
  env = process.env,
  platform = process.platform,
  home = homedir(),
}: Omit<ConfigSources, 'flags'> = {}) {
  return directoryOf(env, platform, home)
}

/** The proxy that this user's programs reach the internet through. */
export function outgoingProxy({ env = process.env }: Pick<ConfigSources, 'env'> = {}) {
  const given = (name: string) => env[name] || env[name.toLowerCase()] || undefined
  return { httpsProxy: given('HTTPS_PROXY'), noProxy: given('NO_PROXY') }
}

function read<K extends SettingKey>(
  key: K,
  env: Readonly<Record<string, string | undefined>>,
  flags: NonNullable<ConfigSources['flags']>,
  environment: Environment,
): Config[K] | undefined {
  const setting: Setting<Config[K]> = table[key] as unknown as Setting<Config[K]>
  const fallback = 'text' in setting.default ? setting.default.text : undefined
  const text = flags[key] ?? (env[names(key).variable] || fallback)
  if (text === undefined) return undefined
  const value = setting.parse(text, environment)
  if (value === undefined) throw refusal(key, describeText(text, setting.secret ?? false), setting.accepts)
  return value
}

function refusal(key: SettingKey, got: string, accepts: string): ConfigError {
  const { variable, flag } = names(key)
  return new ConfigError(`${variable} (${flag}) got ${got}; it accepts ${accepts}.`)
}

function refuseOtherEnvironment(key: string | undefined, environment: Environment) {
  const segment = environmentSegments[environment]
  if (key === undefined || keyPattern.exec(key)?.[2] === segment) return
  const got = `${maskSecrets(key)}, a key of another environment than ${names('environment').variable}=${environment}`
  throw refusal('key', got, `a key that starts with sk_ntl_${segment}_ or ak_ntl_${segment}_`)
}
