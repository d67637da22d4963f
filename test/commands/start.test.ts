import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernTransport } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { commandLineSource } from '../support/bundled-cli.ts'
import { isDeep, sampleOf } from '../support/depth.ts'
import { keepEach } from '../support/keep-each.ts'
import { runResource } from '../support/run-resources.ts'

const cli = isDeep ? commandLineSource : await runResource('cli')

const secret = 'given-secret-0123456789abcdef'

const fakeOlderVersion = "Object.defineProperty(process.versions, 'node', { value: '20.20.2' })"

let home: string
const running: ChildProcess[] = []

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'payments-start-'))
})

afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null) continue
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
  }
  rmSync(home, { recursive: true, force: true })
})

describe('the serve command', () => {
  test('serve prints three lines with its addresses and without secrets if stdout is a pipe', async () => {
    const sandbox = `sqlite:${join(home, 'payments-mcp', 'sandbox.sqlite')}`
    for (const extraEnv of [{}, { PAYMENTS_SANDBOX_AGENT_KEY: secret, PAYMENTS_SANDBOX_PASSWORD: secret }]) {
      const { text, url } = await startServe(extraEnv)
      const [first = '', second = '', third = '', ...rest] = text.split('\n')
      expect(first).toBe(`payments-mcp sandbox is listening on ${url} (AI hosts: ${url}/mcp; data: ${sandbox})`)
      expect(second).toMatch(new RegExp(`^Console: ${url}/console \\(.* console opens it and signs you in\\)$`))
      expect(third).toContain(
        'start serve in a terminal (--json prints only the keys), or set your own with PAYMENTS_SANDBOX_API_KEY',
      )
      expect(rest).toEqual([''])
      expect(text).not.toMatch(/_ntl_|secret-/)
    }
  })

  test('serve shares its sandbox with the MCP server that an AI host starts', async () => {
    const { url } = await startServe({ PAYMENTS_SANDBOX_API_KEY: secret })
    const host = new Client({ name: 'test', version: '1' })
    await host.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [cli],
        env: { XDG_DATA_HOME: home },
        stderr: 'ignore',
      }),
    )
    const call = async (name: string, input: Record<string, unknown>) => {
      const result = await host.callTool({ name, arguments: input })
      // biome-ignore lint/suspicious/noExplicitAny: the result of any tool.
      return (result.structuredContent as any).data
    }
    const shop = { merchant: { name: 'Books' }, currency: 'USD' }
    const card = await call('issue_agent_card', { ...shop, maximumAmount: 5000 })
    const purchase = await call('simulate_card_authorization', { ...shop, cardId: card.id, amount: 4200 })
    await call('simulate_card_capture', { cardTransactionId: purchase.id, amount: 4200, currency: 'USD' })
    await host.close()

    const answer = await fetch(`${url}/wallets`, { headers: { Authorization: `Bearer sk_ntl_sandbox_${secret}` } })
    const { data } = (await answer.json()) as { data: { attributes: { balance: unknown } }[] }
    expect(data[0]?.attributes.balance).toEqual({ available: 245_800, total: 245_800, currency: 'USD' })
  })

  test('serve with an identity provider prints the command that makes the sandbox trust this provider', async () => {
    const { text } = await startServe({ PAYMENTS_WITH_IDP: 'true' })
    const issuer = /identity provider is at (http:\/\/127\.0\.0\.1:\d+)\./.exec(text)?.[1]
    const metadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()
    expect(metadata).toMatchObject({ issuer, jwks_uri: `${issuer}/jwks` })
    expect(text).toMatch(new RegExp(`  curl -s http://.*/trusted-issuers .*"issuer":"${issuer}".*"claim":"email"`))
  })

  test('serve accepts configured keys, with or without a prefix, even if the sandbox has other keys', async () => {
    await startServe()
    const again = await startServe({
      PAYMENTS_SANDBOX_API_KEY: secret,
      PAYMENTS_SANDBOX_AGENT_KEY: `ak_ntl_sandbox_${secret}`,
    })
    expect(await whoami(again.url, `sk_ntl_sandbox_${secret}`)).toMatchObject({ actorType: 'party' })
    expect(await whoami(again.url, `ak_ntl_sandbox_${secret}`)).toMatchObject({ actorType: 'agent' })
  })

  test('serve in production has no simulations, and accepts production keys', async () => {
    const { url } = await startServe({ PAYMENTS_ENVIRONMENT: 'production', PAYMENTS_SANDBOX_AGENT_KEY: secret })
    expect(await whoami(url, `ak_ntl_prod_${secret}`)).toMatchObject({ actorType: 'agent' })
    const headers = { Authorization: `Bearer ak_ntl_prod_${secret}` }
    expect((await fetch(`${url}/simulations/clock`, { headers })).status).toBe(404)
  })

  test('serve answers /healthz and /openapi.json without a credential', async () => {
    const { url } = await startServe()
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok', environment: 'sandbox' })
    const document = await (await fetch(`${url}/openapi.json`)).json()
    expect(document).toMatchObject({ openapi: '3.1.1', info: { version: '0.2.0' }, servers: [{ url }] })
  })

  keepEach(4)
})

describe('starts that cannot succeed', () => {
  const cases: [string, string[], Record<string, string>, number, RegExp][] = [
    ['an invalid port', ['serve'], { PAYMENTS_PORT: '99999' }, 2, /PAYMENTS_PORT \(--port\) got "99999"; it accepts/],
    [
      'a key for the other environment',
      [],
      { PAYMENTS_KEY: 'ak_ntl_prod_0123456789abcdef' },
      2,
      /PAYMENTS_KEY .* got ak_ntl_prod_\[masked\]/,
    ],
    ['a remote URL without TLS', [], { PAYMENTS_BASE_URL: 'http://api.example' }, 2, /PAYMENTS_BASE_URL/],
    ['production without a base URL', [], { PAYMENTS_ENVIRONMENT: 'production' }, 2, /PAYMENTS_BASE_URL/],
    [
      'a database that cannot be opened',
      ['serve'],
      { PAYMENTS_DATABASE_URL: 'sqlite:/dev/null/x' },
      2,
      /PAYMENTS_DATABASE_URL/,
    ],
    [
      'an identity provider in production',
      ['serve', '--with-idp', '--environment', 'production'],
      {},
      2,
      /PAYMENTS_WITH_IDP \(--with-idp\) got true in production .* accepts true only in a sandbox/,
    ],
    [
      'an unreachable database server',
      ['serve'],
      { PAYMENTS_DATABASE_URL: 'postgres://u:hidden-word@127.0.0.1:1/x' },
      2,
      /127\.0\.0\.1:1/,
    ],
  ]
  test.each(sampleOf(cases, 7))('%s prevents the start with a one-line message', async (_, args, env, code, line) => {
    const { exitCode, stderr, stdout } = await runCommand(process.execPath, [cli, ...args], env)
    expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(line)])
    expect(stderr).not.toContain('hidden-word')
    expect(stdout).toBe('')
    expect(exitCode).toBe(code)
  })

  test.runIf(isDeep)('a port that is in use prevents the start with a one-line message', async () => {
    const { url } = await startServe()
    const { exitCode, stderr } = await runCommand(process.execPath, [cli, 'serve'], {
      PAYMENTS_PORT: new URL(url).port,
    })
    expect(stderr).toMatch(/^payments-mcp: PAYMENTS_PORT .* in use by another payments-mcp \(sandbox\).*\n$/)
    expect(exitCode).toBe(2)
  })

  const wrongArguments: [string, string[], RegExp][] = [
    [
      '--base-url as a flag of serve',
      ['serve', '--base-url', 'https://x.example'],
      /--base-url is not read by serve, but/,
    ],
    [
      '--sandbox-password as a flag of the MCP server',
      ['--sandbox-password', 'hidden-word-hidden'],
      /--sandbox-password is not read by the/,
    ],
    ['a flag that login does not read', ['--read-only', 'true', 'login'], /--read-only is not read by login, but by/],
    ['an unknown flag', ['serve', '--prot', '1'], /unknown option '--prot' \(Did you mean --port\?\)/],
    ['a flag without its value', ['serve', '--port'], /option '--port <number>' argument missing/],
    [
      'an unknown command',
      ['sreve'],
      /"sreve" is not a command \(did you mean serve\?\); the commands are serve, setup/,
    ],
  ]
  test.each(sampleOf(wrongArguments, 9))('%s is refused with a one-line message', async (_, args, line) => {
    const { exitCode, stderr, stdout } = await runCommand(process.execPath, [cli, ...args])
    expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(line)])
    expect(stderr).not.toContain('hidden-word')
    expect(stdout).toBe('')
    expect(exitCode).toBe(2)
  })

  test('the check before npm start refuses an older Node.js with a one-line message', async () => {
    const check = fileURLToPath(new URL('../../scripts/node-version.cjs', import.meta.url))
    const { exitCode, stderr } = await runCommand(process.execPath, [
      '-e',
      `${fakeOlderVersion}; require(${JSON.stringify(check)})`,
    ])
    expect(stderr).toMatch(/^payments-mcp needs Node.js 22.19 or newer; this is Node.js 20.20.2. Run npm ci.*\n$/)
    expect(exitCode).toBe(1)
    expect((await runCommand(process.execPath, [check])).exitCode).toBe(0)
  })
})

test('each PAYMENTS_ variable that serve does not read is reported in one line, and serve starts anyway', async () => {
  const wrongEnv = {
    PAYMENTS_PROT: '1',
    PAYMENTS_BASE_URL: 'https://x.example',
    PAYMENTS_KEY: '',
    PAYMENTS_WEATHER: 'x',
  }
  const { url, stderr } = await startServe({ ...wrongEnv, PAYMENTS_LOG_LEVEL: 'silent' })
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  expect(stderr().trimEnd().split('\n').toSorted()).toEqual([
    expect.stringMatching(/^payments-mcp: PAYMENTS_BASE_URL is not read by serve, but by .*; it is ignored\.$/),
    'payments-mcp: PAYMENTS_PROT is not a setting and is ignored; did you mean PAYMENTS_PORT?',
    'payments-mcp: PAYMENTS_WEATHER is not a setting and is ignored; payments-mcp help settings lists them',
  ])
})

describe('an older Node.js', () => {
  const message = 'payments-mcp needs Node.js 22.19 or newer; this is Node.js 20.20.2.'
  const args = ['--input-type=module', '-e', `${fakeOlderVersion}; await import(${JSON.stringify(cli)})`]

  test('each command ends with a one-line message on an older Node.js', async () => {
    for (const command of [[], ['serve']]) {
      const { exitCode, stderr, stdout } = await runCommand(process.execPath, [...args, ...command])
      expect({ exitCode, stderr, stdout }).toEqual({ exitCode: 1, stderr: `${message}\n`, stdout: '' })
    }
    const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    expect(engines.node).toBe('>=22.19')
  })

  test.runIf(isDeep).each([
    ['2025', () => new Client({ name: 'test', version: '1' }), (options: Launch) => new StdioClientTransport(options)],
    [
      '2026',
      () => new ModernClient({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } }),
      (options: Launch) => new ModernTransport(options),
    ],
  ])('an MCP %s host gets the message about Node.js as its connection error', async (_, host, transport) => {
    const starting = host().connect(transport({ command: process.execPath, args, stderr: 'ignore' }) as never)
    await expect(starting).rejects.toThrow(message)
  })
})

type Launch = ConstructorParameters<typeof StdioClientTransport>[0]

function startCommand(command: string, args: string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, XDG_DATA_HOME: home, PAYMENTS_PORT: '0', ...env },
  })
  running.push(child)
  return child
}

async function startServe(env: Record<string, string> = {}) {
  const child = startCommand(process.execPath, [cli, 'serve'], env)
  let errors = ''
  child.stderr?.on('data', (chunk) => {
    errors += chunk
  })
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += chunk
    if (text.endsWith('\n')) break
  }
  const url = /listening on (\S+)/.exec(text)?.[1]
  if (url === undefined) throw new Error(`serve did not start: ${text}`)
  return { text, url, stderr: () => errors }
}

async function runCommand(command: string, args: string[], env: Record<string, string> = {}) {
  const child = startCommand(command, args, env)
  child.stdin?.end()
  const read = async (stream: AsyncIterable<Buffer> | null) => {
    let text = ''
    for await (const chunk of stream ?? []) text += chunk
    return text
  }
  const exit = once(child, 'exit')
  const [stdout, stderr] = await Promise.all([read(child.stdout), read(child.stderr)])
  await exit
  return { stdout, stderr, exitCode: child.exitCode }
}

async function whoami(url: string, key: string | undefined) {
  const answer = await fetch(`${url}/whoami`, { headers: { Authorization: `Bearer ${key}` } })
  const { data } = (await answer.json()) as { data?: { attributes: unknown } }
  return data?.attributes
}
