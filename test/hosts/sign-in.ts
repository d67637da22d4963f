import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { consent } from '../oauth/application.ts'
import { openBrowser, type Page, type Reachable } from '../oauth/browser.ts'
import { codexConfiguration, type HostRun, runIn } from './hosts.ts'

const installed = (name: string) => fileURLToPath(new URL(`node_modules/.bin/${name}`, import.meta.url))

/** A host that can sign in to an MCP server by OAuth. */
export interface SigningHost {
  name: string
  /** The URL of the host's client metadata document, for servers that accept such documents. */
  document: string
  /** Writes the host's settings into the home directory, and returns the command that signs the host in. */
  login(home: string, mcpUrl: string): Promise<{ command: string; args: string[]; env: Record<string, string> }>
  /** Starts the signed-in host. */
  start(run: HostRun): { command: string; args: string[]; env: Record<string, string> }
  /** The path of the host's token file in the home directory. */
  tokenFile: string
}

const prompt = 'Say who you are.'

const codexEnv = (home: string) => ({ MODEL_KEY: 'none', CODEX_HOME: join(home, '.codex') })

const codex: SigningHost = {
  name: 'codex',
  document: 'https://chatgpt.com/oauth/codex/client.json',
  login: async (home, mcpUrl) => {
    writeCodexConfiguration(home, mcpUrl, 'http://127.0.0.1:1')
    return { command: installed('codex'), args: ['mcp', 'login', 'payments'], env: codexEnv(home) }
  },
  start: ({ home, mcp, model }) => {
    writeCodexConfiguration(home, 'url' in mcp ? mcp.url : '', model)
    return { command: installed('codex'), args: ['exec', '--skip-git-repo-check', prompt], env: codexEnv(home) }
  },
  tokenFile: '.codex/.credentials.json',
}

function writeCodexConfiguration(home: string, url: string, model: string): void {
  mkdirSync(join(home, '.codex'), { recursive: true })
  writeFileSync(join(home, '.codex/config.toml'), codexConfiguration({ url }, model))
}

const claudeEnv = { ANTHROPIC_API_KEY: 'none', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', IS_SANDBOX: '1' }

const claudeCode: SigningHost = {
  name: 'claude-code',
  document: 'https://claude.ai/oauth/claude-code-client-metadata',
  login: async (home, mcpUrl) => {
    const add = ['mcp', 'add', '--transport', 'http', '--scope', 'user', 'payments', mcpUrl]
    await runIn(home, { command: installed('claude'), args: add, env: claudeEnv })
    // Claude Code signs in only in a terminal. The command `script` provides one.
    const line = `${installed('claude')} mcp login payments`
    return {
      command: 'script',
      args: ['-qec', line, '/dev/null'],
      env: { ...claudeEnv, ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' },
    }
  },
  start: ({ model }) => ({
    command: installed('claude'),
    args: ['-p', prompt, '--permission-mode', 'bypassPermissions', '--model', 'claude-sonnet-5'],
    env: {
      ...claudeEnv,
      ANTHROPIC_BASE_URL: model,
      ENABLE_TOOL_SEARCH: 'false',
      MCP_CONNECTION_NONBLOCKING: 'false',
    },
  }),
  tokenFile: '.claude/.credentials.json',
}

export const signingHosts: readonly SigningHost[] = [codex, claudeCode]

/** The credentials with which the sandbox's owner signs in. */
export const owner = { email: 'owner@sandbox.example', password: 'a password of these tests' }

const overNetwork: Reachable = { service: { fetch: (request) => fetch(request) }, owner }

const longestSignInMs = 60_000

/**
 * Signs a host in: starts its sign-in command, waits for the address that the host wants to open in a browser, and
 * consents there as the owner.
 * @returns the exit code, and the browser's last page: a page of the host on success, a page of the service on failure
 */
export async function signIn(
  host: SigningHost,
  home: string,
  mcpUrl: string,
): Promise<{ page: Page; exitCode: number | null }> {
  const { command, args, env } = await host.login(home, mcpUrl)
  const child = spawn(command, args, {
    cwd: home,
    env: { PATH: process.env.PATH ?? '', HOME: home, ...env },
    stdio: 'pipe',
  })
  const exited = new Promise<number | null>((resolve) => child.on('close', resolve))
  const tooLong = setTimeout(() => child.kill('SIGKILL'), longestSignInMs)
  try {
    const origin = new URL(mcpUrl).origin
    const lastPage = await allow(await waitForAddress(child), origin)
    if (new URL(lastPage.url).origin === origin) {
      child.kill('SIGTERM')
      return { page: lastPage, exitCode: await exited }
    }
    const response = await fetch(lastPage.url)
    const page = { url: lastPage.url, status: response.status, headers: response.headers, text: await response.text() }
    return { page, exitCode: await exited }
  } finally {
    clearTimeout(tooLong)
  }
}

/** Opens the address in the owner's browser, and consents unless the page is an error. Returns the last page. */
async function allow(address: string, origin: string): Promise<Page> {
  const browser = openBrowser(overNetwork, origin)
  const first = await browser.get(address)
  return first.status < 400 ? consent(browser, address) : first
}

/** Waits for the sign-in address, which the host prints in case the browser does not open. */
async function waitForAddress({ stdout, stderr }: ChildProcessWithoutNullStreams): Promise<string> {
  let output = ''
  // In terminal output, a control character ends the link.
  const completeAddress = /http:\/\/127\.0\.0\.1:\d+\/oauth\/[^\s\p{Cc}]+(?=[\s\p{Cc}])/u
  return new Promise((resolve, reject) => {
    const collect = (chunk: Buffer) => {
      output += chunk.toString('utf8')
      const address = completeAddress.exec(output)?.[0]
      if (address !== undefined) resolve(address)
    }
    stdout.on('data', collect).on('close', () => reject(new Error(`The host printed no sign-in address: ${output}`)))
    stderr.on('data', collect)
  })
}

/** Makes the host's access token invalid and expired, but keeps the refresh token. */
export function expireAccessToken(host: SigningHost, home: string): void {
  const file = join(home, host.tokenFile)
  const text = readFileSync(file, 'utf8')
  const changed = JSON.parse(text, (key, value) => {
    if (/^access_?token$/i.test(key) && typeof value === 'string') return `${value.slice(0, -8)}AAAAAAAA`
    if (/^expires_?at$/i.test(key)) return 1
    if (/^expires_?in$/i.test(key)) return 0
    return value
  })
  writeFileSync(file, JSON.stringify(changed))
}
