import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { inspectDatabase } from '../../src/service/store/engine/inspection.ts'
import { onEachDatabase } from '../support/databases.ts'
import { runResource } from '../support/run-resources.ts'
import { addParty, createWorld } from '../support/world.ts'

const cli = await runResource('cli')
const agentKey = 'ak_ntl_sandbox_agent-secret-0123456789abcd'
const apiKey = 'sk_ntl_sandbox_api-secret-0123456789abcd'

let folder: string
let home: string
let serve: ChildProcess
let url: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'payments-doctor-'))
  const env = { ...base('served'), PAYMENTS_PORT: '0', PAYMENTS_LOG_LEVEL: 'silent' }
  const keys = { PAYMENTS_SANDBOX_AGENT_KEY: agentKey, PAYMENTS_SANDBOX_API_KEY: apiKey }
  serve = spawn(process.execPath, [cli, 'serve'], { env: { ...env, ...keys } })
  for await (const chunk of serve.stdout ?? []) {
    url = /listening on (\S+)/.exec(String(chunk))?.[1] ?? ''
    if (url !== '') break
  }
})
afterAll(async () => {
  if (serve.exitCode === null) {
    const ended = once(serve, 'exit')
    serve.kill('SIGTERM')
    await ended
  }
  rmSync(folder, { recursive: true, force: true })
})

let count = 0
beforeEach(() => {
  home = `home ${++count}`
})

const base = (name: string) => ({ PATH: process.env.PATH ?? '', HOME: join(folder, name) })

/** Runs `doctor`. Returns its output, and the findings that the output lists, by subject. */
function doctor(args: string[] = [], env: Record<string, string> = {}) {
  const options = { env: { ...base(home), PAYMENTS_PORT: '0', ...env }, encoding: 'utf8' } as const
  const { stdout, stderr, status } = spawnSync(process.execPath, [cli, 'doctor', ...args], options)
  expect(stderr).toBe('')
  const found = Object.fromEntries(
    [...stdout.matchAll(/^(ok {2}|note|BAD ) (.{15}) (.*)\n(?: {21}→ (.*)\n)?/gm)].map(
      ([, is = '', about = '', says = '', advice = '']) => [about.trim(), { is: is.trim(), says, advice }],
    ),
  )
  // Every problem comes with advice, and the exit code is 1 if there is any problem.
  const wrong = Object.values(found).filter(({ is }) => is === 'BAD')
  expect(wrong.every(({ advice }) => advice !== '')).toBe(true)
  expect(status).toBe(wrong.length === 0 ? 0 : 1)
  return { found, stdout }
}

function writeHomeFile(path: string, text: string): string {
  const fullPath = join(folder, home, path)
  mkdirSync(dirname(fullPath), { recursive: true })
  writeFileSync(fullPath, text)
  return fullPath
}

test('doctor finds no problems on a machine where payments-mcp was never started, and creates no files', () => {
  mkdirSync(join(folder, home))
  const { found, stdout } = doctor()
  expect(found).toMatchObject({
    'Node.js': { is: 'ok', says: expect.stringContaining(process.versions.node) },
    Database: { is: 'ok', says: expect.stringMatching(/sandbox\.sqlite will be created by the first start$/) },
    Port: { is: 'ok' },
    'AI hosts': { is: 'note', advice: expect.stringContaining('setup') },
  })
  expect(stdout).toContain('Nothing is wrong.')
  expect(readdirSync(join(folder, home))).toEqual([])
})

test('doctor reports the database, the port, the advanced clock and the key of a running sandbox', async () => {
  const headers = {
    Authorization: `Bearer ${apiKey}`,
    'Idempotency-Key': 'later',
    'Content-Type': 'application/json',
    'X-Instance-ID': 'run',
  }
  const body = JSON.stringify({ data: { attributes: { seconds: 10 * 86_400 } } })
  expect((await fetch(`${url}/simulations/clock/advance`, { method: 'POST', headers, body })).status).toBe(200)
  home = 'served'
  const { found, stdout } = doctor(['--port', new URL(url).port, '--key', agentKey])
  expect(found).toMatchObject({
    Database: {
      is: 'ok',
      says: expect.stringContaining('its tables match this version, and it is writable'),
    },
    Clock: { is: 'ok' },
    'Sandbox clock': { is: 'note', says: expect.stringMatching(/^is 10 days ahead of the real clock: it shows 20/) },
    Key: { is: 'ok' },
    Port: { is: 'ok', says: `payments-mcp (sandbox) runs at ${url}` },
  })
  expect(stdout).not.toContain('agent-secret')
  const other = doctor(['--key', `${agentKey}x`]).found.Key
  expect(other).toMatchObject({ is: 'BAD', says: 'PAYMENTS_KEY is not a key of this sandbox' })
})

test('doctor reports how many due effects failed, for which records and why', () => {
  home = 'served'
  const path = readdirSync(join(folder, home), { recursive: true }).find((file) => /\.sqlite$/.test(String(file)))
  const database = new DatabaseSync(join(folder, home, String(path)), { timeout: 10_000 })
  const insert = `insert into "failedEffects" values ('pty_1', 'hold', ?, 3, 'Error: Bug: the wallet is gone.', 0, 4102444800000)`
  for (const id of ['ctx_1', 'ctx_2', 'ctx_3', 'ctx_4']) database.prepare(insert).run(id)
  const found = doctor().found['Due effects']
  database.exec('delete from "failedEffects"')
  database.close()
  expect(found).toMatchObject({ is: 'BAD', says: expect.stringMatching(/^4 failed: hold of ctx_1 .*; and 1 more$/) })
  expect(found?.says).toContain(
    '(party pty_1, 3 tries, next at 2100-01-01T00:00:00.000Z): Error: Bug: the wallet is gone.',
  )
  expect(doctor().found['Due effects']).toBeUndefined()
})

test('doctor reports whether a deployed API is reachable, accepts the key and has the right time', () => {
  expect(doctor(['--base-url', url, '--key', agentKey]).found).toMatchObject({ Key: { is: 'ok' }, Clock: { is: 'ok' } })
  const refused = doctor(['--base-url', url, '--key', `${agentKey}x`])
  expect(refused.found.Key).toMatchObject({ is: 'BAD', says: `not accepted by ${url}` })
  expect(refused.stdout).not.toContain('agent-secret')
  expect(doctor(['--base-url', url]).found.Login).toMatchObject({ is: 'BAD', advice: expect.stringContaining('login') })
  const away = doctor(['--base-url', 'http://127.0.0.1:1', '--key', agentKey]).found
  expect(away.API).toMatchObject({ is: 'BAD', says: expect.stringContaining('does not answer') })
})

test.each([
  ['an expired login without a refresh token requires a new sign-in', {}, { is: 'BAD', says: 'has expired' }],
  ["an application's expired login will be renewed", { proofFile: '/key' }, { is: 'note', says: 'will be renewed' }],
])('doctor reports that %s', (_, proof, { is, says }) => {
  const login = { issuer: url, clientId: 'c', resource: url, accessToken: 't', obtainedAtMs: 0, expiresAtMs: 1 }
  const data = join(folder, home, '.local/share/payments-mcp')
  mkdirSync(data, { recursive: true })
  const logins = { [url]: { ...login, refreshToken: null, ...proof } }
  writeFileSync(join(data, 'login.json'), JSON.stringify({ version: 1, clients: {}, logins }))
  expect(doctor(['--base-url', url]).found.Login).toMatchObject({ is, says: expect.stringContaining(says) })
})

test('doctor reports a port that another program uses', async () => {
  const other = createServer((_, response) => response.end('{}'))
  await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening))
  const { port } = other.address() as AddressInfo
  // `doctor` sends a request to this process, so this process must not block until `doctor` ends.
  const child = spawn(process.execPath, [cli, 'doctor', '--port', String(port)], { env: base(home) })
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  const [code] = await once(child, 'close')
  other.close()
  expect(text).toMatch(/^BAD {2}Port .* is served by another program\n +→ .*PAYMENTS_PORT \(--port\)/m)
  expect(code).toBe(1)
})

test("doctor reports a host's configuration file with invalid JSON, one that starts a missing program, and a valid one", () => {
  writeHomeFile('.cursor/mcp.json', '{"mcpServers": ')
  const codex = writeHomeFile('.codex/config.toml', '[mcp_servers.payments]\ncommand = "/gone/node"\nargs = []\n')
  writeHomeFile(
    '.gemini/settings.json',
    JSON.stringify({ mcpServers: { payments: { command: process.execPath, args: [cli] } } }),
  )
  expect(doctor().found).toMatchObject({
    Cursor: { is: 'BAD', says: expect.stringMatching(/mcp\.json: line 1 is not valid JSON/) },
    Codex: {
      is: 'BAD',
      says: `${codex} starts /gone/node, which does not exist`,
      advice: expect.stringContaining('codex'),
    },
    'Gemini CLI': { is: 'ok' },
  })
})

test('doctor reports an invalid database, a missing secret, and a database of another version', () => {
  const database = writeHomeFile('one.sqlite', 'This is not an SQLite database, but a text file of enough bytes.')
  const found = (path = database) => doctor(['--database-url', `sqlite:${path}`]).found
  expect(found().Database).toMatchObject({ is: 'BAD', says: expect.stringContaining('not a database') })

  const path = join(folder, home, 'two.sqlite')
  const env = { ...base(home), PAYMENTS_DATABASE_URL: `sqlite:${path}`, PAYMENTS_SECRET: 'a'.repeat(32) }
  expect(spawnSync(process.execPath, [cli, 'rotate-keys'], { env }).status).toBe(0)
  const before = readFileSync(path)
  expect(found(path)).toMatchObject({ Database: { is: 'ok' }, Secret: { is: 'BAD' } })
  const opened = doctor(['--database-url', `sqlite:${path}`], { PAYMENTS_SECRET: env.PAYMENTS_SECRET }).found
  expect(opened).toMatchObject({ Database: { is: 'ok' }, Activity: { is: 'note', says: 'nothing is recorded yet' } })
  expect(readFileSync(path).equals(before)).toBe(true)
  expect(readdirSync(dirname(path)).sort()).toEqual(['one.sqlite', 'two.sqlite'])

  const change = (sql: string) => {
    const opened = new DatabaseSync(path)
    opened.exec(sql)
    opened.close()
  }
  change('update schemas set version = 9999')
  expect(found(path).Database).toMatchObject({
    is: 'BAD',
    says: expect.stringContaining('created by a newer payments-mcp'),
  })
  change(`update schemas set version = 1, digest = 'another'`)
  expect(found(path).Database).toMatchObject({
    is: 'BAD',
    says: expect.stringContaining('created by another pre-release of payments-mcp'),
  })
})

onEachDatabase('database inspection', (database) => {
  test('the database check reports a database with tables and an empty one, and creates nothing', async () => {
    const options = { secrets: undefined, keyHash: '' }
    const world = await database.create()
    expect(await inspectDatabase({ url: world.url, ...options })).toMatchObject({
      isWritable: true,
      isOpened: true,
      offsetMs: 0,
      databaseNowMs: database.name === 'postgres' ? expect.any(Number) : null,
      key: undefined,
    })
    await world.drop()
    const empty = await database.createEmpty()
    if (database.name === 'postgres') expect(await inspectDatabase({ url: empty.url, ...options })).toBe('empty')
    else await expect(inspectDatabase({ url: empty.url, ...options })).rejects.toThrow('unable to open')
    await empty.drop()
  })
})

/** Executes a statement directly in the database, without the service. */
async function execute(url: string, statement: string): Promise<void> {
  if (url.startsWith('sqlite:')) {
    const file = new DatabaseSync(url.slice(7))
    file.exec(statement)
    return file.close()
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement)
  await client.end()
}

onEachDatabase('activity chains', (database) => {
  test('doctor reports that all activity is unchanged, or which entries were changed and what to do', async () => {
    const world = await createWorld(database)
    const others = [await addParty(world), await addParty(world)]
    for (const { agentKey: key } of [...others, { agentKey: undefined }]) {
      for (let entry = 0; entry < 4; entry++) await world.issueCard({}, key === undefined ? {} : { key })
    }
    const ownPartyId = (await world.whoami()).partyId
    const found = () => doctor(['--database-url', world.url]).found.Activity
    const rows = await world.store.read(({ db }) => db.selectFrom('activity').selectAll().execute())
    const chains = new Set(rows.map(({ partyId }) => partyId)).size
    expect(found()).toMatchObject({
      is: 'ok',
      says: `${rows.length} entries in ${chains} chains, all unchanged`,
    })
    const last = (partyId: string) =>
      rows
        .filter((row) => row.partyId === partyId)
        .toSorted(byNumber)
        .at(-1)
    const [one, other] = [last(ownPartyId), last(others[0]?.partyId ?? '')]
    await execute(world.url, `update activity set status = 299 where id = '${one?.id}'`)
    const altered = `party ${ownPartyId} at entry ${one?.sequence} (${one?.id})`
    expect(found()).toMatchObject({
      is: 'BAD',
      says: `was changed by another program: the chain breaks for ${altered}`,
      advice: expect.stringContaining('backup'),
    })
    // Deletes the last entry of one chain, and all entries of another chain.
    await execute(world.url, `delete from activity where id = '${other?.id}'`)
    await execute(world.url, `delete from activity where "partyId" = '${others[1]?.partyId}'`)
    const says = found()?.says
    expect(says).toContain(altered)
    expect(says).toContain(`for party ${other?.partyId} at entry ${other?.sequence} (which is missing`)
    expect(says).toContain(`for party ${others[1]?.partyId} at entry 1 (which is missing`)
    await execute(world.url, `update activity set status = ${one?.status} where id = '${one?.id}'`)
    expect(found()?.says).not.toContain(ownPartyId)
    await world.drop()
  })
})

const byNumber = (a: { sequence: number }, b: { sequence: number }) => a.sequence - b.sequence
