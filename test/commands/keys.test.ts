import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { rootKeys } from '../../src/service/store/root-keys.ts'
import { runResource } from '../support/run-resources.ts'

const cli = await runResource('cli')
const secret = 'a-secret-that-is-long-enough-to-be-one'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'payments-keys-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const file = () => join(home, 'sandbox.sqlite')

function run(command: string, env: Record<string, string> = {}, user: { uid?: number } = {}, args: string[] = []) {
  const port = command === 'serve' ? { PAYMENTS_PORT: '0' } : {}
  const database = { PAYMENTS_DATABASE_URL: `sqlite:${file()}`, ...port }
  const options = {
    env: { PATH: process.env.PATH, HOME: home, ...database, ...env },
    encoding: 'utf8',
    ...user,
  } as const

  return spawnSync(process.execPath, [cli, command, ...args], { ...options, timeout: 60_000 })
}

async function newestKey(secrets?: string[]): Promise<number> {
  const store = await openStore({ url: `sqlite:${file()}`, system: realSystem, secrets })
  const { newestId } = await store.read(rootKeys)
  await store.close()
  return newestId
}

describe('new keys', () => {
  test('rotate-keys creates new keys in the database, and encrypts them if a secret is set', async () => {
    const first = run('rotate-keys')
    expect({ status: first.status, stderr: first.stderr }).toEqual({ status: 0, stderr: '' })
    expect(first.stdout).toMatch(/^Root key 2 and signing key [\w-]{43} are in use from now on\./)
    expect(await newestKey()).toBe(2)
    expect(run('rotate-keys', { PAYMENTS_SECRET: secret }).stdout).toContain('Root key 3')
    expect(await newestKey([secret])).toBe(3)
    expect(readFileSync(file(), 'latin1')).toContain('wrapped:1:')
  })
})

describe('the removal of older keys', () => {
  test('rotate-keys --retire removes older root keys, even if run twice at once; credentials still work', async () => {
    const env = { PATH: process.env.PATH ?? '', HOME: home, PAYMENTS_DATABASE_URL: `sqlite:${file()}` }
    const server = spawn(process.execPath, [cli, 'serve', '--json', '--port', '0'], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    try {
      const [line] = (await once(server.stdout, 'data')) as [Buffer]
      const { url, keys } = JSON.parse(String(line)) as { url: string; keys: { agent: string } }
      const status = async () =>
        (await fetch(`${url}/wallets`, { headers: { Authorization: `Bearer ${keys.agent}`, 'X-Instance-ID': 'run' } }))
          .status
      expect(await status()).toBe(200)
      const oldSecret = firstRootKeySecret()
      expect(oldSecret).toHaveLength(43)
      const results = await Promise.all([runRetire(env), runRetire(env)])
      expect(results.map(({ code }) => code)).toEqual([0, 0])
      // One of the two commands removes key 1. It may also remove the new key that the other command has created.
      expect(results.map(({ output }) => output).join('')).toMatch(/Removed: (root key 1|root keys 1, 2)\./)
      expect(firstRootKeySecret()).toBe('')
      expect(await status()).toBe(200)
      const events = await fetch(`${url}/events?limit=1`, {
        headers: { Authorization: `Bearer ${keys.agent}`, 'X-Instance-ID': 'run' },
      })
      expect(events.status).toBe(200)
      for (const path of [file(), `${file()}-wal`]) expect(readFileSync(path, 'latin1')).not.toContain(oldSecret)
    } finally {
      const exited = once(server, 'exit')
      server.kill('SIGTERM')
      await exited
    }
  })

  test('rotate-keys --retire changes nothing if the secret does not decrypt the keys', () => {
    run('rotate-keys', { PAYMENTS_SECRET: secret })
    const before = readFileSync(file())
    const { status, stderr } = run('rotate-keys', { PAYMENTS_SECRET: secret.replace('a', 'b') }, {}, ['--retire'])
    expect(stderr).toMatch(/^payments-mcp: PAYMENTS_SECRET [^\n]+\n$/)
    expect(status).toBe(2)
    expect(readFileSync(file()).equals(before)).toBe(true)
    const retired = run('rotate-keys', { PAYMENTS_SECRET: secret }, {}, ['--retire'])
    expect(retired.stdout).toContain('Removed: root keys 1, 2. Everything made with older keys stays valid.')
  })

  function firstRootKeySecret(): string {
    const database = new DatabaseSync(file(), { readOnly: true, timeout: 5_000 })
    try {
      return String(database.prepare('select secret from rootKeys where id = 1').get()?.secret)
    } finally {
      database.close()
    }
  }

  async function runRetire(env: Record<string, string>) {
    const child = spawn(process.execPath, [cli, 'rotate-keys', '--retire'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (part) => {
      output += part
    })
    const [code] = await once(child, 'close')
    return { code, output }
  }
})

describe('the secret of a database with encrypted keys', () => {
  test('serve with a missing, wrong or invalid secret ends with a one-line message and exit code 2', async () => {
    run('rotate-keys', { PAYMENTS_SECRET: secret })
    const cases = [
      [{}, 'is required, because the keys in the database are encrypted'],
      [{ PAYMENTS_SECRET: secret.replace('a', 'b') }, 'got a secret that cannot decrypt the keys'],
      [{ PAYMENTS_SECRET: 'too short' }, 'it accepts one or two secrets of 32 to 256'],
    ] as const
    for (const [env, message] of cases) {
      const { status, stderr } = run('serve', env)
      expect(status).toBe(2)
      expect(stderr).toMatch(/^payments-mcp: PAYMENTS_SECRET \(--secret\) (got|is) [^\n]+\n$/)
      expect(stderr).toContain(message)
      expect(stderr).not.toMatch(/secret-that|too short/)
    }
  })
})

// Only root can start a process as another user, so the test runs only as root.
describe.runIf(process.getuid?.() === 0)('databases of other users', () => {
  test("serve refuses another user's database that everyone can write, with one line and exit code 2", async () => {
    await newestKey()
    chmodSync(home, 0o777)
    for (const name of [file(), `${file()}-wal`, `${file()}-shm`]) {
      try {
        chmodSync(name, 0o666)
      } catch (error) {
        expect(error).toMatchObject({ code: 'ENOENT' })
      }
    }
    const { status, stderr } = run('serve', {}, { uid: 65_534 })
    expect(stderr).toMatch(
      /^payments-mcp: PAYMENTS_DATABASE_URL [^\n]+ other users can open [^\n]+\(mode 666\)[^\n]+\n$/,
    )
    expect(status).toBe(2)
  })
})
