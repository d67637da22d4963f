import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))

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

describe('serve', () => {
  test('tells where it listens, its keys once, and a configuration with which a host can buy', async () => {
    const first = await served()
    expect(first.text).toMatch(/listening on http:\/\/127\.0\.0\.1:\d+\n/)
    const [apiKey] = /sk_ntl_sandbox_[\w-]{24,}/.exec(first.text) ?? []
    const [agentKey] = /ak_ntl_sandbox_[\w-]{24,}/.exec(first.text) ?? []
    expect(await whoami(first.url, apiKey)).toMatchObject({ actorType: 'party', credentialKind: 'api_key' })
    expect(await whoami(first.url, agentKey)).toMatchObject({ actorType: 'agent', credentialKind: 'agent_key' })

    const { command, args, env } = configuration(first.text)
    const host = new Client({ name: 'test', version: '1' })
    await host.connect(
      new StdioClientTransport({ command, args, env: { ...env, XDG_DATA_HOME: home }, stderr: 'ignore' }),
    )
    const call = async (name: string, input: Record<string, unknown>) => {
      const result = await host.callTool({ name, arguments: input })
      // biome-ignore lint/suspicious/noExplicitAny: the result of whichever tool.
      return (result.structuredContent as any).data
    }
    const shop = { merchant: { name: 'Books' }, currency: 'USD' }
    const card = await call('issue_agent_card', { ...shop, maximumAmount: 5000 })
    const purchase = await call('simulate_card_authorization', { ...shop, cardId: card.id, amount: 4200 })
    await call('simulate_card_capture', { cardTransactionId: purchase.id, amount: 4200, currency: 'USD' })
    await host.close()

    // The host's own process and the server share the sandbox.
    const answer = await fetch(`${first.url}/wallets`, { headers: { Authorization: `Bearer ${apiKey}` } })
    const { data } = (await answer.json()) as { data: { attributes: { balance: unknown } }[] }
    expect(data[0]?.attributes.balance).toEqual({
      available: 245_800,
      total: 245_800,
      currency: 'USD',
    })

    const second = await served()
    expect(second.text).not.toMatch(/[sa]k_ntl_sandbox_/)
    expect(second.text).toContain('PAYMENTS_SANDBOX_AGENT_KEY')
    expect(await whoami(second.url, agentKey)).toMatchObject({ actorType: 'agent' })
  })

  test('takes the secrets it is given, whole or without their prefix, also in a sandbox that has others', async () => {
    await served()
    const secret = 'given-secret-0123456789abcdef'
    const again = await served({
      PAYMENTS_SANDBOX_API_KEY: secret,
      PAYMENTS_SANDBOX_AGENT_KEY: `ak_ntl_sandbox_${secret}`,
    })
    expect(await whoami(again.url, `sk_ntl_sandbox_${secret}`)).toMatchObject({ actorType: 'party' })
    expect(await whoami(again.url, `ak_ntl_sandbox_${secret}`)).toMatchObject({ actorType: 'agent' })
  })

  test('in memory, configures the host to reach it by address and key', async () => {
    const { text, url } = await served({ PAYMENTS_DATABASE_URL: 'sqlite::memory:' })
    const { env } = configuration(text)
    expect(env.PAYMENTS_BASE_URL).toBe(url)
    expect(await whoami(url, env.PAYMENTS_KEY)).toMatchObject({ actorType: 'agent' })
  })

  test('in production has no simulations, and its keys say so', async () => {
    const secret = 'given-secret-0123456789abcdef'
    const { url } = await served({ PAYMENTS_ENVIRONMENT: 'production', PAYMENTS_SANDBOX_AGENT_KEY: secret })
    expect(await whoami(url, `ak_ntl_prod_${secret}`)).toMatchObject({ actorType: 'agent' })
    const headers = { Authorization: `Bearer ak_ntl_prod_${secret}` }
    expect((await fetch(`${url}/simulations/clock`, { headers })).status).toBe(404)
  })

  test('answers /healthz and /openapi.json without a credential', async () => {
    const { url } = await served()
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok', environment: 'sandbox' })
    const document = await (await fetch(`${url}/openapi.json`)).json()
    expect(document).toMatchObject({ openapi: '3.1.1', info: { version: '0.2.0' }, servers: [{ url }] })
  })
})

describe('a start that cannot succeed ends with one line', () => {
  const cases: [string, string[], Record<string, string>, number, RegExp][] = [
    ['a bad port', ['serve'], { PAYMENTS_PORT: '99999' }, 2, /PAYMENTS_PORT \(--port\) got "99999"; it accepts/],
    [
      'a key of the other environment',
      [],
      { PAYMENTS_KEY: 'ak_ntl_prod_0123456789abcdef' },
      2,
      /PAYMENTS_KEY .* got ak_ntl_prod_\[masked\]/,
    ],
    ['a bad address', [], { PAYMENTS_BASE_URL: 'http://api.example' }, 2, /PAYMENTS_BASE_URL/],
    ['production without an address', [], { PAYMENTS_ENVIRONMENT: 'production' }, 2, /PAYMENTS_BASE_URL/],
    ['a database that is none', ['serve'], { PAYMENTS_DATABASE_URL: 'sqlite:/dev/null/x' }, 2, /PAYMENTS_DATABASE_URL/],
    [
      'a database that does not answer',
      ['serve'],
      { PAYMENTS_DATABASE_URL: 'postgres://u:hidden-word@127.0.0.1:1/x' },
      2,
      /127\.0\.0\.1:1/,
    ],
  ]
  test.each(cases)('%s', async (_, args, env, code, line) => {
    const { exitCode, stderr, stdout } = await ended(process.execPath, [cli, ...args], env)
    expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(line)])
    expect(stderr).not.toContain('hidden-word')
    expect(stdout).toBe('')
    expect(exitCode).toBe(code)
  })

  test('a port that is in use', async () => {
    const { url } = await served()
    const { exitCode, stderr } = await ended(process.execPath, [cli, 'serve'], { PAYMENTS_PORT: new URL(url).port })
    expect(stderr).toMatch(/^payments-mcp: PAYMENTS_PORT .* in use.*\n$/)
    expect(exitCode).toBe(2)
  })

  test('an older Node.js', async () => {
    const pretend = `Object.defineProperty(process.versions, 'node', { value: '20.20.2' }); await import(${JSON.stringify(cli)})`
    const { exitCode, stderr } = await ended(process.execPath, ['--input-type=module', '-e', pretend])
    expect(stderr).toBe('payments-mcp needs Node.js 22.19 or newer; this is Node.js 20.20.2.\n')
    expect(exitCode).toBe(1)
    const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    expect(engines.node).toBe('>=22.19')
  })
})

function started(command: string, args: string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, XDG_DATA_HOME: home, PAYMENTS_PORT: '0', ...env },
  })
  running.push(child)
  return child
}

async function served(env: Record<string, string> = {}): Promise<{ text: string; url: string }> {
  const child = started(process.execPath, [cli, 'serve'], env)
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += chunk
    if (text.includes('Ctrl+C')) break
  }
  const url = /listening on (\S+)/.exec(text)?.[1]
  if (url === undefined) throw new Error(`It did not start: ${text}`)
  return { text, url }
}

async function ended(command: string, args: string[], env: Record<string, string> = {}) {
  const child = started(command, args, env)
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

function configuration(text: string): { command: string; args: string[]; env: Record<string, string> } {
  const json = /^\{\n[\s\S]*?^\}$/m.exec(text)?.[0]
  return JSON.parse(json ?? '').mcpServers.payments
}

async function whoami(url: string, key: string | undefined) {
  const answer = await fetch(`${url}/whoami`, { headers: { Authorization: `Bearer ${key}` } })
  const { data } = (await answer.json()) as { data?: { attributes: unknown } }
  return data?.attributes
}
