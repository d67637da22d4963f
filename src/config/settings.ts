import { dataSettings } from './data-settings.ts'
import { everyCommand, everyCommandBut, type Setting, type Start } from './setting.ts'
import {
  acceptedToolsets,
  keyPattern,
  oneOf,
  originOf,
  parseBaseUrl,
  parseBoolean,
  parseHost,
  parseInteger,
  parseOrigins,
  parseSecret,
  parseToolsets,
  parseTrustedProxies,
} from './values.ts'

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** All settings, validated, as a frozen object. */
export type Config = { readonly [K in SettingKey]: Parsed<(typeof table)[K]> | Fallback<(typeof table)[K]> }

export type SettingKey = keyof typeof table

type Parsed<S extends Setting> = Exclude<ReturnType<S['parse']>, undefined>

type Fallback<S extends Setting> = S['default'] extends { text: string }
  ? never
  : S['default'] extends { value: (start: Start) => infer Value }
    ? Value
    : undefined

const secretCharacters = '24 to 128 characters of A-Za-z0-9_-'

const table = {
  environment: {
    placeholder: 'name',
    meaning: 'The environment of the payments API',
    accepts: 'sandbox or production',
    default: { text: 'sandbox' },
    readBy: everyCommand,
    parse: oneOf('sandbox', 'production'),
  },
  /** Address of a deployed payments API, without a trailing slash; undefined means the embedded sandbox. */
  baseUrl: {
    placeholder: 'url',
    meaning: 'Address of a deployed payments API',
    accepts: 'an https address, or http on a loopback host, without credentials, query or fragment',
    default: { otherwise: 'the embedded sandbox' },
    readBy: everyCommandBut('bridge', 'serve', 'init', 'rotate-keys', 'verify'),
    parse: parseBaseUrl,
  },
  key: {
    placeholder: 'key',
    meaning: 'API key or agent key of the chosen environment',
    accepts: 'sk_ntl_ or ak_ntl_, then sandbox_ or prod_, then a secret of 16 or more characters of A-Za-z0-9_-',
    default: { otherwise: "the embedded sandbox's seeded agent, or the stored login" },
    secret: true,
    readBy: ['stdio', 'bridge', 'simulate', 'whoami', 'listen', 'doctor'],
    parse: (text) => (keyPattern.test(text) ? text : undefined),
  },
  /** The X-Instance-ID of this connection; if undefined, the client generates one. */
  instanceId: {
    placeholder: 'id',
    meaning: 'X-Instance-ID of this connection, which identifies a run',
    accepts: '1 to 1024 visible ASCII characters without spaces',
    default: { otherwise: 'a new id for each connection' },
    readBy: ['stdio', 'setup', 'whoami', 'listen'],
    parse: (text) => (/^[\x21-\x7e]{1,1024}$/.test(text) ? text : undefined),
  },
  ...dataSettings,
  toolsets: {
    placeholder: 'list',
    meaning: 'Tools that the MCP server offers',
    accepts: acceptedToolsets,
    default: { text: 'default' },
    readBy: ['stdio', 'setup', 'serve'],
    parse: parseToolsets,
  },
  port: {
    placeholder: 'number',
    meaning: 'Port that serve listens on (0: any free port)',
    accepts: 'an integer from 0 to 65535',
    default: { text: '4010' },
    readBy: ['stdio', 'setup', 'serve', 'console', 'login', 'logout', 'doctor'],
    parse: (text) => parseInteger(text, 0, 65_535),
  },
  /** Stored without the brackets of an IPv6 address. */
  host: {
    placeholder: 'host',
    meaning: 'Host name or address that serve listens on',
    accepts: 'a host name or an IP address',
    default: { text: '127.0.0.1' },
    readBy: ['stdio', 'setup', 'serve', 'login', 'logout', 'doctor'],
    parse: parseHost,
  },
  /** Stored without the prefix of the key. */
  sandboxApiKey: {
    placeholder: 'secret',
    meaning: 'Secret of the API key that the sandbox is seeded with',
    accepts: `${secretCharacters}, alone or after sk_ntl_sandbox_ (sk_ntl_prod_ in production)`,
    default: {
      otherwise: 'derived from the root key, shown by serve (random in production, shown once)',
    },
    secret: true,
    readBy: ['serve'],
    parse: (text, environment) => parseSecret(text, 'sk', environment),
  },
  sandboxAgentKey: {
    placeholder: 'secret',
    meaning: 'Secret of the agent key that the sandbox is seeded with',
    accepts: `${secretCharacters}, alone or after ak_ntl_sandbox_ (ak_ntl_prod_ in production)`,
    default: {
      otherwise: 'derived from the root key, shown by serve (random in production, shown once)',
    },
    secret: true,
    readBy: ['serve'],
    parse: (text, environment) => parseSecret(text, 'ak', environment),
  },
  rateLimit: {
    placeholder: 'number',
    meaning: 'Maximum requests per minute and credential in the embedded sandbox',
    accepts: 'an integer from 1 to 1000000000',
    default: { text: '6000' },
    readBy: ['stdio', 'setup', 'serve'],
    parse: (text) => parseInteger(text, 1, 1_000_000_000),
  },
  sandboxPassword: {
    placeholder: 'password',
    meaning: "Password of the sandbox's seeded owner, for signing in with a browser",
    accepts: '12 to 128 printable characters',
    default: { otherwise: 'random, shown once by serve on a terminal' },
    secret: true,
    readBy: ['serve'],
    parse: (text) => (/^[\P{Cc}]{12,128}$/u.test(text) ? text : undefined),
  },
  publicUrl: {
    placeholder: 'url',
    meaning: 'Address at which people and AI hosts reach serve',
    accepts: 'an https address, or http on a loopback host, without path, credentials, query or fragment',
    default: { otherwise: 'the address that serve listens on' },
    readBy: ['stdio', 'setup', 'serve', 'login', 'logout', 'doctor'],
    parse: (text) => originOf(parseBaseUrl(text)),
  },
  /**
   * Origins of web pages that may use the MCP endpoint and sign in from a browser, in addition to this machine's own
   * origins.
   */
  allowedOrigins: {
    placeholder: 'list',
    meaning: 'Origins of the web pages that may use the MCP endpoint of serve',
    accepts: 'a comma-separated list of origins such as https://host.example',
    default: { otherwise: "the origins of this machine's loopback addresses", value: (): readonly string[] => [] },
    readBy: ['serve'],
    parse: parseOrigins,
  },
  trustedProxies: {
    placeholder: 'list',
    meaning: "Proxies in front of serve that are trusted to send the client's address in X-Forwarded-For",
    accepts: 'a comma-separated list of IP addresses and ranges such as 10.0.0.0/8 or 2001:db8::/32',
    default: { otherwise: "none: the client's address is that of the connection", value: (): readonly string[] => [] },
    readBy: ['serve'],
    parse: parseTrustedProxies,
  },
  /** Whether applications may identify themselves with a published metadata document instead of registering. */
  clientMetadata: {
    placeholder: 'when',
    meaning: 'Whether AI hosts may sign in with a client id metadata document, which serve then fetches',
    accepts: 'on, off, or auto (on, but not announced if the public address is a loopback address)',
    default: { text: 'auto' },
    readBy: ['serve'],
    parse: oneOf('auto', 'on', 'off'),
  },
  /** Whether `serve` also runs a small identity provider, on the port after the port of `serve`. */
  withIdp: {
    placeholder: 'boolean',
    meaning: 'Also run a small identity provider for trying enterprise-managed sign-in, on the next port',
    accepts: 'true or false; true only in a sandbox on a loopback address',
    default: { text: 'false' },
    readBy: ['serve'],
    parse: parseBoolean,
  },
  readOnly: {
    placeholder: 'boolean',
    meaning: 'Offer only read-only tools',
    accepts: 'true or false',
    default: { text: 'false' },
    readBy: ['stdio', 'setup', 'serve'],
    parse: parseBoolean,
  },
  confirm: {
    placeholder: 'when',
    meaning: 'When a person confirms approvals, cancellations, revocations and large amounts',
    accepts: 'always, production or never',
    default: { text: 'production' },
    readBy: ['stdio', 'setup', 'serve'],
    parse: oneOf('always', 'production', 'never'),
  },
  /** The amount in cents above which a person confirms a payment or card, unless `confirm` turns all questions off. */
  confirmAbove: {
    placeholder: 'cents',
    meaning: 'Amount in cents above which a person confirms payments and cards',
    accepts: 'an integer from 0 to 1000000000',
    default: { text: '10000' },
    readBy: ['stdio', 'setup', 'serve'],
    parse: (text) => parseInteger(text, 0, 1_000_000_000),
  },
  repeatWindow: {
    placeholder: 'seconds',
    meaning: 'Seconds during which a repeated tool call gets the first answer again, instead of paying twice (0: off)',
    accepts: 'an integer from 0 to 86400',
    default: { text: '900' },
    readBy: ['stdio', 'setup', 'serve'],
    parse: (text) => parseInteger(text, 0, 86_400),
  },
  cardDetails: {
    placeholder: 'how',
    meaning: 'Whether the model gets card numbers (reveal) or only the person sees them (masked)',
    accepts: 'reveal or masked',
    default: {
      otherwise: 'reveal in the sandbox, masked in production',
      value: ({ environment }) => (environment === 'sandbox' ? 'reveal' : 'masked'),
    },
    readBy: ['stdio', 'setup', 'serve'],
    parse: oneOf('reveal', 'masked'),
  },
  metrics: {
    placeholder: 'boolean',
    meaning: 'Serve metrics for Prometheus at /metrics, to this machine only',
    accepts: 'true or false',
    default: { text: 'false' },
    readBy: ['serve'],
    parse: parseBoolean,
  },
  /** The port of `/metrics`; if undefined, `/metrics` is served on the port of `serve`. */
  metricsPort: {
    placeholder: 'number',
    meaning: 'Separate port for /metrics on the host of serve, for everyone who can reach it',
    accepts: 'an integer from 1 to 65535, with PAYMENTS_METRICS=true',
    default: { otherwise: 'the port of serve, for this machine only' },
    readBy: ['serve'],
    parse: (text) => parseInteger(text, 1, 65_535),
  },
  logLevel: {
    placeholder: 'level',
    meaning: 'Lowest level that is logged to stderr',
    accepts: logLevels.join(', '),
    default: {
      otherwise: 'info; warn over stdio, because some hosts print the log into their own console',
      value: ({ command }): LogLevel => (command === 'stdio' || command === 'bridge' ? 'warn' : 'info'),
    },
    readBy: ['stdio', 'bridge', 'setup', 'serve', 'simulate'],
    parse: oneOf(...logLevels),
  },
} as const satisfies Record<string, Setting>

/**
 * All settings, in the order in which the documents list them. A setting has a key, a variable and a flag, such as
 * `baseUrl`, `PAYMENTS_BASE_URL` and `--base-url`; commander uses the same key for the option. `shown` is the default
 * as it appears in the documents and the help.
 */
export const settings = Object.freeze(
  (Object.keys(table) as SettingKey[]).map((key) => {
    const setting: Setting = table[key]
    const defaultText = 'text' in setting.default ? setting.default.text : setting.default.otherwise
    return Object.freeze({ ...setting, key, ...names(key), shown: defaultText, secret: setting.secret ?? false })
  }),
)

export type KnownSetting = (typeof settings)[number]

export function names(key: SettingKey) {
  const words = key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
  return { variable: `PAYMENTS_${words}`, flag: `--${words.replaceAll('_', '-').toLowerCase()}` }
}
