import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './installed.ts'

/**
 * The package is not on npm, so a stranger could publish other code there under its name. Therefore, no file may tell
 * people to fetch the package from npm by name. Delete this test once the package is published.
 */

const name = 'payments-mcp'
/** Matches the package's name, except in a path or in the name of the file that `npm pack` creates. */
const bareName = `(?<![\\w/@.-])${name}(?![\\w/-]|\\.tgz)`
const patterns = [
  ['a command', `\\b(?:npx|bunx|(?:npm|pnpm|yarn|bun) (?:i|install|add|exec|dlx|x|create))\\b[^\\n&;|]*?${bareName}`],
  ['a host configuration', `"(?:npx|bunx|pnpm|yarn)"[^}]*"${bareName}[@"]`],
  ['a dependency', `"${name}": *"(?!file:|dist/)`],
  ['an entry for a registry', `"registryType": *"npm",\\s*"identifier": *"${name}"`],
] as const

function kindsOfMentions(text: string): string[] {
  return patterns.flatMap(([kind, pattern]) => (new RegExp(pattern).test(text) ? [kind] : []))
}

const folders = ['docs', 'examples', 'src', 'scripts', 'tools', 'worlds', 'bench']
const isText = (path: string) => /\.(md|ts|js|mjs|cjs|py|json|ya?ml|html|sh)$/.test(path)
const files = [
  ...readdirSync(root).filter(isText),
  ...folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => isText(path) && !path.includes('node_modules'))
      .map((path) => `${folder}/${path}`),
  ),
]

/**
 * The only file that may refer to the package on npm. It is the entry for the MCP registry, and will be submitted there
 * only after the package is published.
 */
const expected = { 'server.json': ['an entry for a registry'] }

test('no file tells people to fetch the package from npm by name', () => {
  expect(files.length).toBeGreaterThan(500)
  const found = files.map((path) => [path, kindsOfMentions(readFileSync(join(root, path), 'utf8'))] as const)
  expect(Object.fromEntries(found.filter(([, kinds]) => kinds.length > 0))).toEqual(expected)
})

test.each([
  ['npx payments-mcp rehearse', 'a command'],
  ['npx -y payments-mcp@latest', 'a command'],
  ['run `npm install -D vitest payments-mcp`', 'a command'],
  ['- run: pnpm dlx payments-mcp listen', 'a command'],
  ['{ "command": "npx", "args": ["-y", "payments-mcp"] }', 'a host configuration'],
  ['"devDependencies": { "payments-mcp": "^0.1.0" }', 'a dependency'],
])('%s is recognized as %s', (text, kind) => {
  expect(kindsOfMentions(text)).toContain(kind)
})

test.each([
  'npm install /path/to/payments-mcp-0.1.0.tgz',
  'npm install ../.. && payments-mcp serve',
  '"payments-mcp": "file:../.."',
  'npx -y @modelcontextprotocol/inspector /path/to/payments-mcp/node_modules/.bin/node',
  'node_modules/.bin/payments-mcp rehearse',
])('%s is allowed, because it does not fetch the package from npm', (text) => {
  expect(kindsOfMentions(text)).toEqual([])
})
