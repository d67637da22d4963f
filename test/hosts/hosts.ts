import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The way in which a host reaches the MCP server: by starting a command, or at a URL. */
export type McpServer =
  | { command: string; args: string[]; env: Record<string, string> }
  | { url: string; headers?: Record<string, string> }

/** One headless run of a host. Each run has its own home directory. */
export interface HostRun {
  mcp: McpServer
  /** The scripted model's URL. */
  model: string
  home: string
  /**
   * The scripted answer to each question that the host asks the person, and how long the person takes. If undefined,
   * the host has no way to ask a person. Only hosts with `canAskPerson` use this field.
   */
  person?: { answer: { action: 'accept' | 'decline'; content?: object }; afterMs: number }
}

interface Started {
  command: string
  args: string[]
  env?: Record<string, string>
  /** Files to write before starting, keyed by their path in the home directory. */
  files?: Record<string, string>
}

export interface Host {
  name: string
  /** Whether a test can script the answers of the person at this host. */
  canAskPerson: boolean
  start(run: HostRun): Started
}

const folder = fileURLToPath(new URL('.', import.meta.url))
const installedPath = (name: string) => join(folder, 'node_modules', '.bin', name)
const prompt = 'Buy the book.'

/** Creates a host from a script in `agents/`. The script runs the agent loop of a published library. */
const library = (name: string, canAskPerson = false): Host => ({
  name,
  canAskPerson,
  start: (run) => ({
    command: process.execPath,
    args: [join(folder, 'agents', `${name}.mjs`), JSON.stringify({ ...run, prompt })],
  }),
})

const claudeCode: Host = {
  name: 'claude-code',
  canAskPerson: false,
  start: ({ mcp, model }) => ({
    command: installedPath('claude'),
    args: ['-p', prompt, '--mcp-config', 'mcp.json', '--strict-mcp-config', ...claudeArguments],
    // Without `IS_SANDBOX`, Claude Code refuses to skip its permission prompts when it runs as root.
    env: { ...claudeModel(model), IS_SANDBOX: '1' },
    files: { 'mcp.json': JSON.stringify({ mcpServers: { payments: 'url' in mcp ? { type: 'http', ...mcp } : mcp } }) },
  }),
}

const claudeModel = (model: string) => ({
  ANTHROPIC_BASE_URL: model,
  ANTHROPIC_API_KEY: 'none',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  // With these two settings, the first request to the model waits until the server has listed its tools, and contains
  // all of them.
  ENABLE_TOOL_SEARCH: 'false',
  MCP_CONNECTION_NONBLOCKING: 'false',
})

const claudeArguments = ['--permission-mode', 'bypassPermissions', '--model', 'claude-sonnet-5']

const codex: Host = {
  name: 'codex',
  canAskPerson: false,
  start: ({ mcp, model, home }) => ({
    command: installedPath('codex'),
    args: ['exec', '--skip-git-repo-check', prompt],
    env: { MODEL_KEY: 'none', CODEX_HOME: join(home, '.codex') },
    files: { '.codex/config.toml': codexConfiguration(mcp, model) },
  }),
}

export function codexConfiguration(mcp: McpServer, model: string): string {
  const { headers = {}, ...server }: Record<string, unknown> & { headers?: object } = { ...mcp }
  const lines = Object.entries('url' in mcp ? { ...server, http_headers: headers } : server)
  return `${codexModel(model)}[mcp_servers.payments]
default_tools_approval_mode = "approve"
startup_timeout_sec = 120
# Without this setting, a run begins before the server has listed its tools.
required = true
${lines.map(([key, value]) => `${key} = ${toml(value)}`).join('\n')}
`
}

const codexModel = (model: string) => `model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
mcp_oauth_credentials_store = "file"
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "${model}/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
`

/** Formats a value as TOML, in which strings, numbers and lists are written as in JSON. */
function toml(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)} = ${toml(inner)}`)
  return `{ ${members.join(', ')} }`
}

const geminiCli: Host = {
  name: 'gemini-cli',
  canAskPerson: false,
  start: ({ mcp, model }) => ({
    command: process.execPath,
    args: [installedPath('gemini'), '-p', prompt, '--yolo', '--skip-trust', '-m', 'gemini-2.5-pro'],
    env: geminiModel(model),
    files: { '.gemini/settings.json': JSON.stringify(geminiSettings(mcp)) },
  }),
}

const geminiOwnSettings = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  telemetry: { enabled: false },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
}

const geminiModel = (model: string) => ({ GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: model })

/**
 * The environment and files that sign each host in to the scripted model, by the name of the host. They configure no
 * MCP server.
 */
export const signedInHosts: Record<string, (model: string) => Pick<Started, 'env' | 'files'>> = {
  'Claude Code': (model) => ({ env: claudeModel(model) }),
  Codex: (model) => ({
    env: { MODEL_KEY: 'none' },
    files: { '.codex/config.toml': codexModel(model) },
  }),
  'Gemini CLI': (model) => ({
    env: { ...geminiModel(model), GEMINI_MODEL: 'gemini-2.5-pro' },
    files: { '.gemini/settings.json': JSON.stringify(geminiOwnSettings) },
  }),
}

const geminiSettings = (mcp: McpServer) => ({
  mcpServers: {
    payments: { trust: true, ...('url' in mcp ? { httpUrl: mcp.url, headers: mcp.headers ?? {} } : mcp) },
  },
  ...geminiOwnSettings,
})

/**
 * The tested hosts. Each host runs its own agent loop, without a user interface, against a model server on loopback.
 */
export const hosts: readonly Host[] = [
  library('ai-sdk', true),
  library('openai-agents'),
  library('langchain'),
  claudeCode,
  codex,
  geminiCli,
]

export interface RunResult {
  exitCode: number | null
  /** The standard output, followed by the standard error. */
  output: string
}

/** The time limit of a run. Even on a busy machine, a host starts and takes twelve turns in less time. */
const longestRunMs = 120_000

/** Runs a host until it exits, or kills it after a timeout. */
export async function runHost(host: Host, run: HostRun): Promise<RunResult> {
  return runIn(run.home, host.start(run))
}

/** Runs a command in a home directory. The command inherits only `PATH` from this process's environment. */
export async function runIn(home: string, { command, args, env = {}, files = {} }: Started): Promise<RunResult> {
  writeFiles(home, files)
  const hostEnv = { PATH: process.env.PATH ?? '', HOME: home, ...env }
  const child = spawn(command, args, { cwd: home, env: hostEnv, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const tooLong = setTimeout(() => child.kill('SIGKILL'), longestRunMs)
  try {
    const exitCode = await new Promise<number | null>((resolve, reject) =>
      child.on('close', resolve).on('error', reject),
    )
    return { exitCode, output: `${output}\n${errors}` }
  } finally {
    clearTimeout(tooLong)
  }
}

/** Writes files into a home directory. `files` maps each path in the directory to the file's content. */
export function writeFiles(home: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), text)
  }
}

/** Creates a new, empty home directory. */
export function newHome(): { home: string; remove(): void } {
  const home = mkdtempSync(join(tmpdir(), 'payments-mcp-host-'))
  return { home, remove: () => rmSync(home, { recursive: true, force: true, maxRetries: 5 }) }
}
