import { describe, expect, it } from 'vitest'
import { ConfigError, type ConfigSources, configFor, loadConfig } from '../../src/config/load.ts'
import { settings } from '../../src/config/settings.ts'

const load = (env: Record<string, string> = {}, flags: ConfigSources['flags'] = {}) =>
  loadConfig({ env, flags, platform: 'linux', home: '/home/u' })

const secret = 'abcdefghijklmnopqrstuvwx'

describe('the configuration', () => {
  it('the configuration has only default values if nothing is set', () => {
    const config = load()
    expect(config).toEqual({
      environment: 'sandbox',
      baseUrl: undefined,
      key: undefined,
      instanceId: undefined,
      databaseUrl: 'sqlite:/home/u/.local/share/payments-mcp/sandbox.sqlite',
      world: undefined,
      faults: undefined,
      databaseReadUrl: undefined,
      databaseConnections: 10,
      secret: undefined,
      toolsets: ['default'],
      port: 4010,
      host: '127.0.0.1',
      sandboxApiKey: undefined,
      sandboxAgentKey: undefined,
      rateLimit: 6000,
      sandboxPassword: undefined,
      publicUrl: undefined,
      allowedOrigins: [],
      trustedProxies: [],
      withIdp: false,
      clientMetadata: 'auto',
      readOnly: false,
      confirm: 'production',
      confirmAbove: 10_000,
      repeatWindow: 900,
      cardDetails: 'reveal',
      metrics: false,
      metricsPort: undefined,
      logLevel: 'info',
    })
    expect(Object.isFrozen(config)).toBe(true)
  })

  it.each([
    ['stdio', 'warn'],
    ['bridge', 'warn'],
    ['serve', 'info'],
    ['simulate', 'info'],
  ] as const)('the command %s logs at level %s and above, unless PAYMENTS_LOG_LEVEL is set', (command, level) => {
    const levelOf = (env: Record<string, string>) => configFor(command, { env }, () => {}).logLevel
    expect(levelOf({})).toBe(level)
    expect(levelOf({ PAYMENTS_LOG_LEVEL: 'debug' })).toBe('debug')
  })

  it('a flag takes precedence over its variable, and an empty variable counts as unset', () => {
    expect(load({ PAYMENTS_PORT: '1' }, { port: '2' }).port).toBe(2)
    expect(load({ PAYMENTS_PORT: '', PAYMENTS_KEY: '', PAYMENTS_BASE_URL: '' })).toEqual(load())
  })

  it.each<[NodeJS.Platform, Record<string, string>, string]>([
    ['linux', { XDG_DATA_HOME: '/data' }, 'sqlite:/data/payments-mcp/production.sqlite'],
    ['linux', { XDG_DATA_HOME: 'relative' }, 'sqlite:/home/u/.local/share/payments-mcp/production.sqlite'],
    ['darwin', {}, 'sqlite:/home/u/Library/Application Support/payments-mcp/production.sqlite'],
    ['win32', { LOCALAPPDATA: 'C:\\Data' }, 'sqlite:C:\\Data\\payments-mcp\\production.sqlite'],
  ])('on %s with the environment %o, the database is in the usual data directory', (platform, env, expected) => {
    const sources = { env: { ...env, PAYMENTS_ENVIRONMENT: 'production' }, platform, home: '/home/u' }
    expect(loadConfig(sources).databaseUrl).toBe(expected)
  })

  it.each([
    ['PAYMENTS_BASE_URL', 'https://pay.example/v1/', 'baseUrl', 'https://pay.example/v1'],
    ['PAYMENTS_BASE_URL', 'http://localhost:4010', 'baseUrl', 'http://localhost:4010'],
    ['PAYMENTS_BASE_URL', 'http://127.9.9.9/', 'baseUrl', 'http://127.9.9.9'],
    ['PAYMENTS_BASE_URL', 'http://[::1]:1/', 'baseUrl', 'http://[::1]:1'],
    ['PAYMENTS_KEY', `ak_ntl_sandbox_${secret}`, 'key', `ak_ntl_sandbox_${secret}`],
    ['PAYMENTS_DATABASE_URL', 'sqlite::memory:', 'databaseUrl', 'sqlite::memory:'],
    ['PAYMENTS_DATABASE_URL', 'postgresql://u:p@h/d', 'databaseUrl', 'postgresql://u:p@h/d'],
    ['PAYMENTS_WORLD', './my world.yaml', 'world', './my world.yaml'],
    ['PAYMENTS_FAULTS', './my faults.yaml', 'faults', './my faults.yaml'],
    ['PAYMENTS_DATABASE_CONNECTIONS', '2', 'databaseConnections', 2],
    ['PAYMENTS_TOOLSETS', 'payments, default,payments', 'toolsets', ['default', 'payments']],
    [
      'PAYMENTS_TOOLSETS',
      'all',
      'toolsets',
      ['default', 'payments', 'accounts', 'customers', 'agents', 'credentials', 'events', 'sandbox', 'shops'],
    ],
    ['PAYMENTS_PORT', '0', 'port', 0],
    ['PAYMENTS_HOST', '[::1]', 'host', '::1'],
    ['PAYMENTS_HOST', 'my-host.example', 'host', 'my-host.example'],
    ['PAYMENTS_SANDBOX_API_KEY', secret, 'sandboxApiKey', secret],
    ['PAYMENTS_SANDBOX_API_KEY', `sk_ntl_sandbox_${secret}`, 'sandboxApiKey', secret],
    ['PAYMENTS_SANDBOX_AGENT_KEY', `ak_ntl_sandbox_${secret}`, 'sandboxAgentKey', secret],
    ['PAYMENTS_RATE_LIMIT', '1000000000', 'rateLimit', 1_000_000_000],
    ['PAYMENTS_SANDBOX_PASSWORD', 'correct horse battery', 'sandboxPassword', 'correct horse battery'],
    ['PAYMENTS_PUBLIC_URL', 'https://pay.example/', 'publicUrl', 'https://pay.example'],
    ['PAYMENTS_PUBLIC_URL', 'http://localhost:4010', 'publicUrl', 'http://localhost:4010'],
    [
      'PAYMENTS_ALLOWED_ORIGINS',
      'https://a.example, http://localhost:6274',
      'allowedOrigins',
      ['https://a.example', 'http://localhost:6274'],
    ],
    ['PAYMENTS_TRUSTED_PROXIES', '::1, 10.0.0.0/8', 'trustedProxies', ['::1', '10.0.0.0/8']],
    ['PAYMENTS_CLIENT_METADATA', 'off', 'clientMetadata', 'off'],
    ['PAYMENTS_READ_ONLY', 'true', 'readOnly', true],
    ['PAYMENTS_CONFIRM', 'always', 'confirm', 'always'],
    ['PAYMENTS_CONFIRM_ABOVE', '0', 'confirmAbove', 0],
    ['PAYMENTS_CARD_DETAILS', 'masked', 'cardDetails', 'masked'],
    ['PAYMENTS_ENVIRONMENT', 'production', 'cardDetails', 'masked'],
    ['PAYMENTS_METRICS', 'true', 'metrics', true],
    ['PAYMENTS_METRICS_PORT', '9464', 'metricsPort', 9464],
    ['PAYMENTS_LOG_LEVEL', 'silent', 'logLevel', 'silent'],
  ] as const)('the setting %s=%s is accepted', (variable, input, key, value) => {
    expect(load({ [variable]: input })[key]).toEqual(value)
  })

  it.each([
    ['PAYMENTS_ENVIRONMENT', 'prod'],
    ['PAYMENTS_BASE_URL', 'http://pay.example'],
    ['PAYMENTS_BASE_URL', 'ftp://localhost'],
    ['PAYMENTS_BASE_URL', 'http://127.0.0.1.evil.example'],
    ['PAYMENTS_BASE_URL', 'https://user:topsecret@pay.example'],
    ['PAYMENTS_BASE_URL', 'https://pay.example/?token=topsecret'],
    ['PAYMENTS_BASE_URL', 'https://pay.example/#'],
    ['PAYMENTS_BASE_URL', 'pay.example'],
    ['PAYMENTS_KEY', 'topsecret'],
    ['PAYMENTS_KEY', 'sk_ntl_sandbox_topsecret'],
    ['PAYMENTS_KEY', 'ak_ntl_prod_topsecret-topsecret-topsecret'],
    ['PAYMENTS_INSTANCE_ID', 'a\r\nb'],
    ['PAYMENTS_INSTANCE_ID', 'x'.repeat(1025)],
    ['PAYMENTS_DATABASE_URL', 'mysql://u:topsecret@h/d'],
    ['PAYMENTS_DATABASE_URL', 'postgres://u:topsecret@h:port/d'],
    ['PAYMENTS_DATABASE_URL', 'sqlite:'],
    ['PAYMENTS_WORLD', 'a\nb'],
    ['PAYMENTS_DATABASE_READ_URL', 'sqlite:standby'],
    ['PAYMENTS_DATABASE_READ_URL', 'postgres://u:topsecret@h/d?password=topsecret'],
    ['PAYMENTS_DATABASE_CONNECTIONS', '1'],
    ['PAYMENTS_TOOLSETS', 'default,'],
    ['PAYMENTS_TOOLSETS', 'cards'],
    ['PAYMENTS_PORT', '65536'],
    ['PAYMENTS_PORT', '-1'],
    ['PAYMENTS_PORT', '1e3'],
    ['PAYMENTS_HOST', 'a/b'],
    ['PAYMENTS_HOST', '1.2.3.999'],
    ['PAYMENTS_SANDBOX_API_KEY', 'topsecret'],
    ['PAYMENTS_SANDBOX_API_KEY', `ak_ntl_sandbox_topsecret${secret}`],
    ['PAYMENTS_SANDBOX_API_KEY', `sk_ntl_prod_topsecret${secret}`],
    ['PAYMENTS_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['PAYMENTS_TRUSTED_PROXIES', '10.0.0.1,'],
    ['PAYMENTS_TRUSTED_PROXIES', 'proxy.example'],
    ['PAYMENTS_CLIENT_METADATA', 'true'],
    ['PAYMENTS_RATE_LIMIT', '0'],
    ['PAYMENTS_METRICS', 'yes'],
    ['PAYMENTS_METRICS_PORT', '0'],
    ['PAYMENTS_LOG_LEVEL', 'verbose'],
  ])('the setting %s=%s is refused with a one-line message that begins with the variable', (variable, input) => {
    const message = refusalOf({ [variable]: input })
    expect(message).toMatch(new RegExp(`^${variable} \\(--[a-z-]+\\) got .+; it accepts .+\\.$`))
    expect(message).not.toMatch(/topsecret/)
  })

  it('PAYMENTS_DATABASE_READ_URL accepts the address of a PostgreSQL standby', () => {
    const url = 'postgres://u:p@h/d'
    const env = { PAYMENTS_DATABASE_URL: url, PAYMENTS_DATABASE_READ_URL: 'postgresql://u:p@standby/d' }
    expect(load(env)).toMatchObject({ databaseUrl: url, databaseReadUrl: 'postgresql://u:p@standby/d' })
  })

  it.each([
    ['PAYMENTS_WORLD', '--world'],
    ['PAYMENTS_FAULTS', '--faults'],
  ])('%s is accepted only for the embedded sandbox', (variable, flag) => {
    const accepts = 'it accepts the path of a YAML or JSON file, for the embedded sandbox only.'
    const file = { [variable]: 'a.yaml' }
    expect(refusalOf({ ...file, PAYMENTS_ENVIRONMENT: 'production' })).toBe(
      `${variable} (${flag}) got "a.yaml" together with PAYMENTS_ENVIRONMENT=production; ${accepts}`,
    )
    expect(refusalOf({ ...file, PAYMENTS_BASE_URL: 'https://pay.example' })).toBe(
      `${variable} (${flag}) got "a.yaml" together with PAYMENTS_BASE_URL=https://pay.example; ${accepts}`,
    )
  })

  it('a key from another environment is refused', () => {
    expect(refusalOf({ PAYMENTS_KEY: `ak_ntl_prod_${secret}` })).toMatchInlineSnapshot(
      `"PAYMENTS_KEY (--key) got ak_ntl_prod_[masked], which is not a key for PAYMENTS_ENVIRONMENT=sandbox; it accepts a key that starts with sk_ntl_sandbox_ or ak_ntl_sandbox_."`,
    )
  })

  it('a flag with an empty value is refused', () => {
    expect(() => load({}, { port: '' })).toThrow(ConfigError)
  })

  it('the first three settings have the documented variables and flags', () => {
    expect(settings.map(({ variable, flag }) => [variable, flag]).slice(0, 3)).toEqual([
      ['PAYMENTS_ENVIRONMENT', '--environment'],
      ['PAYMENTS_BASE_URL', '--base-url'],
      ['PAYMENTS_KEY', '--key'],
    ])
  })
})

function refusalOf(env: Record<string, string>): string {
  try {
    load(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  throw new Error('Bug: the settings were accepted')
}
