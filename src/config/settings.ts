import { type Environment, type Toolset, toolsets } from '../core/operation.ts'
import {
  keyPattern,
  originOf,
  parseBaseUrl,
  parseDatabaseUrl,
  parseHost,
  parseInteger,
  parseOrigins,
  parseSecret,
  parseSecrets,
  parseToolsets,
  parseTrustedProxies,
} from './values.ts'

/** Everything that can be set from the outside, validated. Frozen; read once, in the composition root. */
export interface Config {
  environment: Environment
  /** Address of a deployed payments API, without a slash at its end; undefined: the embedded sandbox. */
  baseUrl: string | undefined
  /** The whole credential, `sk_ntl_…` or `ak_ntl_…`. */
  key: string | undefined
  /** X-Instance-ID of this connection; undefined: one is generated. */
  instanceId: string | undefined
  /** `sqlite:PATH`, `sqlite::memory:` or `postgres://…`. */
  databaseUrl: string
  /** What the keys in the database are wrapped with, the present one first. */
  secret: readonly string[] | undefined
  toolsets: readonly Toolset[]
  port: number
  /** Without the brackets of an IPv6 address. */
  host: string
  /** The secret part only. */
  sandboxApiKey: string | undefined
  sandboxAgentKey: string | undefined
  /** Requests per minute per credential. */
  rateLimit: number
  /** The secret part only: the seeded owner's password. */
  sandboxPassword: string | undefined
  /** Where people and hosts reach `serve`, without a slash at its end; undefined: where it listens. */
  publicUrl: string | undefined
  /** Origins of the web pages that may use the MCP endpoint and sign in from a browser, besides those of this machine. */
  allowedOrigins: readonly string[]
  /** Addresses and ranges of the proxies whose X-Forwarded-For tells who the client is. */
  trustedProxies: readonly string[]
  /** Whether applications may describe themselves by a document that they publish, instead of registering. */
  clientMetadata: 'auto' | 'on' | 'off'
  /** No tool that changes anything is offered. */
  readOnly: boolean
  /** When a person is asked before a tool call is carried out. */
  confirm: 'always' | 'production' | 'never'
  /** Cents: payments and cards above it ask the person, where `confirm` lets anything ask. */
  confirmAbove: number
  /** Whether card numbers are answered to the model, or shown to the person only. */
  cardDetails: 'reveal' | 'masked'
  logLevel: LogLevel
}

export type SettingKey = keyof Config

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** What can be started; `stdio` is the one without a name. */
export type CommandName = 'stdio' | 'serve' | 'simulate' | 'rotate-keys' | 'login' | 'logout' | 'whoami'

const everyCommand: readonly CommandName[] = ['stdio', 'serve', 'simulate', 'rotate-keys', 'login', 'logout', 'whoami']

export interface Setting<T> {
  /** Stands for the value in the help: `--port <number>`. */
  placeholder: string
  meaning: string
  /** Completes "it accepts …". */
  accepts: string
  /** The text that counts as given when nothing is; or, where there is no such text, what happens then. */
  default: { text: string } | { otherwise: string }
  secret?: boolean
  /** The commands that it means something to; the others refuse its flag. */
  readBy: readonly CommandName[]
  /** undefined: the text is not accepted. */
  parse(text: string, environment: Environment): T | undefined
}

const secretCharacters = '24 to 128 characters of A-Za-z0-9_-'

export const table = {
  environment: {
    placeholder: 'name',
    meaning: 'The environment of the payments API',
    accepts: 'sandbox or production',
    default: { text: 'sandbox' },
    readBy: everyCommand,
    parse: (text) => (text === 'sandbox' || text === 'production' ? text : undefined),
  },
  baseUrl: {
    placeholder: 'url',
    meaning: 'Address of a deployed payments API',
    accepts: 'an https address, or http on a loopback host, without credentials, query or fragment',
    default: { otherwise: 'the embedded sandbox' },
    readBy: ['stdio', 'simulate', 'login', 'logout', 'whoami'],
    parse: parseBaseUrl,
  },
  key: {
    placeholder: 'key',
    meaning: 'API key or agent key of that environment',
    accepts: 'sk_ntl_… or ak_ntl_…, the segment sandbox or prod, and a secret of 16 or more characters of A-Za-z0-9_-',
    default: { otherwise: "the embedded sandbox's seeded agent, or the stored login" },
    secret: true,
    readBy: ['stdio', 'simulate', 'whoami'],
    parse: (text) => (keyPattern.test(text) ? text : undefined),
  },
  instanceId: {
    placeholder: 'id',
    meaning: 'X-Instance-ID of this connection',
    accepts: '1 to 1024 visible ASCII characters without spaces',
    default: { otherwise: 'one generated per connection' },
    readBy: ['stdio', 'whoami'],
    parse: (text) => (/^[\x21-\x7e]{1,1024}$/.test(text) ? text : undefined),
  },
  databaseUrl: {
    placeholder: 'url',
    meaning: 'Where the embedded sandbox keeps its data',
    accepts: 'sqlite:PATH, sqlite::memory:, postgres://… or postgresql://…',
    default: { otherwise: "a file in the user's data directory" },
    readBy: ['stdio', 'serve', 'simulate', 'rotate-keys', 'whoami'],
    parse: parseDatabaseUrl,
  },
  secret: {
    placeholder: 'secret',
    meaning: 'Wraps the keys in the database; to change it: the new one, a comma, the old one',
    accepts: 'one or two secrets of 32 to 256 visible ASCII characters without commas',
    default: { otherwise: 'the keys lie in the database as they are' },
    secret: true,
    readBy: ['stdio', 'serve', 'simulate', 'rotate-keys', 'whoami'],
    parse: parseSecrets,
  },
  toolsets: {
    placeholder: 'list',
    meaning: 'Which tools the MCP server offers',
    accepts: `a comma list of ${toolsets.join(', ')}, or all`,
    default: { text: 'default' },
    readBy: ['stdio', 'serve'],
    parse: parseToolsets,
  },
  port: {
    placeholder: 'number',
    meaning: 'Port that serve listens on (0: any free one)',
    accepts: 'an integer from 0 to 65535',
    default: { text: '4010' },
    readBy: ['stdio', 'serve', 'login', 'logout'],
    parse: (text) => parseInteger(text, 0, 65_535),
  },
  host: {
    placeholder: 'host',
    meaning: 'Host name or address that serve listens on',
    accepts: 'a host name or an IP address',
    default: { text: '127.0.0.1' },
    readBy: ['stdio', 'serve', 'login', 'logout'],
    parse: parseHost,
  },
  sandboxApiKey: {
    placeholder: 'secret',
    meaning: 'Secret of the API key that the sandbox is seeded with',
    accepts: `${secretCharacters}, alone or after sk_ntl_sandbox_ (sk_ntl_prod_ in production)`,
    default: { otherwise: 'random, printed once by serve' },
    secret: true,
    readBy: ['serve'],
    parse: (text, environment) => parseSecret(text, 'sk', environment),
  },
  sandboxAgentKey: {
    placeholder: 'secret',
    meaning: 'Secret of the agent key that the sandbox is seeded with',
    accepts: `${secretCharacters}, alone or after ak_ntl_sandbox_ (ak_ntl_prod_ in production)`,
    default: { otherwise: 'random, printed once by serve' },
    secret: true,
    readBy: ['serve'],
    parse: (text, environment) => parseSecret(text, 'ak', environment),
  },
  rateLimit: {
    placeholder: 'number',
    meaning: 'Requests per minute per credential in the embedded sandbox',
    accepts: 'an integer from 1 to 1000000000',
    default: { text: '6000' },
    readBy: ['stdio', 'serve'],
    parse: (text) => parseInteger(text, 1, 1_000_000_000),
  },
  sandboxPassword: {
    placeholder: 'password',
    meaning: "Password of the sandbox's seeded owner, to sign in with in a browser",
    accepts: '12 to 128 printable characters',
    default: { otherwise: 'random, printed once by serve' },
    secret: true,
    readBy: ['serve'],
    parse: (text) => (/^[\P{Cc}]{12,128}$/u.test(text) ? text : undefined),
  },
  publicUrl: {
    placeholder: 'url',
    meaning: 'Address that people and AI hosts reach serve at',
    accepts: 'an https address, or http on a loopback host, without path, credentials, query or fragment',
    default: { otherwise: 'where it listens' },
    readBy: ['stdio', 'serve', 'login', 'logout'],
    parse: (text) => originOf(parseBaseUrl(text)),
  },
  allowedOrigins: {
    placeholder: 'list',
    meaning: 'Origins of web pages that may use the MCP endpoint of serve',
    accepts: 'a comma list of origins such as https://host.example',
    default: { otherwise: "those of this machine's loopback addresses" },
    readBy: ['serve'],
    parse: parseOrigins,
  },
  trustedProxies: {
    placeholder: 'list',
    meaning: 'Proxies in front of serve whose X-Forwarded-For tells who the client is',
    accepts: 'a comma list of IP addresses and ranges such as 10.0.0.0/8 or 2001:db8::/32',
    default: { otherwise: 'none: the address of the connection counts' },
    readBy: ['serve'],
    parse: parseTrustedProxies,
  },
  clientMetadata: {
    placeholder: 'when',
    meaning: 'Whether AI hosts may sign in with a client id metadata document, which serve then fetches',
    accepts: 'auto (announced unless the public address is of this machine), on or off',
    default: { text: 'auto' },
    readBy: ['serve'],
    parse: (text) => (['auto', 'on', 'off'] as const).find((when) => when === text),
  },
  readOnly: {
    placeholder: 'boolean',
    meaning: 'Offer only the tools that change nothing',
    accepts: 'true or false',
    default: { text: 'false' },
    readBy: ['stdio', 'serve'],
    parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  },
  confirm: {
    placeholder: 'when',
    meaning: 'When a person confirms approvals, cancellations, revocations and large amounts',
    accepts: 'always, production or never',
    default: { text: 'production' },
    readBy: ['stdio', 'serve'],
    parse: (text) => (['always', 'production', 'never'] as const).find((mode) => mode === text),
  },
  confirmAbove: {
    placeholder: 'cents',
    meaning: 'Payments and cards above it are confirmed by a person',
    accepts: 'an integer from 0 to 1000000000',
    default: { text: '10000' },
    readBy: ['stdio', 'serve'],
    parse: (text) => parseInteger(text, 0, 1_000_000_000),
  },
  cardDetails: {
    placeholder: 'how',
    meaning: 'Whether card numbers are answered to the model (reveal) or shown to the person only (masked)',
    accepts: 'reveal or masked',
    default: { otherwise: 'reveal in the sandbox, masked in production' },
    readBy: ['stdio', 'serve'],
    parse: (text) => (text === 'reveal' || text === 'masked' ? text : undefined),
  },
  logLevel: {
    placeholder: 'level',
    meaning: 'Least severe level that is logged, to stderr',
    accepts: logLevels.join(', '),
    default: { text: 'info' },
    readBy: ['stdio', 'serve', 'simulate'],
    parse: (text) => logLevels.find((level) => level === text),
  },
} as const satisfies { [K in SettingKey]: Setting<Config[K]> }

/**
 * Every setting in the order of the documents, with its names: `PAYMENTS_BASE_URL`, and `--base-url <url>` (commander
 * names that option `baseUrl`, which is the key). `shown` is the default as the documents and the help tell it.
 */
export const settings = Object.freeze(
  (Object.keys(table) as SettingKey[]).map((key) => {
    const { placeholder, meaning, accepts, default: fallback, secret = false, readBy }: Setting<unknown> = table[key]
    const shown = 'text' in fallback ? fallback.text : fallback.otherwise
    return Object.freeze({ key, ...names(key), placeholder, meaning, accepts, shown, secret, readBy })
  }),
)

export function names(key: SettingKey) {
  const words = key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
  return { variable: `PAYMENTS_${words}`, flag: `--${words.replaceAll('_', '-').toLowerCase()}` }
}
