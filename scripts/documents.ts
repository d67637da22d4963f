import { type SettingKey, settings } from '../src/config.ts'
import type { OperationDefinition } from '../src/operation.ts'
import { catalogue } from '../tools/index.ts'

/** The part of package.json that other documents repeat. */
export interface PackageFacts {
  name: string
  version: string
  description: string
  license: string
  engines: { node: string }
  keywords: string[]
}

/** README.md with its tables written anew between `<!-- name:start -->` and `<!-- name:end -->`. */
export function readme(text: string): string {
  const tables = { tools: toolsTable(), settings: settingsTable() }
  return Object.entries(tables).reduce((whole, [name, table]) => {
    const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`]
    const [from, to] = [whole.indexOf(start), whole.indexOf(end)]
    if (from < 0 || to < from) throw new Error(`README.md has no ${start} … ${end}`)
    return `${whole.slice(0, from + start.length)}\n\n${table}\n\n${whole.slice(to)}`
  }, text)
}

/** manifest.json of the bundle: MCPB manifest 0.3. */
export function manifest(facts: PackageFacts): string {
  const { name, version, description, license, engines, keywords } = facts
  return formatJson({
    manifest_version: '0.3',
    name,
    display_name: 'Payments',
    version,
    description,
    author: { name: 'payments-mcp authors' },
    license,
    keywords,
    server: {
      type: 'node',
      entry_point: 'server/cli.js',
      mcp_config: {
        command: 'node',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the host fills it in
        args: ['${__dirname}/server/cli.js'],
        env: Object.fromEntries(asked.map(({ variable, field }) => [variable, `\${user_config.${field}}`])),
      },
    },
    user_config: Object.fromEntries(
      asked.map(({ field, title, description, sensitive }) => [
        field,
        // An empty text counts as unset (src/config.ts).
        { type: 'string', title, description, ...(sensitive ? { sensitive } : {}), required: false, default: '' },
      ]),
    ),
    tools: operations.map(({ name, description }) => ({ name, description })),
    compatibility: { platforms: ['darwin', 'win32', 'linux'], runtimes: { node: engines.node } },
  })
}

/** JSON as Biome formats it: arrays of texts on one line where they fit in 120 columns. */
export function formatJson(value: unknown): string {
  const arrayOfTexts = /^( *)(.*)\[\n\s+("[^"]*"(?:,\n\s+"[^"]*")*)\n\s+\](,?)$/gm
  const text = JSON.stringify(value, null, 2).replace(arrayOfTexts, (whole, indent, before, items, comma) => {
    const line = `${indent}${before}[${items.replace(/\n\s+/g, ' ')}]${comma}`
    return line.length <= 120 ? line : whole
  })
  return `${text}\n`
}

const operations = Object.values(catalogue) as OperationDefinition[]

/** The settings that an AI host asks its user for. */
const titles: { readonly [K in SettingKey]?: string } = {
  key: 'Key',
  baseUrl: 'Address of the API',
  environment: 'Environment',
}

const asked = settings.flatMap(({ key, variable, meaning, accepts, shown, secret }) => {
  const title = titles[key]
  if (title === undefined) return []
  const field = variable.replace('PAYMENTS_', '').toLowerCase()
  return [{ variable, field, title, description: `${meaning}: ${accepts}. Empty: ${shown}.`, sensitive: secret }]
})

function toolsTable(): string {
  const rows = operations.map(({ name, method, path, description, environments }) => [
    `\`${name}\``,
    description + (environments.includes('production') ? '' : ' Sandbox only.'),
    `\`${method} ${path}\``,
  ])
  return table(['Tool', 'What it does', 'REST'], rows)
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

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
