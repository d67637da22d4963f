/** The configuration of one MCP server in an AI host, from docs/hosts.md or README.md. */
export interface Configuration {
  /** The heading above the configuration. */
  host: string
  server: Launch | Remote
}

export interface Launch {
  kind: 'launch'
  command: string
  args: string[]
  env: Record<string, string>
}

export interface Remote {
  kind: 'remote'
  url: string
  headers: Record<string, string>
}

/** The address that docs/hosts.md and README.md use as a placeholder for the address of the payments API. */
export const exampleAddress = 'https://payments.example'

/** Returns the servers that a document configures in its section "In an AI host", in JSON blocks and in commands. */
export function configurations(document: string): Configuration[] {
  return blocks(document).flatMap(({ host, language, text }) => {
    const servers = language === 'json' ? serversIn(JSON.parse(text)) : commandsIn(text).flatMap(serversAdded)
    return servers.map((server) => ({ host, server }))
  })
}

/** Returns each command of the section "In an AI host" that begins with the given words, split into words. */
export function commandsOf(document: string, ...firstWords: string[]): string[][] {
  return blocks(document)
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => commandsIn(text))
    .filter((words) => firstWords.every((word, index) => words[index] === word))
}

function blocks(document: string): { host: string; language: string; text: string }[] {
  const part = /^## In an AI host\n([\s\S]*?)^## /m.exec(document)?.[1] ?? ''
  return part.split(/^### /m).flatMap((section) => {
    const host = section.slice(0, section.indexOf('\n'))
    const fences = [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)]
    return fences.map(([, language = '', text = '']) => ({ host, language, text }))
  })
}

interface ServersFile {
  mcpServers?: Record<string, ServerEntry>
  servers?: Record<string, ServerEntry>
  mcp?: Record<string, ServerEntry>
}

type ServerEntry =
  | { command: string; args: string[]; env?: Record<string, string> }
  | { command: string[] }
  | { url: string; headers?: Record<string, string> }
  | { httpUrl: string; headers?: Record<string, string> }

function serversIn({ mcpServers, servers, mcp }: ServersFile): (Launch | Remote)[] {
  return Object.values(mcpServers ?? servers ?? mcp ?? {}).map((entry) => {
    if ('url' in entry) return { kind: 'remote', url: entry.url, headers: entry.headers ?? {} }
    if ('httpUrl' in entry) return { kind: 'remote', url: entry.httpUrl, headers: entry.headers ?? {} }
    if (!('args' in entry)) {
      const [command = '', ...args] = entry.command
      return { kind: 'launch', command, args, env: {} }
    }
    return { kind: 'launch', command: entry.command, args: entry.args, env: entry.env ?? {} }
  })
}

/**
 * Returns the server that a `claude mcp add` command adds, and an empty list for other commands. The words after `--`
 * are the server's command. If there is no `--`, the last word is the server's URL.
 */
function serversAdded(words: string[]): (Launch | Remote)[] {
  if (words.slice(0, 3).join(' ') !== 'claude mcp add') return []
  const separator = words.indexOf('--')
  if (separator < 0) return [{ kind: 'remote', url: words.at(-1) ?? '', headers: {} }]
  const [command = '', ...args] = words.slice(separator + 1)
  return [{ kind: 'launch', command, args, env: {} }]
}

function commandsIn(text: string): string[][] {
  const lines = text.replaceAll('\\\n', ' ').split('\n').filter(Boolean)
  return lines.map((line) => [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? ''))
}
