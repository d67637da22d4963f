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
  format: 'json' | 'toml' | 'yaml'
  /** The object or table of the file that holds the servers by their names; in YAML a list of servers with names. */
  servers: 'mcpServers' | 'servers' | 'mcp_servers' | 'mcp'
  /** Null: the file takes no server at an address. */
  entry(reach: Reach): ServerEntry | null
  /** How a server at an address is added instead or besides, in words. */
  remotely?: string
  /** Members without which the host reads no file, for a file that is new. */
  needs?: Readonly<Record<string, string>>
  /** The address of one click that adds it: the host opens, shows it and asks. */
  link?(entry: ServerEntry): string
  /** A limit of the host that this entry runs into, with the way around it; undefined: none is known. */
  lacks?(entry: ServerEntry): string | undefined
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
    // Its first turn waits for a server whose tools are always loaded. One at an address may be away, and is not waited for.
    entry: (reach) =>
      'url' in reach ? { type: 'http', url: reach.url } : { type: 'stdio', ...started(reach.start), alwaysLoad: true },
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
    lacks: (entry) =>
      JSON.stringify(entry).includes('${input:')
        ? 'Copilot sessions in VS Code are not given a server that asks for an input. For them, put the server into .mcp.json of the project, without an input (docs/hosts.md#vs-code).'
        : undefined,
  },
  codex: {
    title: 'Codex',
    file: '~/.codex/config.toml',
    format: 'toml',
    servers: 'mcp_servers',
    // Without it, a run of codex exec begins before the server has told its tools. A server at an address may be away,
    // and would then keep Codex from starting at all.
    entry: (reach) => ('url' in reach ? { url: reach.url } : { ...started(reach.start), required: true }),
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
  copilot: {
    title: 'Copilot CLI',
    file: '~/.copilot/mcp-config.json, or .mcp.json of a project',
    format: 'json',
    servers: 'mcpServers',
    entry: (reach) =>
      'url' in reach
        ? { type: 'http', url: reach.url, tools: ['*'] }
        : { type: 'local', ...started(reach.start), tools: ['*'] },
    remotely: 'Then /mcp in a session signs you in.',
  },
  opencode: {
    title: 'opencode',
    file: '~/.config/opencode/opencode.json, or opencode.json of a project',
    format: 'json',
    servers: 'mcp',
    entry: (reach) => {
      if ('url' in reach) return { type: 'remote', url: reach.url }
      const { command, args, env } = started(reach.start)
      return { type: 'local', command: [command, ...args], ...(env === undefined ? {} : { environment: env }) }
    },
    remotely: `Then opencode mcp auth ${serverName} signs you in.`,
  },
  qwen: {
    title: 'Qwen Code',
    file: '~/.qwen/settings.json, or .qwen/settings.json of a project',
    format: 'json',
    servers: 'mcpServers',
    entry: (reach) => ('url' in reach ? { httpUrl: reach.url } : started(reach.start)),
    remotely: 'Then /mcp in a session signs you in.',
  },
  continue: {
    title: 'Continue',
    file: '~/.continue/config.yaml',
    format: 'yaml',
    servers: 'mcpServers',
    entry: (reach) => ('url' in reach ? { type: 'streamable-http', url: reach.url } : started(reach.start)),
    needs: { name: 'Local Assistant', version: '1.0.0', schema: 'v1' },
  },
} as const satisfies Record<string, HostSetup>

export type HostName = keyof typeof hostSetups

export const hostNames = Object.keys(hostSetups) as HostName[]

/** The block to paste into the host's file; null: its file takes no server at an address. */
export function hostBlock(name: HostName, reach: Reach): string | null {
  const { format, servers, entry }: HostSetup = hostSetups[name]
  const given = entry(reach)
  if (given === null) return null
  if (format === 'toml') return tomlTables(`${servers}.${serverName}`, given)
  if (format === 'yaml') return `${servers}:\n${yamlItem({ name: serverName, ...given })}`
  return JSON.stringify({ [servers]: { [serverName]: given } }, null, 2)
}

/** The address that adds it to the host by one click; null: the host has none. */
export function hostLink(name: HostName, reach: Reach): string | null {
  const { entry, link }: HostSetup = hostSetups[name]
  const given = entry(reach)
  return given === null ? null : (link?.(given) ?? null)
}

function started({ command, args, env }: Start) {
  return { command, args, ...(Object.keys(env).length === 0 ? {} : { env }) }
}

/** A list item in YAML; its values are written as JSON's, which YAML 1.2 reads too. */
function yamlItem(entry: ServerEntry): string {
  const lines = Object.entries(entry).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  return `  - ${lines.join('\n    ')}`
}

/** TOML of a table whose values are texts, truths, lists of texts and one level of tables, written as JSON's. */
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
