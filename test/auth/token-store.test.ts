import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTokenStore, type Login, type Logins } from '../../src/auth/token-store.ts'
import { realSystem } from '../../src/core/system.ts'
import { type FakeSystem, fakeSystem } from '../support/fake-system.ts'

let home: string
let directory: string
let path: string
let system: FakeSystem

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'payments-tokens-'))
  directory = join(home, 'deep', 'payments-mcp')
  path = join(directory, 'login.json')
  system = fakeSystem()
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const login: Login = {
  issuer: 'https://auth.example',
  clientId: 'client',
  resource: 'https://api.example',
  accessToken: 'access-token-0123456789',
  obtainedAtMs: 1,
  expiresAtMs: 2,
  refreshToken: 'refresh-token-0123456789',
}
const content: Logins = { clients: { 'https://auth.example': { clientId: 'client' } }, logins: { 'https://a': login } }
const open = () => createTokenStore({ directory, system })
const save = (logins = content) => open().exclusively((_, write) => write(logins))
const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8)

test('nothing is stored at first, and reading creates no folder', async () => {
  expect(await open().read()).toEqual({ clients: {}, logins: {} })
  expect(readdirSync(home)).toEqual([])
})

test('a second store reads what the first one wrote, and the login file is the only file in their folder', async () => {
  await save()
  expect(await open().read()).toEqual(content)
  expect(readdirSync(directory)).toEqual(['login.json'])
})

describe.skipIf(process.platform === 'win32')('the permissions of the login file', () => {
  test('the file and its folder are private from their creation, even with an umask of 0', async () => {
    const before = process.umask(0)
    try {
      await save()
    } finally {
      process.umask(before)
    }
    expect([modeOf(directory), modeOf(path)]).toEqual(['700', '600'])
  })

  test('a file and folder that other users could read become private', async () => {
    await save()
    chmodSync(path, 0o644)
    chmodSync(directory, 0o755)
    await open().read()
    expect(modeOf(path)).toBe('600')
    await save()
    expect([modeOf(directory), modeOf(path)]).toEqual(['700', '600'])
  })

  test('the file is private and complete even if an earlier write was interrupted', async () => {
    mkdirSync(directory, { recursive: true })
    writeFileSync(`${path}.next`, 'half of it', { mode: 0o666 })
    await save()
    expect(await open().read()).toEqual(content)
    expect(modeOf(path)).toBe('600')
  })
})

describe('an unusable login file', () => {
  test.each([
    ['invalid JSON', '{"version":1,"logins":{"https://a":{"accessToken":"access-token-01234'],
    ['an unknown version', '{"version":2,"clients":{},"logins":{}}'],
    ['a missing field', '{"version":1,"clients":{},"logins":{"https://a":{"accessToken":"access-token-01234"}}}'],
    ['more than 4 MiB', `{"version":1,"clients":{},"logins":{}}${' '.repeat(5 * 1024 * 1024)}`],
  ])('a file with %s is reported as damaged, with its path but without its content', async (_, text) => {
    mkdirSync(directory, { recursive: true })
    writeFileSync(path, text)
    const error = await open()
      .read()
      .catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'unauthenticated', message: expect.stringContaining(`${path} is damaged`) })
    expect(String(error)).not.toContain('access-token')
  })

  test('a folder at the path of the file is reported with the path and the system error code', async () => {
    mkdirSync(path, { recursive: true })
    await expect(open().read()).rejects.toThrow(`The logins in ${path} cannot be used (EISDIR)`)
  })
})

describe('the lock of the login file', () => {
  test('simultaneous writers take turns, and each preserves the changes of those before it', async () => {
    await save({ clients: {}, logins: {} })
    // Uses the real clock. On a shared fake clock, each wait would advance the time for all writers, and some writers
    // would give up waiting for the lock.
    const add = (name: string) =>
      createTokenStore({ directory, system: realSystem }).exclusively(async (stored, write) => {
        await new Promise((resolve) => setImmediate(resolve))
        await write({ ...stored, clients: { ...stored.clients, [name]: { clientId: name } } })
      })
    const names = Array.from({ length: 6 }, (_, number) => `https://${number}.example`)
    await Promise.all(names.map(add))
    expect(Object.keys((await open().read()).clients).sort()).toEqual(names.sort())
    expect(readdirSync(directory)).toEqual(['login.json'])
  })

  test('the lock is released if the work under it fails', async () => {
    const failing = open().exclusively(async () => {
      throw new Error('it failed')
    })
    await expect(failing).rejects.toThrow('it failed')
    await save()
    expect(system.slept).toEqual([])
  })

  test('a process that waits too long for the lock fails and is advised to try again', async () => {
    mkdirSync(directory, { recursive: true })
    writeFileSync(`${path}.lock.${system.now() + 60_000}.living`, '')
    await expect(save()).rejects.toThrow(`Another process is busy with ${path}; try again in a minute.`)
    expect(readdirSync(directory)).toEqual([expect.stringMatching(/living$/)])
  })

  test.each([
    ['that has held it for a minute', 0],
    ['that took it before the clock was set back', 3_600_000],
  ])('a lock is taken from a process %s', async (_, expiresInMs) => {
    mkdirSync(directory, { recursive: true })
    writeFileSync(`${path}.lock.${system.now() + expiresInMs}.expired`, '')
    await save()
    expect(readdirSync(directory)).toEqual(['login.json'])
    expect(system.slept).toEqual([])
  })
})
