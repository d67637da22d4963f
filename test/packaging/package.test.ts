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
const hosts = read('docs/hosts.md')
const found = configurations(hosts)
const key = 'ak_ntl_sandbox_given-secret-0123456789abcdef'

let installed: InstalledPackage
let served: Served

beforeAll(async () => {
  installed = installPackage()
  // Starts the server like in the document, but on a free port.
  const [, , , ...flags] = commandsOf(hosts, 'npm', 'start', '--')[0] ?? []
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

test('the packed file contains the compiled code, its assets, and nothing else', () => {
  const sources = (folder: string, end: string) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith(end) && !path.includes('assets/') && !path.includes('views/'))
      .map((path) => `${folder}/${path}`)
  const compiled = ['src', 'tools'].flatMap((folder) => sources(folder, '.ts')).map((path) => path.replace(/\.ts$/, ''))
  const readByCode = [
    'src/display/styles',
    'src/service/pages/frame/assets',
    'src/mcp/ui/views',
    'src/rehearse/report/page',
    'src/rehearse/scenarios',
  ].flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
  const documents = readdirSync(root).filter((name) => name.endsWith('.md'))
  // The package has no pictures.
  const filesIn = (folder: string) => readdirSync(join(root, folder)).filter((name) => !name.endsWith('.webp'))
  const atTheTop = [...documents, 'LICENSE', 'manifest.json', 'package.json', 'server.json']
  expect(installed.files.toSorted()).toEqual(
    [
      ...atTheTop,
      ...['docs', 'schemas', 'worlds'].flatMap((folder) => filesIn(folder).map((name) => `${folder}/${name}`)),
      ...filesIn('skills').map((name) => `skills/${name}/SKILL.md`),
      'dist/package.json',
      ...compiled.flatMap((path) => [`dist/${path}.js`, `dist/${path}.d.ts`]),
      ...readByCode.map((path) => `dist/${path}`),
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

test('a plain install contains none of the packages that only rehearse --model needs', () => {
  const names = readdirSync(join(installed.folder, 'node_modules'))
  expect(names).toContain('payments-mcp')
  expect(names.filter((name) => name === 'ai' || name === '@ai-sdk')).toEqual([])
})

describe('docs/hosts.md configures', () => {
  test('every host, over stdio and over HTTP', () => {
    const named = (kind: string) => [
      ...new Set(found.filter(({ start }) => start.kind === kind).map(({ host }) => host)),
    ]
    const inJson = ['Claude Code', 'Cursor', 'VS Code', 'Gemini CLI', 'Copilot CLI', 'opencode']
    expect(named('launch')).toEqual(['Claude Desktop', ...inJson])
    expect(named('remote')).toEqual(inJson)
    expect(hosts).toMatch(/^### ChatGPT/m)
    expect(commandsOf(hosts, 'npx', '-y', '@modelcontextprotocol/inspector')).toHaveLength(3)
  })

  test('the configurations in README.md', () => {
    const commands = configurations(read('README.md')).map(({ start }) => start)
    expect(commands).toHaveLength(1)
    expect(found.map(({ start }) => start)).toEqual(expect.arrayContaining(commands))
  })

  const launches = removeDuplicates(found.flatMap(({ start }) => (start.kind === 'launch' ? [start] : [])))
  test.each(launches)('a program that answers: $command $args $env', async (start) => {
    const { command, args, env } = fillIn(start)
    const transport = new StdioClientTransport({
      command,
      args,
      env: { ...installed.env, ...env },
      cwd: installed.folder,
      stderr: 'ignore',
    })
    const { tools, identity } = await visit(transport)
    const toolsets = env.PAYMENTS_TOOLSETS?.split(',') ?? ['default']
    expect(tools).toEqual(listOffered(toolsets as Toolsets))
    expect(identity).toMatchObject({ actorType: 'agent', credentialKind: 'agent_key' })
  })

  const remotes = removeDuplicates(found.flatMap(({ start }) => (start.kind === 'remote' ? [start] : [])))
  test.each(remotes)('an address that answers: $url $headers', async (start) => {
    const { url, headers } = fillIn(start)
    // Without a key, the host learns where to sign in.
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
    const { tools, identity } = await visit(
      new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }) as Transport,
    )
    expect(tools).toEqual(listOffered(['default']))
    expect(identity).toMatchObject({ actorType: 'agent' })
  })

  const inspections = commandsOf(hosts, 'npx', '-y', '@modelcontextprotocol/inspector')
  test.each(inspections.filter((words) => words.includes('--cli')))('the inspector: %s %s %s %s %s', (...words) => {
    const inspector = join(root, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js')
    const answer = execFileSync(process.execPath, [inspector, ...words.slice(3).map(fillInText)], {
      cwd: installed.folder,
      env: installed.env,
      encoding: 'utf8',
      // The pipe puts the compiler's messages into the error.
      stdio: 'pipe',
    })
    const { tools } = JSON.parse(answer) as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toEqual(listOffered(['default']))
  })
})

type Toolsets = Parameters<typeof toolList>[0]['toolsets']

function listOffered(toolsets: Toolsets): string[] {
  return toolList({ ...everyTool('sandbox'), toolsets, actor: 'agent' }).map(({ name }) => name)
}

async function visit(transport: Transport) {
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

function fillIn<T extends Launch | Remote>(start: T): T {
  return JSON.parse(JSON.stringify(start), (_, value) => (typeof value === 'string' ? fillInText(value) : value)) as T
}

/** Replaces a text's placeholders, like a reader, or like a host that asks for the values. */
function fillInText(text: string): string {
  return text
    .replace(exampleAddress, served.url)
    .replace('/path/to/payments-mcp/', root)
    .replace(/\$?\{(?:(?:env:)?PAYMENTS_KEY|input:payments-key)\}|\$PAYMENTS_KEY/, key)
}
