import { resolve } from 'node:path'
import { type Config, names, type SettingKey } from '../config/settings.ts'
import { hostBlock, hostNames, hostSetups, type Start } from '../core/host-setups.ts'
import { firstQuestion } from '../core/product.ts'
import type { SeededCredentials } from '../service/seed.ts'
import { commandLine, startCommand } from './start-command.ts'

/** The facts that `serve` prints at its start. */
export interface Welcome {
  config: Config
  url: string
  publicUrl: string
  credentials: SeededCredentials
  owner: { email: string | null; password: string | null }
  /** A one-time link for signing in, for a terminal only. */
  link: string | undefined
}

/** Returns the text for a person at a terminal: the keys each time, and the next step. */
export function shown(welcome: Welcome): string {
  const { config, url, publicUrl, credentials, link } = welcome
  if (credentials.isEmpty) return empty(welcome)
  return `payments-mcp ${config.environment} is listening on ${url}

  API key    ${credentials.apiKey ?? (credentials.hasKeys ? unknown('sandboxApiKey') : noKey('create_api_key'))}
  Agent key  ${credentials.agentKey ?? (credentials.hasKeys ? unknown('sandboxAgentKey') : noKey('create_agent_key'))}
${signIn('Sign in', welcome)}
  Data       ${withoutCredentials(config.databaseUrl)}
${link === undefined ? '' : `\nOr sign in with this link, once, within 10 minutes:\n\n  ${link}\n`}
Next, add it to your AI host (${hostNames.map((name) => hostSetups[name].title).join(', ')}):

  ${commandLine('setup', config.world === undefined ? [] : ['--world', resolve(config.world)])}

and ask: “${firstQuestion}”

A host that speaks MCP over HTTP connects to ${publicUrl}/mcp and signs in, for example in ~/.cursor/mcp.json:

${hostBlock('cursor', { url: `${publicUrl}/mcp` })}

${commandLine('doctor')} finds problems. Calls appear below. Stop with Ctrl+C.

`
}

/** Returns the text for a start of production on an empty database: how to begin. */
function empty({ config, url }: Welcome): string {
  const file = /^sqlite:/.test(config.databaseUrl) ? absoluteDatabase(config.databaseUrl) : undefined
  const database = file === undefined ? [] : ['--database-url', file]
  return `payments-mcp ${config.environment} is listening on ${url}

  Data       ${withoutCredentials(config.databaseUrl)}

Nobody has an account here yet. Create the first party and its owner, on the same database:

  ${commandLine('init', ['--production', '--email', 'you@example.com', ...database])}

Stop with Ctrl+C.
`
}

/** Returns the line for a program that started `serve`, with the known keys (docs/sandbox.md#ready-for-a-program). */
export function ready({ url, credentials }: Pick<Welcome, 'url' | 'credentials'>): string {
  const keys = { api: credentials.apiKey, agent: credentials.agentKey }
  return `${JSON.stringify({ url, mcpUrl: `${url}/mcp`, keys })}\n`
}

/** Returns the text for a pipe or a file, which may be stored: each key is printed only once, when it is created. */
export function printed(welcome: Welcome): string {
  const { config, url, publicUrl, credentials } = welcome
  if (credentials.isEmpty) return empty(welcome)
  const apiKey = credentials.isFirst || config.sandboxApiKey !== undefined ? credentials.apiKey : null
  const agentKey = credentials.isFirst || config.sandboxAgentKey !== undefined ? credentials.agentKey : null
  const start = hostStart(config, url, agentKey)
  return `payments-mcp ${config.environment} is listening on ${url}

  MCP        ${publicUrl}/mcp (sign in with OAuth, or send a key as the bearer)
${signIn('Sign-in', welcome)}
  API key    ${apiKey ?? (credentials.hasKeys ? printedBefore(welcome, 'sandboxApiKey') : noKey('create_api_key'))}
  Agent key  ${agentKey ?? (credentials.hasKeys ? printedBefore(welcome, 'sandboxAgentKey') : noKey('create_agent_key'))}
  Data       ${withoutCredentials(config.databaseUrl)}

Paste this into the configuration of your AI host (Claude Desktop, Cursor and most others):

${hostBlock('cursor', { start })}

or into .vscode/mcp.json for VS Code:

${hostBlock('vscode', { start })}

Stop with Ctrl+C.
`
}

function signIn(title: string, { publicUrl, owner: { email, password } }: Welcome): string {
  if (email === null) return `  ${title}    not possible: the world has no owner`
  return `  ${title}    ${publicUrl}/sign-in as ${email}\n  Password   ${password ?? unknown('sandboxPassword')}`
}

function unknown(setting: SettingKey): string {
  return `(set at an earlier start, and stored as a hash; ${names(setting).variable} sets another)`
}

const noKey = (tool: string) => `(none is created at a start; ${tool} creates one)`

function printedBefore({ config }: Welcome, setting: SettingKey): string {
  const where = config.environment === 'sandbox' ? 'a terminal shows it; ' : ''
  return `(printed when it was created; ${where}set ${names(setting).variable} to choose another)`
}

export const withoutCredentials = (url: string) => url.replace(/\/\/.*@/s, '//[masked]@')

/** Returns the start of the MCP server for an AI host, from this checkout or installation, with the current Node.js. */
function hostStart({ environment, databaseUrl, world, secret }: Config, url: string, agentKey: string | null): Start {
  // The host's own process opens a sandbox on disk, and needs no secret in the host's files for it.
  const shareable = environment === 'sandbox' && databaseUrl !== 'sqlite::memory:' && secret === undefined
  return startCommand(
    shareable
      ? {
          PAYMENTS_DATABASE_URL: absoluteDatabase(databaseUrl),
          ...(world === undefined ? {} : { PAYMENTS_WORLD: resolve(world) }),
        }
      : { PAYMENTS_ENVIRONMENT: environment, PAYMENTS_BASE_URL: url, PAYMENTS_KEY: agentKey ?? '<agent key>' },
  )
}

/** Makes the path of a database absolute, because a host starts the server in another folder. */
export function absoluteDatabase(databaseUrl: string): string {
  const file = /^sqlite:(?!:memory:$)(.+)$/.exec(databaseUrl)?.[1]
  return file === undefined ? databaseUrl : `sqlite:${resolve(file)}`
}
