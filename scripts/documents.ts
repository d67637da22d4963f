import { type SettingKey, settings } from '../src/config/settings.ts'
import { errorTable } from '../src/core/errors.ts'
import type { OperationDefinition } from '../src/core/operation.ts'
import { defaultOAuthScopes, oauthScopes, permissions } from '../src/core/permissions.ts'
import { displayName, shortDescription } from '../src/core/product.ts'
import { eventKinds } from '../src/service/rules/event-types.ts'
import { declines } from '../tools/card-transactions.ts'
import { catalogue } from '../tools/index.ts'
import { apiReference } from './api-reference.ts'
import { judgeMutantsTables } from './judge-mutants-table.ts'
import { baselinesTable, familiesTable, scenariosTables } from './scenarios-table.ts'
import { worldReference } from './world-reference.ts'

/** The fields of package.json that the generated files repeat. */
export interface PackageFacts {
  name: string
  /** The package's name in the registry of MCP servers. */
  mcpName: string
  version: string
  description: string
  license: string
  engines: { node: string }
  keywords: string[]
  homepage: string
  bugs: string
  repository: { type: string; url: string }
}

/** The functions that generate parts of a document, by the document's path and the part's name. */
const tables: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'docs/api.md': {
    testing: () => apiReference('payments-mcp/testing'),
    client: () => apiReference('payments-mcp/client'),
  },
  'docs/configuration.md': { settings: settingsTable },
  'docs/events.md': { events: eventsTable },
  'docs/hosts.md': { scopes: scopesTable },
  'docs/rehearse.md': {
    families: () => familiesTable(table),
    baselines: () => baselinesTable(table),
    mutants: () => judgeMutantsTables(table),
  },
  'docs/scenarios.md': { scenarios: () => scenariosTables(table) },
  'docs/service.md': { errors: errorsTable, declines: declinesTable },
  'docs/tools.md': { tools: toolsTable },
  'docs/worlds.md': { fields: () => worldReference(table) },
}

export const documentsWithTables = Object.keys(tables)

/** Returns a document's text with new content between each `<!-- name:start -->` and `<!-- name:end -->`. */
export function withTables(path: string, text: string): string {
  return Object.entries(tables[path] ?? {}).reduce((whole, [name, rows]) => {
    const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`]
    const [from, to] = [whole.indexOf(start), whole.indexOf(end)]
    if (from < 0 || to < from) throw new Error(`${path} has no ${start} followed by ${end}.`)
    return `${whole.slice(0, from + start.length)}\n\n${rows()}\n\n${whole.slice(to)}`
  }, text)
}

/** Returns the text of the bundle's manifest.json (MCPB manifest version 0.3). */
export function manifest(facts: PackageFacts): string {
  const { name, version, description, license, engines, keywords, homepage, bugs, repository } = facts
  return formatJson({
    manifest_version: '0.3',
    name,
    display_name: displayName,
    version,
    description,
    author: { name: 'payments-mcp authors' },
    homepage,
    repository,
    support: bugs,
    license,
    keywords,
    icon: iconFile,
    server: {
      type: 'node',
      entry_point: 'server/cli.js',
      mcp_config: {
        command: 'node',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the host replaces the placeholder
        args: ['${__dirname}/server/cli.js'],
        env: Object.fromEntries(manifestSettings.map(({ variable, field }) => [variable, `\${user_config.${field}}`])),
      },
    },
    user_config: Object.fromEntries(
      manifestSettings.map(({ field, title, isBoolean, description, sensitive }) => [
        field,
        // An empty string counts as unset (src/config/load.ts).
        {
          type: isBoolean ? 'boolean' : 'string',
          title,
          description,
          ...(sensitive ? { sensitive } : {}),
          required: false,
          default: isBoolean ? false : '',
        },
      ]),
    ),
    // The tools that are offered by default and that agents may use. If the settings select other tools, a host gets
    // their list from the running server.
    tools: operations
      .filter(({ toolsets, permission }) => toolsets.includes('default') && permissions[permission].agent)
      .map(({ name, description }) => ({ name, description })),
    tools_generated: true,
    // The prompts depend on the settings, so this file lists none, and the host asks the running server for them.
    prompts_generated: true,
    compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: engines.node } },
  })
}

/** The icon's path in the bundle. */
export const iconFile = 'icon.png'

/** Returns the text of server.json for the registry of MCP servers, in the registry's schema of 2025-12-11. */
export function registryEntry({ name, mcpName, version, homepage, repository }: PackageFacts): string {
  return formatJson({
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: mcpName,
    title: displayName,
    description: shortDescription,
    version,
    websiteUrl: homepage,
    repository: { url: repository.url.replace(/^git\+|\.git$/g, ''), source: 'github' },
    packages: [
      {
        registryType: 'npm',
        identifier: name,
        version,
        runtimeHint: 'npx',
        transport: { type: 'stdio' },
        environmentVariables: settings.map(({ variable, secret, ...setting }) => ({
          name: variable,
          description: describe(setting),
          isRequired: false,
          isSecret: secret,
        })),
      },
    ],
  })
}

/** Returns a value as JSON in Biome's format: an array of strings is on one line if that line fits into 120 columns. */
export function formatJson(value: unknown): string {
  const arrayOfStrings = /^( *)(.*)\[\n\s+("[^"]*"(?:,\n\s+"[^"]*")*)\n\s+\](,?)$/gm
  const text = JSON.stringify(value, null, 2).replace(arrayOfStrings, (whole, indent, before, items, comma) => {
    const line = `${indent}${before}[${items.replace(/\n\s+/g, ' ')}]${comma}`
    return line.length <= 120 ? line : whole
  })
  return `${text}\n`
}

const operations = Object.values(catalogue) as OperationDefinition[]

/** The settings that an AI host asks its user for, with the titles that the host shows. */
const titles: { readonly [K in SettingKey]?: string } = {
  key: 'Key',
  baseUrl: 'Address of the API',
  environment: 'Environment',
  toolsets: 'Tools',
  readOnly: 'Read only',
  confirm: 'When to ask a person to confirm',
  confirmAbove: 'Ask a person to confirm above this many cents',
  cardDetails: 'Card numbers',
}

const manifestSettings = settings.flatMap(({ key, variable, secret, ...setting }) => {
  const title = titles[key]
  if (title === undefined) return []
  const field = variable.replace('PAYMENTS_', '').toLowerCase()
  const isBoolean = setting.placeholder === 'boolean'
  const description = isBoolean ? `${setting.meaning}.` : describe(setting)
  return [{ variable, field, title, isBoolean, description, sensitive: secret }]
})

function describe({ meaning, accepts, shown }: Pick<(typeof settings)[number], 'meaning' | 'accepts' | 'shown'>) {
  return `${meaning}: ${accepts}. Default: ${shown}.`
}

function toolsTable(): string {
  const rows = operations.map(({ name, method, path, description, environments, idempotency, toolsets }) => [
    `\`${name}\``,
    description + (environments.includes('production') ? '' : ' Sandbox only.'),
    `\`${method} ${path}\``,
    idempotency === 'required' ? 'yes' : '',
    toolsets.join(', '),
  ])
  return table(['Tool', 'Description', 'REST', 'Key', 'Toolsets'], rows)
}

function settingsTable(): string {
  const rows = settings.map(({ variable, flag, placeholder, meaning, accepts, shown }) => [
    `\`${variable}\``,
    `\`${flag} <${placeholder}>\``,
    meaning,
    accepts,
    shown,
  ])
  return table(['Variable', 'Flag', 'Meaning', 'Accepts', 'Default'], rows)
}

function scopesTable(): string {
  const rows = Object.entries(oauthScopes).map(([scope, { words, includes }]) => [
    `\`${scope}\``,
    words,
    includes.map((included) => `\`${included}\``).join(', '),
    (defaultOAuthScopes as readonly string[]).includes(scope) ? 'yes' : '',
  ])
  return table(['Scope', 'Text on the consent page', 'Includes', 'Requested by default'], rows)
}

function errorsTable(): string {
  const rows = Object.entries(errorTable).map(([code, { status, detail }]) => [
    String(status),
    `\`${code}\``,
    detail.replace('<', '\\<'),
  ])
  return table(['Status', 'Code', 'Text'], rows)
}

function eventsTable(): string {
  const rows = Object.entries(eventKinds).flatMap(([word, { resource, permission, published, extensions }]) => {
    const rowsOf = (steps: object, isPublished: string) =>
      Object.entries(steps).map(([step, meaning]) => [
        `\`${word}.${step}\``,
        String(meaning),
        resource,
        `\`${permission}\``,
        isPublished,
      ])
    return [...rowsOf(published, 'yes'), ...rowsOf(extensions, '')]
  })
  return table(['Type', 'When', '`resourceType`', 'Permission', 'Published'], rows)
}

function declinesTable(): string {
  const rows = Object.entries(declines).map(([code, detail]) => [`\`${code}\``, detail])
  return table(['`decline.code`', 'Text'], rows)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
