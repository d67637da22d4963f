import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createStoredCredential } from '../../src/auth/stored-credential.ts'
import { createTokenStore, type Login } from '../../src/auth/token-store.ts'
import { createSignInWorld, type SignInWorld } from './world.ts'

let world: SignInWorld

beforeEach(async () => {
  world = await createSignInWorld()
})
afterEach(() => world.close())

const minute = 60_000
const renewals = () => world.provider.tokenRequests.filter(({ grantType }) => grantType === 'refresh_token')
const changeLogin = (part: Partial<Login>) =>
  world.store.exclusively(async (stored, write) => {
    const login = { ...(await world.stored()), ...part }
    await write({ ...stored, logins: { [world.baseUrl]: login } })
  })

test('without a login, the error says which command to run, and no server is called', async () => {
  const rejection = expect(createStoredCredential(world)()).rejects
  await rejection.toMatchObject({
    code: 'unauthenticated',
    message: `Nobody is signed in at ${world.baseUrl}: run payments-mcp login --base-url ${world.baseUrl}, or set PAYMENTS_KEY to an API key or agent key and start again.`,
  })
  expect(world.provider.requestCount('/token')).toBe(0)
})

describe('renewals', () => {
  test('a token is renewed before it expires, each time with the latest refresh token', async () => {
    await world.signIn()
    const credential = createStoredCredential(world)
    const first = await credential()
    world.system.pass(13 * minute - 1)
    expect(await credential()).toBe(first)
    expect(renewals()).toEqual([])
    world.system.pass(1)
    const tokens = [first, await credential(), await credential()]
    for (let round = 0; round < 3; round++) {
      world.system.pass(14 * minute)
      tokens.push(await credential())
    }
    expect(new Set(tokens).size).toBe(5)
    expect(renewals().map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined])
  })

  test('a short-lived token is renewed only when a fifth of its lifetime is left', async () => {
    await world.signIn()
    await changeLogin({ expiresAtMs: world.system.now() + 50_000 })
    const credential = createStoredCredential(world)
    world.system.pass(39_999)
    await credential()
    expect(renewals()).toHaveLength(0)
    world.system.pass(1)
    await credential()
    expect(renewals()).toHaveLength(1)
  })

  test('simultaneous calls in one process cause only one renewal', async () => {
    await world.signIn()
    world.system.pass(14 * minute)
    const credential = createStoredCredential(world)
    const tokens = await Promise.all(Array.from({ length: 20 }, () => credential()))
    expect(new Set(tokens).size).toBe(1)
    expect(renewals()).toHaveLength(1)
  })

  test('several processes cause only one renewal, and then use the same token', async () => {
    await world.signIn()
    const processes = await Promise.all(Array.from({ length: 3 }, () => startProcess()))
    try {
      for (let round = 1; round <= 8; round++) {
        await changeLogin({ obtainedAtMs: 0, expiresAtMs: 1 })
        const before = (await world.stored()).accessToken
        const tokens = await Promise.all(processes.map((each) => each.token()))
        expect(new Set(tokens)).toEqual(new Set([(await world.stored()).accessToken]))
        expect(tokens[0]).not.toBe(before)
        expect(renewals().map(({ error }) => error)).toEqual(Array(round).fill(undefined))
      }
    } finally {
      for (const each of processes) each.end()
    }
  })

  test('a renewal does not restore a login that another process has just deleted', async () => {
    await world.signIn()
    world.system.pass(14 * minute)
    const credential = createStoredCredential({
      ...world,
      store: {
        ...world.store,
        // Another process signs out after this process has read the login, but before this process gets the lock.
        exclusively: async (work) => {
          await world.store.exclusively((stored, write) => write({ ...stored, logins: {} }))
          return await world.store.exclusively(work)
        },
      },
    })
    await expect(credential()).rejects.toThrow('Nobody is signed in anymore')
    expect((await world.store.read()).logins).toEqual({})
    expect(renewals()).toEqual([])
  })
})

describe('renewals that fail', () => {
  test('if the login was revoked, the failed renewal deletes it, and the error says which command to run', async () => {
    await world.signIn()
    const { refreshToken, clientId } = await world.stored()
    const body = new URLSearchParams({ token: String(refreshToken), client_id: clientId })
    await fetch(`${world.baseUrl}/token/revocation`, { method: 'POST', body })
    world.system.pass(14 * minute)
    const credential = createStoredCredential(world)
    await expect(credential()).rejects.toThrow(/^The sign-in has ended.*run payments-mcp login --base-url http/)
    await expect(credential()).rejects.toThrow(/^Nobody is signed in/)
    expect(renewals()).toEqual([{ grantType: 'refresh_token', error: 'invalid_grant' }])
    expect(Object.keys((await world.store.read()).clients)).toEqual([world.baseUrl])
  })

  test('if the server no longer knows the client, the client is deleted together with the login', async () => {
    await world.signIn()
    await world.provider.forgetClient((await world.stored()).clientId)
    world.system.pass(14 * minute)
    await expect(createStoredCredential(world)()).rejects.toThrow(/^The sign-in has ended/)
    expect(await world.store.read()).toEqual({ clients: {}, logins: {} })
  })

  test('if the network fails, the login stays, and its token is used until it expires', async () => {
    await world.signIn()
    let attempts = 0
    let isBroken = true
    const warned: string[] = []
    const log = {
      info: () => {},
      warn: (fields: object, message: string) => warned.push(`${message} ${JSON.stringify(fields)}`),
    }
    const credential = createStoredCredential({
      ...world,
      log: { ...log, error: () => {} },
      fetch: async (request) => {
        attempts++
        if (isBroken) throw Object.assign(new Error('no'), { code: 'ECONNREFUSED' })
        return await world.fetch(request)
      },
    })
    const before = await world.stored()
    world.system.pass(14 * minute)
    expect(await credential()).toBe(before.accessToken)
    expect(await credential()).toBe(before.accessToken)
    expect(attempts).toBe(1)
    expect(warned.join()).not.toContain(before.accessToken)
    world.system.pass(30_000)
    expect(await credential()).toBe(before.accessToken)
    expect(attempts).toBe(2)
    world.system.pass(30_000)
    await expect(credential()).rejects.toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining("Can't reach 127.0.0.1"),
    })
    expect(await world.stored()).toEqual(before)
    isBroken = false
    expect(await credential()).not.toBe(before.accessToken)
  })

  test('if the server is busy, the login stays, and its token is used until it expires', async () => {
    await world.signIn()
    const before = await world.stored()
    const headers = { 'Content-Type': 'application/json' }
    const credential = createStoredCredential({
      ...world,
      fetch: async (request) =>
        request.url.endsWith('/token')
          ? new Response('{"error":"temporarily_unavailable","error_description":"busy"}', { status: 400, headers })
          : await world.fetch(request),
    })
    world.system.pass(14 * minute)
    expect(await credential()).toBe(before.accessToken)
    world.system.pass(minute)
    await expect(credential()).rejects.toThrow(
      /^The sign-in could not be renewed\. .*temporarily_unavailable \(busy\)\.$/,
    )
    expect(await world.stored()).toEqual(before)
  })

  test('without a refresh token, the access token is used until it expires', async () => {
    await world.signIn()
    await changeLogin({ refreshToken: null })
    const credential = createStoredCredential(world)
    world.system.pass(15 * minute - 1)
    await credential()
    world.system.pass(1)
    await expect(credential()).rejects.toThrow(/^The sign-in has ended/)
  })
})

test('a token that the API refused is renewed by the next call, unless it was just issued', async () => {
  await world.signIn()
  const credential = createStoredCredential(world)
  const first = await credential()
  credential.refused(first)
  expect(await credential()).toBe(first)
  world.system.pass(30_000)
  const second = await credential()
  expect(second).not.toBe(first)
  credential.refused(second)
  expect(await credential()).toBe(second)
  expect(renewals()).toHaveLength(1)
})

test('a new login is used immediately, even if an earlier call failed because there was no login', async () => {
  const credential = createStoredCredential(world)
  await expect(credential()).rejects.toThrow()
  await world.signIn()
  const again = createTokenStore({ directory: world.directory, system: world.system })
  expect(await credential()).toBe((await again.read()).logins[world.baseUrl]?.accessToken)
})

async function startProcess() {
  const script = fileURLToPath(new URL('./login-process.ts', import.meta.url))
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [script, world.directory, world.baseUrl])
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => String((await lines.next()).value)
  if ((await next()) !== 'ready') throw new Error('The process did not start')
  return {
    token: async () => {
      child.stdin.write('\n')
      return await next()
    },
    end: () => child.stdin.end(),
  }
}
