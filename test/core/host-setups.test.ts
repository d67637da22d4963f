import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { hostBlock, hostLink, hostNames, hostSetups } from '../../src/core/host-setups.ts'

const url = 'https://payments.example/mcp'
const start = {
  command: '/path/to/payments-mcp/node_modules/.bin/node',
  args: ['/path/to/payments-mcp/src/cli.ts'],
  env: {},
}

test('the block for a host that starts the server contains the command, its arguments and its environment', () => {
  const env = { A: 'b "c"\\' }
  for (const name of hostNames) {
    const { format, servers } = hostSetups[name]
    const block = hostBlock(name, { start: { ...start, env } }) ?? ''
    if (format === 'toml') continue
    const written = parseYaml(block)[servers]
    const entry = format === 'yaml' ? written[0] : written.payments
    const expected =
      name === 'opencode' ? { command: [start.command, ...start.args], environment: env } : { ...start, env }
    expect(entry, name).toMatchObject(expected)
  }
  expect(hostBlock('codex', { start: { ...start, env: { A: 'b "c"\\' } } })).toBe(
    `[mcp_servers.payments]
command = "${start.command}"
args = ["${start.args[0]}"]
required = true

[mcp_servers.payments.env]
A = "b \\"c\\"\\\\"`,
  )
})

test("the entry for a host that calls the server at a URL contains the URL in the host's own format", () => {
  const entries = Object.fromEntries(hostNames.map((name) => [name, hostSetups[name].entry({ url })]))
  expect(entries).toEqual({
    'claude-code': { type: 'http', url },
    'claude-desktop': null,
    cursor: { url },
    vscode: { type: 'http', url },
    codex: { url },
    gemini: { httpUrl: url },
    copilot: { type: 'http', url, tools: ['*'] },
    opencode: { type: 'remote', url },
    qwen: { httpUrl: url },
    continue: { type: 'streamable-http', url },
  })
})

test('the one-click links of Cursor and VS Code contain the server entry, and Gemini has no such link', () => {
  const [cursor, code] = [hostLink('cursor', { url }) ?? '', hostLink('vscode', { start }) ?? '']
  const setupUrl = new URL(cursor)
  expect(`${setupUrl.protocol}//${setupUrl.host}${setupUrl.pathname} ${setupUrl.searchParams.get('name')}`).toBe(
    'cursor://anysphere.cursor-deeplink/mcp/install payments',
  )
  expect(JSON.parse(Buffer.from(setupUrl.searchParams.get('config') ?? '', 'base64').toString())).toEqual({ url })
  const [scheme, sent = ''] = code.split('?')
  expect(scheme).toBe('vscode:mcp/install')
  const { env: _, ...command } = start
  expect(JSON.parse(decodeURIComponent(sent))).toEqual({ name: 'payments', type: 'stdio', ...command })
  expect(hostLink('gemini', { url })).toBeNull()
})

test('docs/hosts.md contains the configuration block of every host', () => {
  const document = readFileSync(new URL('../../docs/hosts.md', import.meta.url), 'utf8')
  const shown = [...document.matchAll(/^```(json|toml|yaml)\n([\s\S]*?)\n```$/gm)].map(
    ([, language = '', text = '']) => (language === 'json' ? JSON.stringify(JSON.parse(text)) : text),
  )
  for (const name of hostNames) {
    for (const reach of [{ start }, { url }]) {
      const block = hostBlock(name, reach)
      if (block === null) continue
      // Each block must fill a whole code block of the document.
      const expectedBlock = hostSetups[name].format === 'json' ? JSON.stringify(JSON.parse(block)) : block
      expect(shown, `${name}: ${expectedBlock}`).toContain(expectedBlock)
    }
  }
})
