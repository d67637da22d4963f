/** How an AI host starts the MCP server on its own machine. */
export interface Start {
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
}

/** How an AI host reaches the MCP server: it starts it (stdio), or calls an address (streamable HTTP). */
export type Reach = { start: Start } | { url: string }

/** What a host is told of a server, under the server's name. */
type ServerEntry = Record<string, unknown>

export interface HostSetup {
  /** The host as people call it. */
  title: string
  /** Where the user's own configuration stands, in words. */
  file: string
  format: 'json' | 'toml'
  /** The object or table of the file that holds the servers by their names. */
  servers: 'mcpServers' | 'servers' | 'mcp_servers'
  /** Null: the file takes no server at an address. */
  entry(reach: Reach): ServerEntry | null
  /** How a server at an address is added instead or besides, in words. */
  remotely?: string
  /** The address of one click that adds it: the host opens, shows it and asks. */
  link?(entry: ServerEntry): string
}

/** The name that the server has in a host's configuration. */
export const serverName = 'payments'

/**
 * The AI hosts whose configuration is known: the one home of the blocks that the page at `/` shows and the command `setup`
 * writes. docs/hosts.md shows the same, which test/core/host-setups.test.ts holds.
 */
export const hostSetups = {
  'claude-code': {
    title: 'Claude Code',
    file: '~/.claude.json, or .mcp.json of a project',
    format: 'json',
    servers: 'mcpServers',
    entry: (reach) => ('url' in reach ? { type: 'http', url: reach.url } : { type: 'stdio', ...started(reach.start) }),
    remotely: 'Then /mcp in a session signs you in.',
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    file: 'claude_desktop_config.json (Settings, Developer, Edit Config)',
    format: 'json',
    servers: 'mcpServers',
    entry: (reach) => ('url' in reach ? null : started(reach.start)),
    remotely:
      'Claude Desktop takes an address under Settings, Connectors, Add custom connector; it has to be an https address that the internet can see.',
  },
  cursor: {
    title: 'Cursor',
    file: '~/.cursor/mcp.json, or .cursor/mcp.json of a project',
    format: 'json',
    servers: 'mcpServers',
    entry: (reach) => ('url' in reach ? { url: reach.url } : started(reach.start)),
    link: (entry) => {
      const config = Buffer.from(JSON.stringify(entry)).toString('base64')
      return `cursor://anysphere.cursor-deeplink/mcp/install?name=${serverName}&config=${encodeURIComponent(config)}`
    },
  },
  vscode: {
    title: 'VS Code',
    file: '.vscode/mcp.json of a project, or mcp.json by the command MCP: Open User Configuration',
    format: 'json',
    servers: 'servers',
    entry: (reach) => ('url' in reach ? { type: 'http', url: reach.url } : { type: 'stdio', ...started(reach.start) }),
    link: (entry) => `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: serverName, ...entry }))}`,
  },
  codex: {
    title: 'Codex',
    file: '~/.codex/config.toml',
    format: 'toml',
    servers: 'mcp_servers',
    entry: (reach) => ('url' in reach ? { url: reach.url } : started(reach.start)),
    remotely: `Then codex mcp login ${serverName} signs you in.`,
  },
  gemini: {
    title: 'Gemini CLI',
    file: '~/.gemini/settings.json, or .gemini/settings.json of a project',
    format: 'json',
    servers: 'mcpServers',
    entry: (reach) => ('url' in reach ? { httpUrl: reach.url } : started(reach.start)),
    remotely: `Then /mcp auth ${serverName} signs you in.`,
  },
} as const satisfies Record<string, HostSetup>

export type HostName = keyof typeof hostSetups

export const hostNames = Object.keys(hostSetups) as HostName[]

/** The block to paste into the host's file; null: its file takes no server at an address. */
export function hostBlock(name: HostName, reach: Reach): string | null {
  const { format, servers, entry }: HostSetup = hostSetups[name]
  const given = entry(reach)
  if (given === null) return null
  return format === 'toml'
    ? tomlTables(`${servers}.${serverName}`, given)
    : JSON.stringify({ [servers]: { [serverName]: given } }, null, 2)
}

/** The address that adds it to the host by one click; null: the host has none. */
export function hostLink(name: HostName, reach: Reach): string | null {
  const { entry, link }: HostSetup = hostSetups[name]
  const given = entry(reach)
  return given === null ? null : (link?.(given) ?? null)
}

function started({ command, args, env }: Start): ServerEntry {
  return { command, args, ...(Object.keys(env).length === 0 ? {} : { env }) }
}

/** TOML of a table whose values are texts, lists of texts and one level of tables; its texts are written as JSON's. */
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
