import { isDeepStrictEqual } from 'node:util'
import { parse as parseToml, patch as patchToml } from '@decimalturn/toml-patch'
import { type ParseError, parse as parseJsonc, printParseErrorCode } from 'jsonc-parser'
import { parseDocument } from 'yaml'
import { type HostSetup, serverName } from '../core/host-setups.ts'
import { withValue } from './edit-json.ts'

type Table = Record<string, unknown>

/** The error for a file that cannot be parsed or safely edited. The message gives the line of a syntax error. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile'
}

/** Returns this server's entry in a host's file; undefined if there is none. @throws UnreadableFile */
export function serverIn({ format, servers }: HostSetup, text: string): Table | undefined {
  const all = parseContent(format, text)[servers]
  if (all === undefined) return undefined
  if (format === 'yaml') return entryIn(listOf(all, `${servers} is not a list of servers`))
  const entry = tableOf(all, `${servers} is not a map of servers`)[serverName]
  return entry === undefined ? undefined : tableOf(entry, `${servers}.${serverName} is not a server entry`)
}

/**
 * Merges a new entry into the old one, so that a person's additions stay, such as environment variables, or the tools
 * that the host may use without asking. If only one of the two entries has a command, such additions may not suit the
 * new entry. Then the old entry is dropped.
 */
export function mergedEntry(before: Table | undefined, entry: Table): Table {
  if (before === undefined || 'command' in before !== 'command' in entry) return entry
  const variables = ['env', 'environment'].flatMap((name) => {
    const [env, newEnv] = [before[name], entry[name]]
    return isTable(env) && isTable(newEnv) ? [[name, { ...env, ...newEnv }]] : []
  })
  const chosen = preferences.filter((name) => name in before).map((name) => [name, before[name]])
  return { ...before, ...entry, ...Object.fromEntries([...variables, ...chosen]) }
}

/** The members of an entry that keep their old values, because the person may have chosen these values. */
const preferences = ['required', 'alwaysLoad', 'tools'] as const

/**
 * Returns the file's text with `entry` as this server's entry. All other content and comments stay; only YAML may be
 * reformatted. `block` is the entry as text, to append to a file that has no entry for this server yet.
 * @throws UnreadableFile
 */
export function withServer(host: HostSetup, text: string, entry: Table, block: string): string {
  if (host.format === 'yaml') return withListedServer(host, text, entry, block)
  const before = serverIn(host, text)
  const whole = parseContent(host.format, text)
  const others = whole[host.servers] as Table | undefined
  const expected = { ...whole, [host.servers]: { ...others, [serverName]: entry } }
  const next =
    host.format === 'json'
      ? editJson(text, [host.servers, serverName], before, entry)
      : editToml(text, expected, before === undefined ? block : undefined)
  // Checks the new text, so that nothing is lost if a library mishandles an unusual file.
  if (hasContent(host.format, next, expected)) return next
  throw new UnreadableFile('payments-mcp cannot edit this file safely')
}

/** Adds or replaces this server's entry in YAML, where the servers are a list and each entry has a `name`. */
function withListedServer({ servers, needs }: HostSetup, text: string, entry: Table, block: string): string {
  const whole = parseContent('yaml', text)
  const list = listOf(whole[servers] ?? [], `${servers} is not a list of servers`)
  const at = list.findIndex((item) => isTable(item) && item.name === serverName)
  const named = { name: serverName, ...entry }
  const expected = { ...whole, [servers]: at === -1 ? [...list, named] : list.with(at, named) }
  if (text.trim() === '') {
    const members = Object.entries(needs ?? {}).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
    return `${members.join('')}${block}\n`
  }
  const appended = `${text}${text.endsWith('\n') ? '' : '\n'}${block}\n`
  if (!(servers in whole) && hasContent('yaml', appended, expected)) return appended
  const document = parseDocument(text)
  document.setIn([servers, at === -1 ? list.length : at], document.createNode(named))
  const next = document.toString({ lineWidth: 0 })
  if (hasContent('yaml', next, expected)) return next
  throw new UnreadableFile('payments-mcp cannot edit this file safely')
}

/** Returns this server's entry in a list of named entries, without the name. */
function entryIn(list: readonly unknown[]): Table | undefined {
  const item = list.find((one) => isTable(one) && one.name === serverName)
  if (!isTable(item)) return undefined
  const { name: _, ...entry } = item
  return entry
}

function listOf(value: unknown, problem: string): unknown[] {
  if (Array.isArray(value)) return value
  throw new UnreadableFile(problem)
}

function editJson(text: string, path: string[], before: Table | undefined, entry: Table): string {
  const byteOrderMark = text.startsWith('\uFEFF') ? '\uFEFF' : ''
  const whole = text.slice(byteOrderMark.length)
  const hasOtherMembers = before !== undefined && Object.keys(before).some((member) => !(member in entry))
  if (before === undefined || hasOtherMembers) return byteOrderMark + withValue(whole, path, entry)
  const changed = Object.entries(entry).filter(([member, value]) => !isDeepStrictEqual(before[member], value))
  return byteOrderMark + changed.reduce((json, [member, value]) => withValue(json, [...path, member], value), whole)
}

/**
 * Returns the TOML text with the expected content. Appends `block` if that is enough; otherwise, the library patches
 * the text.
 */
function editToml(text: string, expected: Table, block: string | undefined): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  if (block !== undefined) {
    const gap = text.trim() === '' ? '' : text.endsWith('\n') ? eol : eol + eol
    const appended = `${text}${gap}${block.replaceAll('\n', eol)}${eol}`
    if (hasContent('toml', appended, expected)) return appended
  }
  return patchToml(text, expected)
}

/**
 * Returns whether a file's text has the expected content. Compares clones, because objects from the TOML parser have no
 * prototype.
 */
function hasContent(format: HostSetup['format'], text: string, expected: Table): boolean {
  try {
    return isDeepStrictEqual(structuredClone(parseContent(format, text)), structuredClone(expected))
  } catch (error) {
    if (error instanceof UnreadableFile) return false
    throw error
  }
}

function parseContent(format: HostSetup['format'], text: string): Table {
  return tableOf(parsers[format](text), 'it does not contain an object')
}

const parsers = {
  json: (text: string) => jsonOf(text.replace(/^\uFEFF/, '')),
  toml: tomlOf,
  yaml: yamlOf,
} as const

function yamlOf(text: string): unknown {
  const document = parseDocument(text)
  const [first] = document.errors
  if (first === undefined) return document.toJS() ?? {}
  const line = first.linePos?.[0].line
  throw new UnreadableFile(line === undefined ? 'it is not valid YAML' : `line ${line} is not valid YAML`)
}

function jsonOf(text: string): unknown {
  if (text.trim() === '') return {}
  const errors: ParseError[] = []
  const value = parseJsonc(text, errors, { allowTrailingComma: true })
  const [first] = errors
  if (first === undefined) return value
  const line = text.slice(0, first.offset).split('\n').length
  throw new UnreadableFile(`line ${line} is not valid JSON (${printParseErrorCode(first.error)})`)
}

function tomlOf(text: string): unknown {
  try {
    return parseToml(text)
  } catch (error) {
    const line = (error as { line?: number }).line
    throw new UnreadableFile(line === undefined ? 'it is not valid TOML' : `line ${line} is not valid TOML`)
  }
}

function tableOf(value: unknown, problem: string): Table {
  if (isTable(value)) return value
  throw new UnreadableFile(problem)
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
