import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './installed.ts'

/**
 * The package is not on npm, so anyone could register its name there. No text may tell people to fetch the package
 * from npm by name. Delete this file once the package is published.
 */

const name = 'payments-mcp'
/** The package's name, but not at the end of a path, and not in the file name that `npm pack` creates. */
const alone = `(?<![\\w/@.-])${name}(?![\\w/-]|\\.tgz)`
const fetches = [
  ['a command', `\\b(?:npx|bunx|(?:npm|pnpm|yarn|bun) (?:i|install|add|exec|dlx|x|create))\\b[^\\n&;|]*?${alone}`],
  ['what a host starts', `"(?:npx|bunx|pnpm|yarn)"[^}]*"${alone}[@"]`],
  ['a dependency', `"${name}": *"(?!file:|dist/)`],
  ['a package of a registry', `"registryType": *"npm",\\s*"identifier": *"${name}"`],
] as const

function mentions(text: string): string[] {
  return fetches.flatMap(([what, pattern]) => (new RegExp(pattern).test(text) ? [what] : []))
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
 * The only allowed mention. The entry names the package's future place for the registry of MCP servers, and is sent
 * there only when the package is published.
 */
const expected = { 'server.json': ['a package of a registry'] }

test('no text recommends fetching the package by a name that nobody owns', () => {
  expect(files.length).toBeGreaterThan(500)
  const found = files.map((path) => [path, mentions(readFileSync(join(root, path), 'utf8'))] as const)
  expect(Object.fromEntries(found.filter(([, what]) => what.length > 0))).toEqual(expected)
})

test.each([
  ['npx payments-mcp rehearse', 'a command'],
  ['npx -y payments-mcp@latest', 'a command'],
  ['run `npm install -D vitest payments-mcp`', 'a command'],
  ['- run: pnpm dlx payments-mcp listen', 'a command'],
  ['{ "command": "npx", "args": ["-y", "payments-mcp"] }', 'what a host starts'],
  ['"devDependencies": { "payments-mcp": "^0.1.0" }', 'a dependency'],
])('%s would be found', (text, what) => {
  expect(mentions(text)).toContain(what)
})

test.each([
  'npm install /path/to/payments-mcp-0.1.0.tgz',
  'npm install ../.. && payments-mcp serve',
  '"payments-mcp": "file:../.."',
  'npx -y @modelcontextprotocol/inspector /path/to/payments-mcp/node_modules/.bin/node',
  'node_modules/.bin/payments-mcp rehearse',
])('%s is allowed', (text) => {
  expect(mentions(text)).toEqual([])
})
