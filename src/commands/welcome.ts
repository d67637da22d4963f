import { resolve } from 'node:path'
import { type Config, names, type SettingKey } from '../config/settings.ts'
import { hostBlock, hostNames, hostSetups } from '../core/host-setups.ts'
import { firstQuestion } from '../core/product.ts'
import type { SeededCredentials } from '../service/seed.ts'
import { commandLine } from './start-command.ts'

/** The facts that `serve` prints when it starts. */
export interface Welcome {
  config: Config
  url: string
  publicUrl: string
  credentials: SeededCredentials
  owner: { email: string | null; password: string | null }
  /** A one-time sign-in link, shown only on a terminal. */
  link: string | undefined
  /** The identity provider's address, and the command that makes a party trust it; undefined if no provider runs. */
  identityProvider: { url: string; trust: string } | undefined
}

/** Returns the text for a person at a terminal. It shows the keys, if they are known, and says what to do next. */
export function welcomeText(welcome: Welcome): string {
  const { config, url, publicUrl, credentials, link, identityProvider } = welcome
  if (credentials.isEmpty) return productionText(welcome)
  return `payments-mcp ${config.environment} is listening on ${url}

  API key    ${credentials.apiKey ?? (credentials.hasKeys ? storedSecretText('sandboxApiKey') : noKey('create_api_key'))}
  Agent key  ${credentials.agentKey ?? (credentials.hasKeys ? storedSecretText('sandboxAgentKey') : noKey('create_agent_key'))}
${signInLines(welcome)}
  Data       ${withoutCredentials(config.databaseUrl)}
${link === undefined ? '' : `\nOr sign in with this link. It works once, within 10 minutes:\n\n  ${link}\n`}${identityProviderText(identityProvider)}
Next, add payments-mcp to your AI host (${hostNames.map((name) => hostSetups[name].title).join(', ')}):

  ${commandLine('setup', config.world === undefined ? [] : ['--world', resolve(config.world)])}

and ask: “${firstQuestion}”

A host that speaks MCP over HTTP connects to ${publicUrl}/mcp and signs in. For Cursor, put this in ~/.cursor/mcp.json:

${hostBlock('cursor', { url: `${publicUrl}/mcp` })}

${commandLine('doctor')} finds problems. Calls appear below. Stop with Ctrl+C.

`
}

/** Returns the text for a production start on an empty database. It explains how to create the first party. */
function productionText({ config, url }: Welcome): string {
  const file = /^sqlite:/.test(config.databaseUrl) ? absoluteDatabase(config.databaseUrl) : undefined
  const database = file === undefined ? [] : ['--database-url', file]
  return `payments-mcp ${config.environment} is listening on ${url}

  Data       ${withoutCredentials(config.databaseUrl)}

Nobody has an account here yet. Create the first party and its owner in the same database:

  ${commandLine('init', ['--production', '--email', 'you@example.com', ...database])}

Stop with Ctrl+C.
`
}

/** Returns the line, with the known keys, for a program that started `serve` (docs/sandbox.md#programmatic-start). */
export function readyLine({ url, credentials, identityProvider }: Welcome): string {
  const keys = { api: credentials.apiKey, agent: credentials.agentKey }
  return `${JSON.stringify({ url, mcpUrl: `${url}/mcp`, keys, idpUrl: identityProvider?.url })}\n`
}

/** Returns the text for a pipe or a file. It contains addresses but no secrets, because it may be stored. */
export function shortText(welcome: Welcome): string {
  const { config, url, publicUrl, credentials, identityProvider } = welcome
  if (credentials.isEmpty) return productionText(welcome)
  const chosen = (['sandboxApiKey', 'sandboxAgentKey', 'sandboxPassword'] as const).map((key) => names(key).variable)
  return `payments-mcp ${config.environment} is listening on ${url} (AI hosts: ${publicUrl}/mcp; data: ${withoutCredentials(config.databaseUrl)})
Console: ${publicUrl}/console (${commandLine('console')} opens it and signs you in)
Keys and the password are not printed to a pipe or a file. To see them, start serve in a terminal (--json prints only the keys), or set your own with ${chosen.join(', ')}
${identityProviderText(identityProvider)}`
}

function identityProviderText(identityProvider: Welcome['identityProvider']): string {
  if (identityProvider === undefined) return ''
  return `
The identity provider is at ${identityProvider.url}. To let an AI host sign in through it, set PAYMENTS_KEY to the API key
and run the command below. It prints a client id and a secret. The host uses both of them at the identity provider and
at this server.

  ${identityProvider.trust}
`
}

function signInLines({ publicUrl, owner: { email, password } }: Welcome): string {
  if (email === null) return `  Sign in    not possible: the world has no owner`
  return `  Sign in    ${publicUrl}/sign-in as ${email}\n  Password   ${password ?? storedSecretText('sandboxPassword')}`
}

function storedSecretText(setting: SettingKey): string {
  return `(set on an earlier start and stored only as a hash; set ${names(setting).variable} to replace it)`
}

const noKey = (tool: string) => `(not created at startup; the tool ${tool} creates a key)`

export const withoutCredentials = (url: string) => url.replace(/\/\/.*@/s, '//[masked]@')

/** Makes the path of a SQLite database absolute, because a host may start the server in another folder. */
export function absoluteDatabase(databaseUrl: string): string {
  const file = /^sqlite:(?!:memory:$)(.+)$/.exec(databaseUrl)?.[1]
  return file === undefined ? databaseUrl : `sqlite:${resolve(file)}`
}
