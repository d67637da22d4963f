import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openBrowser } from '../../src/commands/open-browser.ts'
import { sampleOf } from '../support/depth.ts'
import { keepEach } from '../support/keep-each.ts'
import { runResource } from '../support/run-resources.ts'
import { createPerson } from './person.ts'
import { type PlainProvider, startPlainProvider } from './plain-provider.ts'
import { claimsOf } from './world.ts'

const cli = await runResource('cli')

let home: string
let provider: PlainProvider
let apiRefusesTokens: boolean
const running: ChildProcess[] = []

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'payments-commands-'))
  provider = await startPlainProvider({ intercept: answerWhoami, deviceIntervalSeconds: 1 })
  apiRefusesTokens = false
})

afterEach(async () => {
  for (const child of running.splice(0)) child.kill()
  await provider.close()
  rmSync(home, { recursive: true, force: true })
})

describe('login', () => {
  test('login prints the address of the sign-in page and stores the login, which whoami and logout then use', async () => {
    const env = { PAYMENTS_BASE_URL: provider.issuer }
    const signedIn = await login(['login'], env)
    expect(signedIn).toMatchObject({ exitCode: 0, stderr: '' })
    expect(signedIn.stdout).toContain(
      `You are signed in. The MCP server uses this login with PAYMENTS_BASE_URL=${provider.issuer}`,
    )
    const stored = readFileSync(loginFile(), 'utf8')
    const { accessToken, refreshToken } = JSON.parse(stored).logins[provider.issuer]
    expect(statSync(loginFile()).mode & 0o777).toBe(0o600)

    const identity = await runCommand(['whoami'], env)
    expect(identity).toMatchObject({ exitCode: 0, stderr: '' })
    expect(identity.stdout).toBe(`Address    ${provider.issuer} (sandbox)
Acts as    an agent
Agent      ${whoamiAttributes.agentId}
User       ${whoamiAttributes.userId}
Party      ${whoamiAttributes.partyId}
Credential a sign-in
Agent from the choice made at sign-in
Grant      grn_1
`)

    const signedOut = await runCommand(['logout'], env)
    expect(signedOut).toEqual({ exitCode: 0, stderr: '', stdout: `You are signed out of ${provider.issuer}.\n` })
    expect(provider.requestCount('/token/revocation')).toBe(1)
    expect(await runCommand(['logout'], env)).toMatchObject({
      exitCode: 0,
      stdout: `Nobody was signed in at ${provider.issuer}.\n`,
    })
    for (const { stdout, stderr } of [signedIn, identity, signedOut]) {
      expect(stdout + stderr).not.toContain(accessToken)
      expect(stdout + stderr).not.toContain(refreshToken)
    }
  })

  test('login without an address signs in at the local serve process', async () => {
    const { port } = new URL(provider.issuer)
    expect(await login(['login', '--port', port])).toMatchObject({ exitCode: 0 })
    const { stdout } = await runCommand(['whoami'], { PAYMENTS_DATABASE_URL: 'sqlite::memory:' })
    expect(stdout).toMatch(/^Address {4}the embedded sandbox \(sandbox\)\nActs as {4}an agent\n/)
    expect(stdout).toContain(
      `Signed in at ${provider.issuer}: payments-mcp whoami --base-url ${provider.issuer} shows the identity.`,
    )
  })

  test('login --device prints the address of the sign-in page and the code to enter there', async () => {
    const child = startCommand(['login', '--device', '--base-url', provider.issuer])
    const text = await waitForOutput(child, /enter the code\n\n {2}\S+\n/)
    const [, address = '', code = ''] = /^Open (\S+) on any device and enter the code\n\n {2}(\S+)\n/.exec(text) ?? []
    await createPerson().enterCode(address, code)
    expect(await waitForExit(child)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('You are signed in.'),
    })
  })

  test('login fails with a one-line error if the person refuses', async () => {
    const refused = await login(['login'], { PAYMENTS_BASE_URL: provider.issuer }, 'abort')
    expect(refused.exitCode).toBe(1)
    expect(refused.stderr).toBe('payments-mcp: The person refused the sign-in: access_denied (The person said no).\n')
  })
})

test('a stdio server says how to sign in, works after the login, and reports a revoked login', async () => {
  const env = { PAYMENTS_BASE_URL: provider.issuer, XDG_DATA_HOME: home }
  const host = new Client({ name: 'test', version: '1' })
  await host.connect(new StdioClientTransport({ command: process.execPath, args: [cli], env, stderr: 'ignore' }))
  try {
    expect((await host.listTools()).tools.length).toBeGreaterThan(0)
    const call = async () => {
      const { isError, content, structuredContent } = await host.callTool({ name: 'whoami', arguments: {} })
      if (isError !== true) return { isError: false, ...(structuredContent as object) }
      // The last line of the text is the error as JSON.
      const fields = (content as { text: string }[])[0]?.text.split('\n').at(-1)
      return { isError: true, ...JSON.parse(fields ?? '') }
    }
    expect(await call()).toMatchObject({
      isError: true,
      error: {
        code: 'unauthenticated',
        detail: expect.stringContaining(`payments-mcp login --base-url ${provider.issuer}`),
      },
    })
    expect(provider.requestCount('/.well-known/oauth-authorization-server')).toBe(0)
    await login(['login'], { PAYMENTS_BASE_URL: provider.issuer })
    expect(await call()).toMatchObject({ isError: false, data: { attributes: { grantId: 'grn_1' } } })

    // Revokes the login. The API then refuses the token of the next call. The call after that
    // cannot renew the token, and reports that the login has ended.
    const { logins, ...others } = JSON.parse(readFileSync(loginFile(), 'utf8'))
    const { clientId, refreshToken } = logins[provider.issuer]
    const body = new URLSearchParams({ token: refreshToken, client_id: clientId })
    await fetch(`${provider.issuer}/token/revocation`, { method: 'POST', body })
    apiRefusesTokens = true
    const older = { ...logins[provider.issuer], obtainedAtMs: 0 }
    writeFileSync(loginFile(), JSON.stringify({ ...others, logins: { [provider.issuer]: older } }))
    expect(await call()).toMatchObject({ isError: true, error: { code: 'unauthenticated' } })
    expect(await call()).toMatchObject({
      isError: true,
      error: { code: 'unauthenticated', detail: expect.stringContaining('has ended or was revoked') },
    })
  } finally {
    await host.close()
  }
})

describe('commands that fail', () => {
  const cases: [string, string[], Record<string, string>, number, RegExp][] = [
    ['whoami without a login', ['whoami'], { PAYMENTS_BASE_URL: 'http://127.0.0.1:1' }, 1, /run payments-mcp login/],
    [
      'login at an address where no server listens',
      ['login'],
      { PAYMENTS_BASE_URL: 'http://127.0.0.1:1' },
      1,
      /Can't reach 127\.0\.0\.1:1/,
    ],
    ['login over http', ['login', '--base-url', 'http://api.example'], {}, 2, /PAYMENTS_BASE_URL \(--base-url\) got/],
    ['login with a non-loopback host', ['login'], { PAYMENTS_HOST: '192.0.2.1' }, 2, /PAYMENTS_BASE_URL .* loopback/],
    [
      'logout with a damaged login file',
      ['logout'],
      { PAYMENTS_BASE_URL: 'http://127.0.0.1:1', damaged: 'yes' },
      1,
      /login\.json is damaged/,
    ],
  ]
  test.each(sampleOf(cases, 2))('%s gives a one-line error', async (_, args, { damaged, ...env }, code, line) => {
    if (damaged !== undefined) {
      await login(['login'], { PAYMENTS_BASE_URL: provider.issuer })
      writeFileSync(loginFile(), readFileSync(loginFile(), 'utf8').slice(0, -20))
    }
    const { exitCode, stdout, stderr } = await runCommand(args, env)
    expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(line)])
    expect(stdout).toBe('')
    expect(exitCode).toBe(code)
  })

  test('logout deletes the login even if the server cannot be reached, but reports that failure', async () => {
    await login(['login'], { PAYMENTS_BASE_URL: provider.issuer })
    await provider.close()
    const { exitCode, stdout, stderr } = await runCommand(['logout', '--base-url', provider.issuer])
    expect(stdout).toContain('You are signed out')
    expect(stderr).toMatch(/^payments-mcp: The login was deleted from this machine, but not revoked: Can't reach .*\n$/)
    expect(exitCode).toBe(1)
    expect(JSON.parse(readFileSync(loginFile(), 'utf8')).logins).toEqual({})
    provider = await startPlainProvider()
  })

  keepEach(2)
})

describe('opening a browser', () => {
  test.runIf(process.platform === 'linux')('the browser gets the address as its only argument', async () => {
    const program = join(home, 'xdg-open')
    writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$#" "$@" > '${home}/opened'\nexit 3\n`)
    chmodSync(program, 0o700)
    const before = process.env.PATH
    process.env.PATH = `${home}:${before}`
    try {
      const address = new URL("https://auth.example/?a=$(touch%20x)&b=';rm%20-rf")
      await new Promise<void>((failed) => openBrowser(address, failed))
      expect(readFileSync(join(home, 'opened'), 'utf8')).toBe(`1\n${address.href}\n`)
    } finally {
      process.env.PATH = before
    }
  })

  test.each(['file:///etc/passwd', 'javascript:alert(1)', 'vscode://x'])('%s is not opened', async (address) => {
    await new Promise<void>((failed) => openBrowser(new URL(address), failed))
  })
})

const whoamiAttributes = {
  actorType: 'agent',
  partyId: `pty_${'0'.repeat(32)}`,
  userId: `usr_${'1'.repeat(32)}`,
  agentId: `agt_${'2'.repeat(32)}`,
  agentIdentitySource: 'oauth_grant',
  credentialKind: 'oauth_access_token',
  keyId: null,
  grantId: 'grn_1',
}

/** Answers `GET /whoami` as the API does. Accepts only tokens that were issued for this API. */
function answerWhoami(request: IncomingMessage, response: ServerResponse): boolean {
  if (request.url !== '/whoami') return false
  const token = request.headers.authorization?.replace('Bearer ', '') ?? ''
  const isAccepted = !apiRefusesTokens && claimsOf(token).aud === `http://${request.headers.host}`
  response.writeHead(isAccepted ? 200 : 401, { 'Content-Type': 'application/json' })
  const data = { type: 'whoami', id: whoamiAttributes.partyId, attributes: whoamiAttributes }
  response.end(JSON.stringify(isAccepted ? { data } : { errors: [{ code: 'unauthenticated', detail: 'No.' }] }))
  return true
}

const loginFile = () => join(home, 'payments-mcp', 'login.json')

/** Runs a login command. Opens the address that the command prints, and consents or refuses as a person would. */
async function login(args: string[], env: Record<string, string> = {}, decision: 'confirm' | 'abort' = 'confirm') {
  const child = startCommand(args, env)
  const [address = ''] = /http\S+/.exec(await waitForOutput(child, /\n {2}http\S+\n/)) ?? []
  const callback = await createPerson().signIn(address, decision)
  await fetch(callback)
  return await waitForExit(child)
}

function startCommand(args: string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, [cli, ...args], {
    env: { PATH: process.env.PATH, XDG_DATA_HOME: home, ...env },
  })
  running.push(child)
  return child
}

/** Waits until the standard output matches the pattern. Returns the output so far. */
async function waitForOutput(child: ChildProcess, pattern: RegExp): Promise<string> {
  let text = ''
  let errors = ''
  child.stderr?.on('data', (chunk) => {
    errors += chunk
  })
  for (;;) {
    text += child.stdout?.read() ?? ''
    if (pattern.test(text)) return text
    const ending = once(child, 'exit').then(() => Promise.reject(new Error(`The command ended: ${text} ${errors}`)))
    await Promise.race([once(child.stdout ?? child, 'readable'), ending])
  }
}

async function waitForExit(child: ChildProcess) {
  const read = async (stream: AsyncIterable<Buffer> | null) => {
    let text = ''
    for await (const chunk of stream ?? []) text += chunk
    return text
  }
  const exit = once(child, 'exit')
  const [stdout, stderr] = await Promise.all([read(child.stdout), read(child.stderr)])
  if (child.exitCode === null) await exit
  return { stdout, stderr, exitCode: child.exitCode }
}

async function runCommand(args: string[], env: Record<string, string> = {}) {
  const child = startCommand(args, env)
  child.stdin?.end()
  return await waitForExit(child)
}
