import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, sep } from 'node:path'
import { getMcpConfigForManifest, type McpbManifestAny, unpackExtension } from '@anthropic-ai/mcpb'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundle, packBundle } from '../../scripts/bundle.ts'
import type { Config } from '../../src/config/settings.ts'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { root } from './installed.ts'
import { serve } from './served.ts'

// The folder is outside the repository, so the bundle cannot import the packages that are installed in the repository.
const directory = mkdtempSync(join(tmpdir(), 'payments-mcp-bundle-'))
const unpacked = join(directory, 'unpacked')
const env = { XDG_DATA_HOME: directory, PAYMENTS_DATABASE_URL: 'sqlite::memory:', NODE_NO_WARNINGS: '1' }

let manifest: McpbManifestAny

beforeAll(async () => {
  const [folder, file] = [join(directory, 'folder'), join(directory, 'payments-mcp.mcpb')]
  await bundle({ entry: join(root, 'src/cli.ts'), folder })
  await packBundle({ folder, file })
  expect(await unpackExtension({ mcpbPath: file, outputDir: unpacked, silent: true })).toBe(true)
  manifest = JSON.parse(readFileSync(join(unpacked, 'manifest.json'), 'utf8'))
})

afterAll(() => rmSync(directory, { recursive: true }))

test('the bundle contains exactly the expected files', () => {
  const contents = (path: string) => readdirSync(join(unpacked, path)).sort()
  expect(contents('.')).toEqual(['LICENSE', 'icon.png', 'manifest.json', 'package.json', 'server', 'skills'])
  expect(contents('skills')).toEqual(readdirSync(join(root, 'skills')).sort())
  const others = contents('server').filter((name) => !/\.js(\.LEGAL\.txt)?$/.test(name))
  expect(others).toEqual(['assets', 'page', 'scenarios', 'styles', 'views'])
  expect(contents('server/assets')).toEqual(readdirSync(join(root, 'src/service/pages/frame/assets')).sort())
  expect(contents('server/scenarios')).toEqual(readdirSync(join(root, 'src/rehearse/scenarios')).sort())
  expect(contents('server/views')).toEqual(readdirSync(join(root, 'src/mcp/ui/views')).sort())
  expect(contents('server/styles')).toEqual(readdirSync(join(root, 'src/display/styles')).sort())
})

test('the manifest lists the tools that the default settings offer, and has an icon', async () => {
  expect(manifest.tools?.map(({ name }) => name)).toEqual(listOffered(['default']))
  expect(manifest.tools_generated).toBe(true)
  const icon = readFileSync(join(unpacked, manifest.icon ?? ''))
  // A PNG file (ISO 15948) begins with a signature; the width and height are at bytes 16 and 20.
  expect(icon.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n')
  expect([icon.readUInt32BE(16), icon.readUInt32BE(20)]).toEqual([512, 512])
})

test('packing a folder that does not exist fails with an error', async () => {
  const folder = join(directory, 'invalid')
  await expect(packBundle({ folder, file: join(directory, 'invalid.mcpb') })).rejects.toThrow('could not be packed')
})

test('the bundle starts without installed packages and without user settings', async () => {
  await startBundle({}, async (host) => {
    const { tools } = await host.listTools()
    expect(tools.map(({ name }) => name)).toEqual(listOffered(['default']))
    const { structuredContent } = await host.callTool({ name: 'whoami', arguments: {} })
    expect(structuredContent).toMatchObject({
      data: { attributes: { actorType: 'agent', credentialKind: 'agent_key' } },
    })
  })
})

test('the bundle uses the settings that the user entered in the host', async () => {
  await startBundle({ toolsets: 'payments', read_only: true, confirm_above: '5' }, async (host) => {
    const { tools } = await host.listTools()
    expect(tools.map(({ name }) => name)).toEqual(listOffered(['payments'], true))
  })
})

test('the server loads less than a third of its code at startup', () => {
  const size = (names: Iterable<string>) =>
    [...names].reduce((sum, name) => sum + readFileSync(join(unpacked, 'server', name)).length, 0)
  const scripts = readdirSync(join(unpacked, 'server')).filter((name) => name.endsWith('.js'))
  const startFiles = listLoadedFiles(['cli.js', ...scripts.filter((name) => /^(stdio|young-heap)-/.test(name))])
  expect(size(startFiles)).toBeLessThan(size(scripts) / 3)
})

test('the bundle can serve the API with its pages, sign-in and views, and can also be a client of a deployed API', async () => {
  const key = 'ak_ntl_sandbox_given-secret-0123456789abcdef'
  const server = await serve([join(unpacked, 'server/cli.js'), 'serve'], {
    ...env,
    PAYMENTS_PORT: '0',
    PAYMENTS_SANDBOX_AGENT_KEY: key,
  })
  try {
    const style = await fetch(`${server.url}/styles/base.css`)
    expect(style.headers.get('Content-Type')).toMatch(/^text\/css/)
    const reference = await fetch(`${server.url}/docs/createPayment`)
    expect(await reference.text()).toContain('POST /payments')
    const metadata = await fetch(`${server.url}/.well-known/oauth-authorization-server`)
    expect(await metadata.json()).toMatchObject({ code_challenge_methods_supported: ['S256'] })
    const host = new Client({ name: 'test', version: '1' })
    const requestInit = { headers: { Authorization: `Bearer ${key}` } }
    await host.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }) as Transport)
    const { contents } = await host.readResource({ uri: 'ui://payments/card-purchase' })
    expect(contents).toMatchObject([{ text: expect.stringMatching(/^<!doctype html>/) }])
    await host.close()
    const remote = new Client({ name: 'test', version: '1' })
    const args = [join(unpacked, 'server/cli.js')]
    const remoteEnv = { XDG_DATA_HOME: directory, PAYMENTS_BASE_URL: server.url, PAYMENTS_KEY: key }
    await remote.connect(new StdioClientTransport({ command: process.execPath, args, env: remoteEnv }))
    const { structuredContent } = await remote.callTool({ name: 'whoami', arguments: {} })
    expect(structuredContent).toMatchObject({ data: { attributes: { actorType: 'agent' } } })
    await remote.close()
  } finally {
    await server.stop()
  }
})

test('the bundle can rehearse an agent, because it contains the scenarios', () => {
  const report = join(directory, 'rehearsal')
  const args = ['rehearse', '--agent', 'careful', '--scenarios', 'card-set-aside', '--report', report]
  const options = { encoding: 'utf8', env: { ...process.env, ...env } } as const
  const table = execFileSync(process.execPath, [join(unpacked, 'server/cli.js'), ...args], options)
  expect(table).toMatch(/^passed +2 of 2 /m)
  expect(readdirSync(report).sort()).toEqual(['junit.xml', 'report.html', 'results.json', 'summary.md', 'traces.json'])
})

/**
 * Starts the unpacked bundle as a host does, with the arguments and settings from the manifest. Calls `work` with a
 * connected client, and then ends the bundle's process.
 */
async function startBundle(userConfig: Record<string, string | boolean>, work: (host: Client) => Promise<void>) {
  const config = await getMcpConfigForManifest({
    manifest,
    extensionPath: unpacked,
    systemDirs: {},
    userConfig,
    pathSeparator: sep,
  })
  expect(config?.command).toBe('node')
  const host = new Client({ name: 'test', version: '1' })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: config?.args ?? [],
    env: { ...config?.env, ...env },
    cwd: unpacked,
  })
  try {
    await host.connect(transport)
    await work(host)
  } finally {
    await host.close()
  }
}

function listOffered(toolsets: Config['toolsets'], readOnly = false): string[] {
  return toolList({ ...everyTool('sandbox'), toolsets, actor: 'agent', readOnly }).map(({ name }) => name)
}

/** Returns the given server files, and all files that they import statically, directly or indirectly. */
function listLoadedFiles(names: readonly string[]): Set<string> {
  const loaded = new Set<string>()
  const pending = [...names]
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (loaded.has(name)) continue
    loaded.add(name)
    const source = readFileSync(join(unpacked, 'server', name), 'utf8')
    pending.push(...[...source.matchAll(/\b(?:from|import)"\.\/([^"]+)"/g)].map(([, file = '']) => file))
  }
  return loaded
}
