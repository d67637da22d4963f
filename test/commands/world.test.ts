import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { worldTemplate } from '../../src/worlds/template.ts'
import { sampleOf } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'

const cli = await runResource('cli')
const agentSecret = 'agent-secret-of-a-world-01'
const apiSecret = 'api-secret-of-a-world-0001'

let folder: string
const running: ChildProcess[] = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'payments-world-'))
})
afterEach(async () => {
  for (const child of running.splice(0)) await end(child)
  rmSync(folder, { recursive: true, force: true })
})

const environment = () => ({ PATH: process.env.PATH ?? '', HOME: folder })

/** Runs a command until it ends. Stdin is empty, so a stdio MCP server ends as if its host had disconnected. */
function run(args: string[], env: Record<string, string> = {}) {
  const options = { env: { ...environment(), ...env }, cwd: folder, encoding: 'utf8', input: '' } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], options)
  return { status, stdout, stderr }
}

interface Ready {
  url: string
  mcpUrl: string
  keys: { api: string | null; agent: string | null }
}

/** Starts `serve` and resolves when it is ready. `stdout()` returns everything that `serve` has printed so far. */
async function startServe(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [cli, 'serve', '--port', '0', '--json', ...args], {
    env: { ...environment(), PAYMENTS_LOG_LEVEL: 'silent', ...env },
    cwd: folder,
  })
  running.push(child)
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  while (!text.includes('\n')) await Promise.race([once(child.stdout, 'data'), once(child, 'exit').then(failStart)])
  const ready = JSON.parse(text) as Ready
  return { ...ready, child, stdout: () => text }
}

function failStart(): never {
  throw new Error('serve ended before it was ready')
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

async function whoami(url: string, key: string | null) {
  const answer = await fetch(`${url}/whoami`, { headers: { Authorization: `Bearer ${key}` } })
  const { data } = (await answer.json()) as { data?: { attributes: Record<string, unknown> } }
  return data?.attributes
}

const smallWorld = `
name: Small
parties:
  acme:
    wallets: { main: { balance: 12345 } }
    agents: { shopper: { keys: { main: { secret: ${agentSecret} } } } }
    apiKeys: { main: { secret: ${apiSecret} } }
`

function write(name: string, text: string): string {
  writeFileSync(join(folder, name), text)
  return name
}

describe('the output of serve --json', () => {
  test('serve --json prints only one line, with a working address and working keys', async () => {
    const { url, mcpUrl, keys, child, stdout } = await startServe(['--database-url', 'sqlite::memory:'])
    expect(mcpUrl).toBe(`${url}/mcp`)
    expect(await whoami(url, keys.api)).toMatchObject({ actorType: 'party' })
    expect(await whoami(url, keys.agent)).toMatchObject({ actorType: 'agent' })
    expect((await fetch(mcpUrl, { method: 'POST' })).status).toBe(401)
    await end(child)
    expect(stdout()).toBe(`${JSON.stringify({ url, mcpUrl, keys })}\n`)
  })

  test('serve --json prints the keys of a world on every start, and null for a key that was replaced', async () => {
    const file = write('w.yaml', smallWorld)
    const first = await startServe(['--world', file])
    expect(first.keys).toEqual({ api: `sk_ntl_sandbox_${apiSecret}`, agent: `ak_ntl_sandbox_${agentSecret}` })
    const headers = { Authorization: `Bearer ${first.keys.api}` }
    const { data } = (await (await fetch(`${first.url}/wallets`, { headers })).json()) as { data: object[] }
    expect(data).toMatchObject([{ attributes: { balance: { available: 12_345 } } }])
    await end(first.child)
    // A secret in the environment replaces the secret in the file.
    const secret = 'another-secret-0123456789ab'
    const second = await startServe(['--world', file], { PAYMENTS_SANDBOX_AGENT_KEY: secret })
    expect(second.keys).toEqual({ api: first.keys.api, agent: `ak_ntl_sandbox_${secret}` })
    expect(await whoami(second.url, second.keys.agent)).toMatchObject({ actorType: 'agent' })
    expect(await whoami(second.url, first.keys.agent)).toBeUndefined()
    await end(second.child)
    expect((await startServe(['--world', file])).keys).toEqual({ api: first.keys.api, agent: null })
  })
})

describe('problems with a world file', () => {
  const text = 'parties:\n  acme:\n        walets: { main: { balance: 1250 } }\n        type: Org\n'

  test.each(sampleOf([[['serve']], [[]], [['setup', 'cursor', '--yes']], [['whoami']], [['simulate']]], 2))(
    'with the arguments %j, the command stops with a line for each mistake in the world file',
    (command) => {
      const { status, stdout, stderr } = run([...command, '--world', write('bad.yaml', text)])
      expect({ status, stdout, stderr: stderr.trimEnd().split('\n') }).toEqual({
        status: 2,
        stdout: '',
        stderr: [
          'payments-mcp: PAYMENTS_WORLD (--world) got "bad.yaml", which cannot be used:',
          'bad.yaml:3:9 parties.acme.walets is not a known field; did you mean wallets?',
          'bad.yaml:4:9 parties.acme.type got "Org"; it accepts one of "ORG", "PERSON". Did you mean ORG?',
        ],
      })
    },
  )

  test('doctor reports each mistake in a world file', () => {
    const { status, stdout } = run(['doctor', '--world', write('bad.yaml', text)])
    expect(status).toBe(1)
    expect(stdout).toMatch(/^BAD {2}World {11}bad\.yaml:3:9 parties\.acme\.walets is not a known field; did you/m)
    expect(stdout).toMatch(/^BAD {2}World {11}bad\.yaml:4:9 parties\.acme\.type got "Org"/m)
    expect(stdout).toContain('Problems to fix: 2.')
  })

  test('doctor reports that the sandbox clock is behind if the world file sets it to the past', () => {
    const on = [
      '--world',
      write('past.yaml', `${smallWorld}clock: 2026-01-31T09:00:00Z\n`),
      '--database-url',
      'sqlite:past.db',
    ]
    expect(run(['whoami', ...on]).status).toBe(0)
    expect(run(['doctor', ...on]).stdout).toMatch(
      /^note Sandbox clock +is \d+ days behind the real clock: it shows 2026/m,
    )
  })

  test('a world file that cannot be read is reported in one line', () => {
    writeFileSync(join(folder, 'latin.yaml'), Buffer.from([0x61, 0x3a, 0xff]))
    writeFileSync(join(folder, 'large.yaml'), '#'.repeat(1_048_577))
    for (const [file, reason] of [
      ['none.yaml', 'does not exist; payments-mcp init FILE writes one'],
      ['.', 'is a folder'],
      ['latin.yaml', 'is not valid UTF-8'],
      ['large.yaml', 'is larger than 1 MiB'],
    ] as const) {
      const { status, stderr } = run(['serve', '--world', file])
      expect({ status, stderr }).toEqual({
        status: 2,
        stderr: `payments-mcp: PAYMENTS_WORLD (--world) got "${file}", which ${reason}.\n`,
      })
    }
  })

  test('an impossible entry in a world file is reported with its line number', () => {
    const file = write(
      'poor.yaml',
      `${smallWorld}    payments: [{ to: ann, amount: 99999, status: FAILED, at: -1d }]\n  ann:\n    wallets: { main: { status: closed, balance: 1 } }\n`,
    )
    const { status, stderr } = run(['serve', '--world', file])
    expect(status).toBe(2)
    expect(stderr).toMatch(
      /^payments-mcp: PAYMENTS_WORLD \(--world\) got "poor\.yaml", which cannot be used:\npoor\.yaml:\d+:\d+ parties\.\S+ (?!.*The world is not possible)[^\n]*[^.]\.\n$/,
    )
  })
})

describe('the world in a database', () => {
  test('a database with another world prevents the start, and each suggested remedy works', async () => {
    const [one, other] = [write('one.yaml', smallWorld), write('other.yaml', smallWorld.replace('Small', 'Other'))]
    const database = join(folder, 'sandbox.sqlite')
    const on = ['--database-url', `sqlite:${database}`]
    const { child } = await startServe([...on, '--world', one])
    await end(child)
    const refused = run(['serve', ...on, '--world', other])
    expect({ status: refused.status, stdout: refused.stdout }).toEqual({ status: 2, stdout: '' })
    expect(refused.stderr).toMatch(
      /^payments-mcp: PAYMENTS_WORLD \(--world\) got "other\.yaml", which is Other \(\w+\), but the database has Small \(\w+\)\. Start with the world in the database, or with another database: PAYMENTS_DATABASE_URL \(--database-url\), or delete \S+sandbox\.sqlite and all its data while no process uses it\.\n$/,
    )
    expect(run([...on, '--world', other])).toMatchObject({ status: 2, stdout: '' })
    expect(run(['serve', ...on]).stderr).toContain('which means the world of the package, but the database has Small')
    expect(run(['doctor', ...on, '--world', other]).stdout).toMatch(
      /^BAD {2}World {11}the database has Small \(\w+\), /m,
    )

    expect(run(['whoami', ...on, '--world', one]).stdout).toMatch(/^Acts as {4}an agent$/m)
    expect(run(['doctor', ...on, '--world', one]).stdout).toMatch(/the database was filled from .*one\.yaml$/m)
    expect(run(['whoami', '--database-url', `sqlite:${join(folder, 'new.sqlite')}`, '--world', other]).status).toBe(0)
    rmSync(database)
    expect(run(['whoami', ...on, '--world', other]).status).toBe(0)
  })

  test('the keys in a world file are accepted, even by the process that fills the database from it', () => {
    const file = write('w.yaml', smallWorld)
    const { status, stdout } = run(['whoami', '--world', file], { PAYMENTS_KEY: `sk_ntl_sandbox_${apiSecret}` })
    expect(status).toBe(0)
    expect(stdout).toMatch(/^Acts as {4}the party$/m)
  })
})

test("setup writes the full path of the world file into the host's configuration", () => {
  const file = write('my world.yaml', smallWorld)
  const { status } = run(['setup', 'cursor', '--yes', '--world', file])
  expect(status).toBe(0)
  const { payments } = JSON.parse(readFileSync(join(folder, '.cursor/mcp.json'), 'utf8')).mcpServers
  expect(payments.env).toMatchObject({ PAYMENTS_WORLD: expect.stringMatching(/^\/.*\/my world\.yaml$/) })
})

describe('new world files', () => {
  test('init writes a world file that serve accepts, and never overwrites a file', async () => {
    const { status, stdout } = run(['init'])
    expect(status).toBe(0)
    expect(stdout).toContain('--world world.yaml')
    const text = readFileSync(join(folder, 'world.yaml'), 'utf8')
    const [line = '', schema = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? []
    expect(JSON.parse(readFileSync(join(folder, schema), 'utf8')).title).toBe('A world file of payments-mcp')
    expect(text).toBe(line + worldTemplate('world.yaml'))
    const { url, keys } = await startServe(['--world', 'world.yaml', '--database-url', 'sqlite::memory:'])
    expect(await whoami(url, keys.agent)).toMatchObject({ actorType: 'agent' })
    writeFileSync(join(folder, 'world.yaml'), smallWorld)
    expect(run(['init'])).toEqual({
      status: 2,
      stdout: '',
      stderr:
        'payments-mcp: init got "world.yaml", which already exists and was not changed; it accepts the name of a new file.\n',
    })
    expect(readFileSync(join(folder, 'world.yaml'), 'utf8')).toBe(smallWorld)
    expect(run(['init', 'other.yaml']).status).toBe(0)
  })

  test('`init -` prints the world file to stdout, and init reports a path that it cannot write', () => {
    expect(run(['init', '-'])).toEqual({ status: 0, stdout: expect.stringContaining(worldTemplate('-')), stderr: '' })
    expect(run(['init', 'no/such/folder.yaml'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('(ENOENT)'),
    })
    expect(run(['init', '--help']).stdout).toContain('payments-mcp init test/world.yaml')
  })
})
