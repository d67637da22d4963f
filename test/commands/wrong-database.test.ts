import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dataDirectory } from '../../src/config/load.ts'
import { isDeep, sampleOf } from '../support/depth.ts'
import { runResource } from '../support/run-resources.ts'

const cli = await runResource('cli')
let folder: string

const request = (id: number, method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id, method, params })
const initializeParams = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'host', version: '1' } }
const listWallets = { name: 'list_wallets', arguments: {} }
/** The lines that a host sends to call a tool. */
const hostInput = `${request(1, 'initialize', initializeParams)}\n${request(2, 'tools/call', listWallets)}\n`

function run(args: string[], database: string) {
  const env = { PATH: process.env.PATH, HOME: folder, PAYMENTS_DATABASE_URL: `sqlite:${join(folder, database)}` }
  const options = { env, encoding: 'utf8', input: args.length === 0 ? hostInput : '', timeout: 60_000 } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], options)
  return { status, stdout, stderr }
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'payments-wrong-'))
  const initRun = run(['init', '--production', '--email', 'Ada@example.com', '--name', 'Ada Goods'], 'production')
  expect(initRun).toMatchObject({ status: 0, stderr: '' })
  expect(initRun.stdout).toMatch(
    /^Ada Goods was created in .*, without money\.\n\n {2}Email {6}ada@example\.com\n {2}Password {3}\S{16}\n/,
  )
  const foreign = new DatabaseSync(join(folder, 'foreign'))
  foreign.exec('create table payments (id integer)')
  foreign.close()
  expect(run(['rotate-keys'], 'too-new').status).toBe(0)
  const newer = new DatabaseSync(join(folder, 'too-new'))
  newer.exec('update schemas set version = 9999')
  newer.close()
  writeFileSync(join(folder, 'report.json'), '')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const commands = [
  ['serve', '--port', '0'],
  [],
  ['console', '--no-open'],
  ['rotate-keys'],
  ['rotate-keys', '--retire'],
  ['reset-second-factor', '--email', 'ada@example.com'],
  ['report', '--run', 'run_1'],
  ['simulate', '--agents', '1'],
  ['simulate', '--agents', '1', '--processes'],
  ['listen'],
  ['whoami'],
]
const databases = [
  ['production', /^payments-mcp: [^\n]+ which is a production database, but the environment is sandbox; [^\n]+\n$/],
  ['foreign', /^payments-mcp: [^\n]+ it has tables of another program; [^\n]+\n$/],
  ['too-new', /^payments-mcp: [^\n]+ it was created by a newer payments-mcp\. Update payments-mcp\.\n$/],
] as const
const cases = commands.flatMap((args) => databases.map(([name, line]) => ({ args, name, line })))

describe('a database that the program must not use', () => {
  test.each(sampleOf(cases, 16))('$args fails on a $name database with a one-line message', ({ args, name, line }) => {
    const { status, stderr } = run(args, name)
    expect(stderr).toMatch(line)
    expect(status).toBe(2)
  })

  test.each(sampleOf(databases, 3))('doctor reports why a %s database cannot be used', (name, line) => {
    const { status, stdout } = run(['doctor', '--port', '0'], name)
    const reason = String(line).match(/(production database|another program|newer payments-mcp)/)?.[0] ?? 'nothing'
    expect(stdout).toMatch(new RegExp(`BAD  Database .*${reason}`))
    expect(status).toBe(1)
  })
})

test('a default sandbox from another pre-release is renamed, and a new sandbox is created', () => {
  const home = join(folder, 'no-configuration')
  const start = () => {
    const env = { PATH: process.env.PATH, HOME: home }
    return spawnSync(process.execPath, [cli], { env, encoding: 'utf8', input: hostInput, timeout: 60_000 })
  }
  expect(start().status).toBe(0)
  const path = dataDirectory({ env: {}, home }).file('sandbox.sqlite')
  const file = new DatabaseSync(path)
  file.exec(`update schemas set digest = 'another'`)
  file.close()
  const { status, stdout, stderr } = start()
  expect(status).toBe(0)
  expect(stdout).toContain('balance.available $2,500.00')
  expect(stderr).toContain(
    'another pre-release of payments-mcp created the sandbox: its file was renamed, and a new sandbox was created',
  )
  expect(stderr).toContain(`${path}-old`)
  const oldDatabase = new DatabaseSync(`${path}-old`, { readOnly: true })
  expect(oldDatabase.prepare('select count(*) as count from wallets').get()?.count).toBeGreaterThan(0)
})

describe('the command init', () => {
  const refused: [string[], string, RegExp][] = [
    [['--email', 'ada@example.com'], 'production', /which already has a party/],
    [[], 'production', /--email is required; it accepts the email address/],
    [['--email', 'nobody'], 'production', /--email got "nobody"; it accepts the email address/],
    [['--email', 'ada@example.com', 'world.yaml'], 'production', /got "world\.yaml"; it accepts no file name/],
    [['--email', 'ada@example.com'], 'foreign', /another program/],
  ]
  test.each(sampleOf(refused, 5))('init --production with %j fails on a %s database', (args, database, line) => {
    const { status, stdout, stderr } = run(['init', '--production', ...args], database)
    expect(stderr).toMatch(line)
    expect(stderr.trimEnd()).not.toContain('\n')
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  })

  test.runIf(isDeep)('init without --production refuses --email', () => {
    const { status, stderr } = run(['init', '--email', 'ada@example.com'], 'production')
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: 'payments-mcp: --email needs --production; without it, init accepts only the name of a world file.\n',
    })
  })
})
