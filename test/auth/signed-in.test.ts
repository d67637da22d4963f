import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UnsecuredJWT } from 'jose'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createTokenStore } from '../../src/auth/token-store.ts'
import { openClient } from '../../src/commands/open-client.ts'
import { dataDirectory, loadConfig } from '../../src/config/load.ts'
import { fakeSystem } from '../support/fake-system.ts'

const baseUrl = 'https://payments.example'
const log = { debug() {}, info() {}, warn() {}, error() {} }

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'signed-in-'))
  for (const name of ['HOME', 'XDG_DATA_HOME', 'LOCALAPPDATA']) vi.stubEnv(name, home)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(home, { recursive: true })
})

test('the calls of different people who sign in at the same address are remembered separately', async () => {
  const system = fakeSystem()
  const store = createTokenStore({ directory: dataDirectory().path, system })
  const signIn = (accessToken: string) =>
    store.exclusively(async (stored, write) => {
      const login = { issuer: baseUrl, clientId: 'c', resource: baseUrl, accessToken, obtainedAtMs: 0, expiresAtMs: 1 }
      await write({ ...stored, logins: { [baseUrl]: { ...login, refreshToken: null } } })
    })
  const tokenOf = (sub: string, jti: string) => new UnsecuredJWT({ sub, jti }).encode()
  const config = loadConfig({ env: { PAYMENTS_BASE_URL: baseUrl }, flags: {} })
  const { memory, close } = openClient(config, system, log as never)
  const secrets: string[] = []
  for (const token of [
    tokenOf('usr_1', '1'),
    tokenOf('usr_1', '2'),
    tokenOf('usr_2', '3'),
    'opaque',
    tokenOf('usr_1', '4'),
  ]) {
    await signIn(token)
    secrets.push((await memory()).secret)
  }
  const [first, renewed, another, opaque, again] = secrets
  expect([renewed, again]).toEqual([first, first])
  expect(new Set([first, another, opaque]).size).toBe(3)
  await close()
})
