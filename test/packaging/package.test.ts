import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { commandsOf, configurations, exampleAddress, type Launch, type Remote } from './host-configurations.ts'
import { type InstalledPackage, installPackage, root } from './installed.ts'
import { type Served, serve } from './served.ts'

const read = (name: string) => readFileSync(join(root, name), 'utf8')
const hostsDocument = read('docs/hosts.md')
const configured = configurations(hostsDocument)
const key = 'ak_ntl_sandbox_given-secret-0123456789abcdef'

let installed: InstalledPackage
let served: Served

beforeAll(async () => {
  installed = installPackage()
  // Starts the server with the flags from docs/hosts.md, but on a free port.
  const [, , , ...flags] = commandsOf(hostsDocument, 'npm', 'start', '--')[0] ?? []
  const cli = join(installed.folder, 'node_modules/payments-mcp/dist/src/cli.js')
  served = await serve([cli, 'serve', ...flags], {
    ...installed.env,
    PAYMENTS_PORT: '0',
    PAYMENTS_DATABASE_URL: 'sqlite::memory:',
    PAYMENTS_SANDBOX_AGENT_KEY: key,
  })
})

afterAll(async () => {
  await served?.stop()
  installed?.remove()
})

test('the package contains nothing but its code, assets, documents, schemas, worlds, skills and metadata', () => {
  const sources = (folder: string, end: string) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith(end) && !path.includes('assets/') && !path.includes('views/'))
      .map((path) => `${folder}/${path}`)
  const compiled = ['src', 'tools'].flatMap((folder) => sources(folder, '.ts')).map((path) => path.replace(/\.ts$/, ''))
  const assets = [
    'src/display/styles',
    'src/service/pages/frame/assets',
    'src/mcp/ui/views',
    'src/rehearse/report/page',
    'src/rehearse/scenarios',
  ].flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
  const documents = readdirSync(root).filter((name) => name.endsWith('.md'))
  // The package does not contain the pictures of the documents.
  const filesIn = (folder: string) => readdirSync(join(root, folder)).filter((name) => !name.endsWith('.webp'))
  const topLevelFiles = [...documents, 'LICENSE', 'manifest.json', 'package.json', 'server.json']
  expect(installed.files.toSorted()).toEqual(
    [
      ...topLevelFiles,
      ...['docs', 'schemas', 'worlds'].flatMap((folder) => filesIn(folder).map((name) => `${folder}/${name}`)),
      ...filesIn('skills').map((name) => `skills/${name}/SKILL.md`),
      'dist/package.json',
      ...compiled.flatMap((path) => [`dist/${path}.js`, `dist/${path}.d.ts`]),
      ...assets.map((path) => `dist/${path}`),
    ].toSorted(),
  )
})

test('the package’s exports can be imported', () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: object }
  const names = Object.keys(exports).filter((name) => !name.endsWith('.json'))
  const program = `for (const name of ${JSON.stringify(names)}) console.log(Object.keys(await import('payments-mcp' + name.slice(1))).length > 0)`
  const options = { cwd: installed.folder, env: installed.env, encoding: 'utf8' } as const
  const answers = execFileSync(process.execPath, ['--input-type=module', '-e', program], options)
  expect(answers).toBe(names.map(() => 'true\n').join(''))
})

test('a plain install does not contain the AI SDK, which only rehearse --model needs', () => {
  const names = readdirSync(join(installed.folder, 'node_modules'))
  expect(names).toContain('payments-mcp')
  expect(names.filter((name) => name === 'ai' || name === '@ai-sdk')).toEqual([])
})

describe('the instructions in docs/hosts.md', () => {
  test('docs/hosts.md configures seven hosts over stdio and six over HTTP, and also covers ChatGPT and the Inspector', () => {
    const hostsWith = (kind: string) => [
      ...new Set(configured.filter(({ server }) => server.kind === kind).map(({ host }) => host)),
    ]
    const hostsWithBoth = ['Claude Code', 'Cursor', 'VS Code', 'Gemini CLI', 'Copilot CLI', 'opencode']
    expect(hostsWith('launch')).toEqual(['Claude Desktop', ...hostsWithBoth])
    expect(hostsWith('remote')).toEqual(hostsWithBoth)
    expect(hostsDocument).toMatch(/^### ChatGPT/m)
    expect(commandsOf(hostsDocument, 'npx', '-y', '@modelcontextprotocol/inspector')).toHaveLength(3)
  })

  test('the only configuration in README.md is also in docs/hosts.md', () => {
    const servers = configurations(read('README.md')).map(({ server }) => server)
    expect(servers).toHaveLength(1)
    expect(configured.map(({ server }) => server)).toEqual(expect.arrayContaining(servers))
  })

  const launches = removeDuplicates(configured.flatMap(({ server }) => (server.kind === 'launch' ? [server] : [])))
  test.each(launches)('the configured command starts a working MCP server: $command $args $env', async (server) => {
    const { command, args, env } = fillIn(server)
    const transport = new StdioClientTransport({
      command,
      args,
      env: { ...installed.env, ...env },
      cwd: installed.folder,
      stderr: 'ignore',
    })
    const { tools, identity } = await readToolsAndIdentity(transport)
    const toolsets = env.PAYMENTS_TOOLSETS?.split(',') ?? ['default']
    expect(tools).toEqual(toolNames(toolsets as Toolsets))
    expect(identity).toMatchObject({ actorType: 'agent', credentialKind: 'agent_key' })
  })

  const remotes = removeDuplicates(configured.flatMap(({ server }) => (server.kind === 'remote' ? [server] : [])))
  test.each(remotes)('the configured URL reaches a working MCP server: $url $headers', async (server) => {
    const { url, headers } = fillIn(server)
    // If the configuration has no key, the server's 401 response tells the host where to sign in.
    if (headers.Authorization === undefined) {
      const answer = await fetch(url, { method: 'POST' })
      expect(answer.status).toBe(401)
      const metadata = /resource_metadata="([^"]+)"/.exec(answer.headers.get('WWW-Authenticate') ?? '')?.[1]
      const resource = await (await fetch(served.at(metadata ?? ''))).json()
      expect(resource).toMatchObject({
        resource: expect.stringMatching(/\/mcp$/),
        authorization_servers: [expect.any(String)],
      })
      headers.Authorization = `Bearer ${key}`
    }
    const { tools, identity } = await readToolsAndIdentity(
      new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }) as Transport,
    )
    expect(tools).toEqual(toolNames(['default']))
    expect(identity).toMatchObject({ actorType: 'agent' })
  })

  const inspections = commandsOf(hostsDocument, 'npx', '-y', '@modelcontextprotocol/inspector', '--cli')
  test.each(inspections)('the Inspector command lists the default tools: %s %s %s %s %s', (...words) => {
    const inspector = join(root, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js')
    const answer = execFileSync(process.execPath, [inspector, ...words.slice(3).map(fillInText)], {
      cwd: installed.folder,
      env: installed.env,
      encoding: 'utf8',
      // Captures the command's stderr, which is then printed only if the command fails.
      stdio: 'pipe',
    })
    const { tools } = JSON.parse(answer) as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toEqual(toolNames(['default']))
  })
})

type Toolsets = Parameters<typeof toolList>[0]['toolsets']

function toolNames(toolsets: Toolsets): string[] {
  return toolList({ ...everyTool('sandbox'), toolsets, actor: 'agent' }).map(({ name }) => name)
}

async function readToolsAndIdentity(transport: Transport) {
  const host = new Client({ name: 'test', version: '1' })
  try {
    await host.connect(transport)
    const { tools } = await host.listTools()
    const { structuredContent } = await host.callTool({ name: 'whoami', arguments: {} })
    const { data } = structuredContent as { data: { attributes: object } }
    return { tools: tools.map(({ name }) => name), identity: data.attributes }
  } finally {
    await host.close()
  }
}

function removeDuplicates<T>(values: T[]): T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()]
}

function fillIn<T extends Launch | Remote>(server: T): T {
  return JSON.parse(JSON.stringify(server), (_, value) => (typeof value === 'string' ? fillInText(value) : value)) as T
}

/** Replaces the placeholders in a string, as the user or the host would. */
function fillInText(text: string): string {
  return text
    .replace(exampleAddress, served.url)
    .replace('/path/to/payments-mcp/', root)
    .replace(/\$?\{(?:(?:env:)?PAYMENTS_KEY|input:payments-key)\}|\$PAYMENTS_KEY/, key)
}
