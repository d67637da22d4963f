/** The command with which an AI host starts the MCP server on its own machine. */
export interface Start {
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
}

/** How an AI host reaches the MCP server. The host starts the server (stdio), or calls a URL (Streamable HTTP). */
export type ServerConnection = { start: Start } | { url: string }

/** The settings of one server in a host's configuration. */
type ServerEntry = Record<string, unknown>

export interface HostSetup {
  /** The host's display name. */
  title: string
  /** The configuration file, described for people. */
  file: string
  format: 'json' | 'toml' | 'yaml'
  /**
   * The key under which the file lists servers: in YAML as a list, in other formats as an object or table keyed by
   * server name.
   */
  servers: 'mcpServers' | 'servers' | 'mcp_servers' | 'mcp'
  /** Returns the server's entry. Returns null for a URL if the file accepts only servers that the host starts. */
  entry(connection: ServerConnection): ServerEntry | null
  /**
   * Instructions for the user of a server at a URL. They are shown below the entry, or instead of it if `entry` returns
   * null.
   */
  remoteTip?: string
  /** Fields that a new file must have, because the host rejects a file without them. */
  needs?: Readonly<Record<string, string>>
  /** Builds a link for adding the server. The link opens the host, which shows the entry and asks for confirmation. */
  link?(entry: ServerEntry): string
  /**
   * Describes a limitation of the host that affects this entry, and how to work around it; undefined if there is no
   * known limitation.
   */
  limitation?(entry: ServerEntry): string | undefined
}

/** The name of the server in a host's configuration. */
export const serverName = 'payments'

/**
 * The AI hosts whose configuration files are known. The page at `/` and the command `setup` use these entries.
 * docs/hosts.md repeats the entries, and test/core/host-setups.test.ts checks that they are the same.
 */
export const hostSetups = {
  'claude-code': {
    title: 'Claude Code',
    file: '~/.claude.json, or .mcp.json in a project',
    format: 'json',
    servers: 'mcpServers',
    // With `alwaysLoad`, the first turn of a session waits for the server's tools. A remote server may be unreachable,
    // so the first turn must not wait for it.
    entry: (connection) =>
      'url' in connection
        ? { type: 'http', url: connection.url }
        : { type: 'stdio', ...startOf(connection.start), alwaysLoad: true },
    remoteTip: 'Then type /mcp in a session to sign in.',
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    file: 'claude_desktop_config.json (Settings, Developer, Edit Config)',
    format: 'json',
    servers: 'mcpServers',
    entry: (connection) => ('url' in connection ? null : startOf(connection.start)),
    remoteTip:
      'In Claude Desktop, enter the address under Settings, Connectors, Add custom connector. The address must use https and be reachable from the internet.',
  },
  cursor: {
    title: 'Cursor',
    file: '~/.cursor/mcp.json, or .cursor/mcp.json in a project',
    format: 'json',
    servers: 'mcpServers',
    entry: (connection) => ('url' in connection ? { url: connection.url } : startOf(connection.start)),
    link: (entry) => {
      const config = Buffer.from(JSON.stringify(entry)).toString('base64')
      return `cursor://anysphere.cursor-deeplink/mcp/install?name=${serverName}&config=${encodeURIComponent(config)}`
    },
  },
  vscode: {
    title: 'VS Code',
    file: '.vscode/mcp.json in a project, or the mcp.json that the command MCP: Open User Configuration opens',
    format: 'json',
    servers: 'servers',
    entry: (connection) =>
      'url' in connection ? { type: 'http', url: connection.url } : { type: 'stdio', ...startOf(connection.start) },
    link: (entry) => `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: serverName, ...entry }))}`,
    limitation: (entry) =>
      JSON.stringify(entry).includes('${input:')
        ? 'In VS Code, Copilot sessions cannot use a server that asks for an input. For them, add the server to .mcp.json in the project, without an input (docs/hosts.md#vs-code).'
        : undefined,
  },
  codex: {
    title: 'Codex',
    file: '~/.codex/config.toml',
    format: 'toml',
    servers: 'mcp_servers',
    // Without `required`, a run of codex exec begins before the server has listed its tools. A remote server must not
    // be required: Codex would not start while the server is unreachable.
    entry: (connection) =>
      'url' in connection ? { url: connection.url } : { ...startOf(connection.start), required: true },
    remoteTip: `Then run codex mcp login ${serverName} to sign in.`,
  },
  gemini: {
    title: 'Gemini CLI',
    file: '~/.gemini/settings.json, or .gemini/settings.json in a project',
    format: 'json',
    servers: 'mcpServers',
    entry: (connection) => ('url' in connection ? { httpUrl: connection.url } : startOf(connection.start)),
    remoteTip: `Then type /mcp auth ${serverName} to sign in.`,
  },
  copilot: {
    title: 'Copilot CLI',
    file: '~/.copilot/mcp-config.json, or .mcp.json in a project',
    format: 'json',
    servers: 'mcpServers',
    entry: (connection) =>
      'url' in connection
        ? { type: 'http', url: connection.url, tools: ['*'] }
        : { type: 'local', ...startOf(connection.start), tools: ['*'] },
    remoteTip: 'Then type /mcp in a session to sign in.',
  },
  opencode: {
    title: 'opencode',
    file: '~/.config/opencode/opencode.json, or opencode.json in a project',
    format: 'json',
    servers: 'mcp',
    entry: (connection) => {
      if ('url' in connection) return { type: 'remote', url: connection.url }
      const { command, args, env } = startOf(connection.start)
      return { type: 'local', command: [command, ...args], ...(env === undefined ? {} : { environment: env }) }
    },
    remoteTip: `Then run opencode mcp auth ${serverName} to sign in.`,
  },
  qwen: {
    title: 'Qwen Code',
    file: '~/.qwen/settings.json, or .qwen/settings.json in a project',
    format: 'json',
    servers: 'mcpServers',
    entry: (connection) => ('url' in connection ? { httpUrl: connection.url } : startOf(connection.start)),
    remoteTip: 'Then type /mcp in a session to sign in.',
  },
  continue: {
    title: 'Continue',
    file: '~/.continue/config.yaml',
    format: 'yaml',
    servers: 'mcpServers',
    entry: (connection) =>
      'url' in connection ? { type: 'streamable-http', url: connection.url } : startOf(connection.start),
    needs: { name: 'Local Assistant', version: '1.0.0', schema: 'v1' },
  },
} as const satisfies Record<string, HostSetup>

export type HostName = keyof typeof hostSetups

export const hostNames = Object.keys(hostSetups) as HostName[]

/** Renders the block to paste into the host's file. Returns null for a URL if the file accepts no server at a URL. */
export function hostBlock(name: HostName, connection: ServerConnection): string | null {
  const { format, servers, entry }: HostSetup = hostSetups[name]
  const hostEntry = entry(connection)
  if (hostEntry === null) return null
  if (format === 'toml') return tomlTables(`${servers}.${serverName}`, hostEntry)
  if (format === 'yaml') return `${servers}:\n${yamlItem({ name: serverName, ...hostEntry })}`
  return JSON.stringify({ [servers]: { [serverName]: hostEntry } }, null, 2)
}

/** Returns a link for adding the server to the host; null if the host has no such link. */
export function hostLink(name: HostName, connection: ServerConnection): string | null {
  const { entry, link }: HostSetup = hostSetups[name]
  const hostEntry = entry(connection)
  return hostEntry === null ? null : (link?.(hostEntry) ?? null)
}

function startOf({ command, args, env }: Start) {
  return { command, args, ...(Object.keys(env).length === 0 ? {} : { env }) }
}

/** Renders a list item in YAML. The values are written as JSON, which is valid YAML 1.2. */
function yamlItem(entry: ServerEntry): string {
  const lines = Object.entries(entry).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  return `  - ${lines.join('\n    ')}`
}

/** Renders a TOML table with strings, booleans, lists and inner tables. Strings and booleans are written as JSON. */
function tomlTables(table: string, entry: ServerEntry): string {
  const isTable = (value: unknown) => typeof value === 'object' && !Array.isArray(value)
  const rows = Object.entries(entry)
  const lines = rows.filter(([, value]) => !isTable(value)).map(([key, value]) => `${key} = ${tomlValue(value)}`)
  const inner = rows.filter(([, value]) => isTable(value))
  const tables = inner.map(([key, value]) => `\n\n${tomlTables(`${table}.${key}`, value as ServerEntry)}`)
  return [`[${table}]`, ...lines].join('\n') + tables.join('')
}

function tomlValue(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(tomlValue).join(', ')}]` : JSON.stringify(value)
}
