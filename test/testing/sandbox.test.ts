import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, describe, expect, it, test } from 'vitest'
import { stringify } from 'yaml'
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/testing/sandbox.ts'
import { onEachDatabase } from '../support/databases.ts'

const opened: Sandbox[] = []

async function sandboxOf(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await createSandbox(options)
  opened.push(sandbox)
  return sandbox
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((sandbox) => sandbox.close()))
})

describe('a sandbox in the test process', () => {
  it('fetch gets the same answer for a path, a URL and a Request object, in the process and over the network', async () => {
    const { fetch: ownFetch, url, keys } = await sandboxOf()
    const headers = { Authorization: `Bearer ${keys.agent}` }
    const answers = await Promise.all([
      ownFetch('/whoami', { headers }),
      ownFetch(`${url}/whoami`, { headers }),
      ownFetch(new URL('/whoami', url), { headers }),
      ownFetch(new Request(`${url}/whoami`), { headers }),
      fetch(`${url}/whoami`, { headers }),
    ])
    const bodies = await Promise.all(answers.map((answer) => answer.json()))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(bodies).toEqual(bodies.map(() => bodies[0]))
    expect(
      await (await ownFetch('/whoami', { headers: { Authorization: `Bearer ${keys.api}` } })).json(),
    ).toMatchObject({
      data: { attributes: { credentialKind: 'api_key' } },
    })
  })

  it('fetch sends requests for any host to the sandbox, with method, headers and body', async () => {
    const { fetch, keys } = await sandboxOf({ port: false })
    const request = new Request('https://payments.example/agent-cards', cardRequest(keys.agent))
    const answer = await fetch(request)
    expect(await answer.json()).toMatchObject({ data: { attributes: { maximumAmount: 5000 } } })
  })

  it('an agent can buy over MCP, with and without a network port', async () => {
    for (const port of [0, false] as const) {
      const sandbox = await sandboxOf({ port })
      const client = await connect(sandbox)
      expect(await buy(client)).toMatchObject({ status: 'captured' })
      expect(await availableCents(sandbox)).toBe(250_000 - 4250)
      await client.close()
    }
  })

  it('the sandbox clock advances by seconds or to a timestamp, and determines when cards expire', async () => {
    const { fetch, keys, clock } = await sandboxOf({ port: false })
    const { id, attributes } = await dataOf(fetch('/agent-cards', cardRequest(keys.agent)))
    const before = await clock.now()
    const moved = await clock.advance(3600)
    expect(Date.parse(moved) - Date.parse(before)).toBeGreaterThanOrEqual(3_600_000)
    const later = new Date(Date.parse(attributes.expiresAt) + 1000).toISOString()
    expect(Date.parse(await clock.advance(later))).toBeGreaterThanOrEqual(Date.parse(later))
    const read = await fetch(`/agent-cards/${id}`, { headers: { Authorization: `Bearer ${keys.agent}` } })
    expect(await read.json()).toMatchObject({ data: { attributes: { status: 'expired' } } })
    await expect(clock.advance(-1)).rejects.toThrow('seconds')
  })

  it('two sandboxes are independent of each other', async () => {
    const [one, other] = [await sandboxOf(), await sandboxOf()]
    await one.fetch('/agent-cards', cardRequest(one.keys.agent))
    await buy(await connect(one))
    await one.clock.advance(86_400)
    expect(await availableCents(other)).toBe(250_000)
    expect(Date.parse(await one.clock.now()) - Date.parse(await other.clock.now())).toBeGreaterThan(80_000_000)
    expect((await other.fetch('/whoami', { headers: { Authorization: `Bearer ${one.keys.agent}` } })).status).toBe(401)
    await one.close()
    expect(await availableCents(other)).toBe(250_000)
  })
})

describe('faults', () => {
  it('faults are set, listed with their hit counts, and cleared', async () => {
    const { fetch, keys, faults } = await sandboxOf({ port: false })
    const rule = { id: 'busy', operation: 'whoami', fault: 'error', code: 'service_unavailable' } as const
    expect(await faults.set(rule)).toMatchObject({ ...rule, hits: 0 })
    const agentStatus = async () =>
      (await fetch('/whoami', { headers: { Authorization: `Bearer ${keys.agent}` } })).status
    expect(await agentStatus()).toBe(503)
    const other = await faults.set({ operation: 'list_wallets', fault: 'empty_page' })
    const listed = async () => (await faults.list()).filter(({ origin }) => origin === 'operation')
    expect(await listed()).toMatchObject([{ id: 'busy', hits: 1 }, { id: other.id }])
    await faults.clear('busy')
    expect(await agentStatus()).toBe(200)
    await faults.clear()
    expect(await listed()).toEqual([])
    await expect(faults.clear('busy')).rejects.toThrow('busy')
    await expect(faults.set({ fault: 'reset' })).rejects.toThrow('operation')
  })

  it('a fault that cuts the connection looks like a network failure, in the process and over the network', async () => {
    const sandbox = await sandboxOf()
    await sandbox.faults.set({ operation: 'issue_agent_card', fault: 'effect_then_lost', when: { times: 2 } })
    await expect(sandbox.fetch('/agent-cards', cardRequest(sandbox.keys.agent))).rejects.toMatchObject(cut)
    await expect(fetch(`${sandbox.url}/agent-cards`, cardRequest(sandbox.keys.agent))).rejects.toMatchObject({
      name: 'TypeError',
      message: 'fetch failed',
    })
    const headers = { Authorization: `Bearer ${sandbox.keys.agent}` }
    expect(await dataOf(sandbox.fetch('/agent-cards', { headers }))).toHaveLength(2)
  })

  it('a hanging request ends when its client gives up or the sandbox is closed', async () => {
    const sandbox = await sandboxOf()
    await sandbox.faults.set({ operation: 'whoami', fault: 'hang', afterMs: 120_000 })
    const headers = { Authorization: `Bearer ${sandbox.keys.agent}` }
    const controller = new AbortController()
    const givenUp = expect(sandbox.fetch('/whoami', { headers, signal: controller.signal })).rejects.toBe('given up')
    controller.abort('given up')
    await givenUp
    const hanging = [
      expect(sandbox.fetch('/whoami', { headers })).rejects.toMatchObject(cut),
      expect(fetch(`${sandbox.url}/whoami`, { headers })).rejects.toThrow('fetch failed'),
    ]
    await expect.poll(async () => (await sandbox.faults.list()).find(({ fault }) => fault === 'hang')?.hits).toBe(3)
    await sandbox.close()
    await Promise.all(hanging)
  })
})

describe('closing a sandbox', () => {
  it('closing rejects pending and later requests and releases the port; closing again does nothing', async () => {
    const sandbox = await sandboxOf()
    const { url, keys } = sandbox
    const card = await dataOf(sandbox.fetch('/agent-cards', cardRequest(keys.agent)))
    const headers = { Authorization: `Bearer ${keys.agent}` }
    const path = `/agent-cards/${card.id}?waitSeconds=50`
    const pending = expect(sandbox.fetch(path, { headers })).rejects.toMatchObject(cut)
    const overNetwork = Promise.allSettled([fetch(url + path, { headers })])
    await Promise.all([sandbox.close(), sandbox.close(), pending, overNetwork])
    await expect(sandbox.fetch('/whoami')).rejects.toMatchObject(cut)
    await expect(sandbox.clock.now()).rejects.toMatchObject(cut)
    await expect(fetch(`${url}/whoami`)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
    await sandbox.close()
  })

  it('a sandbox declared with await using is closed at the end of its block', async () => {
    let left: Sandbox
    {
      await using sandbox = await createSandbox({ port: false })
      left = sandbox
      expect((await left.fetch('/healthz')).status).toBe(200)
    }
    await expect(left.fetch('/healthz')).rejects.toMatchObject(cut)
  })

  it('a closed sandbox lets the process end, and has printed nothing', () => {
    const sandboxFile = fileURLToPath(new URL('../../src/testing/sandbox.ts', import.meta.url))
    const program = `
      const { createSandbox } = await import(${JSON.stringify(sandboxFile)})
      const sandbox = await createSandbox()
      const headers = { Authorization: 'Bearer ' + sandbox.keys.agent }
      for (const path of ['/whoami', '/wallets', '/nowhere']) await (await fetch(sandbox.url + path, { headers })).text()
      await sandbox.close()
      console.log('closed')`
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      timeout: 120_000,
    })
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'closed\n', stderr: '' })
  })
})

onEachDatabase('a sandbox', (database) => {
  it('a sandbox can be reset to its initial state or to a saved one; keys and connections stay valid', async () => {
    const { url, drop } = await database.createEmpty()
    const sandbox = await createSandbox({ database: url })
    const client = await connect(sandbox)
    try {
      const keys = { ...sandbox.keys }
      const began = Date.parse(await sandbox.clock.now())
      await buy(client)
      await sandbox.clock.advance(86_400)
      await sandbox.faults.set({ operation: 'whoami', fault: 'reset' })
      await sandbox.save('one-purchase')
      await sandbox.reset()
      expect(await availableCents(sandbox)).toBe(250_000)
      expect(Date.parse(await sandbox.clock.now()) - began).toBeLessThan(80_000_000)
      expect((await sandbox.faults.list()).filter(({ origin }) => origin === 'operation')).toEqual([])
      // After the reset, an identical purchase does not count as a repeat of the first purchase.
      expect(await buy(client)).toMatchObject({ status: 'captured' })
      expect(await availableCents(sandbox)).toBe(250_000 - 4250)
      await sandbox.restore('one-purchase')
      expect(Date.parse(await sandbox.clock.now()) - began).toBeGreaterThan(80_000_000)
      expect(await availableCents(sandbox)).toBe(250_000 - 4250)
      expect(sandbox.keys).toEqual(keys)
      await expect(sandbox.restore('another')).rejects.toThrow('another')
    } finally {
      await client.close()
      await sandbox.close()
      await drop()
    }
  })

  it('a new sandbox continues with the content of an existing database', async () => {
    const { url, drop } = await database.createEmpty()
    try {
      const first = await createSandbox({ database: url, port: false })
      const client = await connect(first)
      await buy(client)
      await client.close()
      await first.close()
      const second = await createSandbox({ database: url })
      expect(second.keys).toEqual(first.keys)
      expect(await availableCents(second)).toBe(250_000 - 4250)
      await second.close()
    } finally {
      await drop()
    }
  })
})

describe('a custom world', () => {
  const key = 'a'.repeat(32)
  const world = {
    name: 'Small',
    clock: '2026-03-01T09:00:00Z',
    parties: [
      {
        ref: 'shop',
        type: 'ORG' as const,
        displayName: 'Shop',
        email: 'shop@example.com',
        wallets: [{ ref: 'main', balance: 700 }],
        agents: [{ ref: 'buyer', name: 'Buyer', keys: [{ ref: 'main', secret: key }] }],
        apiKeys: [{ ref: 'main', name: 'Key' }],
      },
    ],
  }

  it('a world is given as an object, as the content of a file, or as the path of a file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'payments-mcp-world-'))
    try {
      const path = join(directory, 'world.json')
      await writeFile(path, JSON.stringify(world))
      for (const source of [world, JSON.stringify(world), stringify(world), path]) {
        await using sandbox = await createSandbox({ world: source, port: false })
        expect(await availableCents(sandbox)).toBe(700)
        expect(sandbox.keys.agent).toBe(`ak_ntl_sandbox_${key}`)
        await sandbox.reset()
        expect(await sandbox.clock.now()).toMatch(/^2026-03-01T09:00:/)
      }
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  it('mistakes in the options or in the world are reported with their location', async () => {
    const mistyped = { wrld: 'world.yaml' } as never
    await expect(createSandbox(mistyped)).rejects.toThrow('createSandbox: wrld is not an option; did you mean world?')
    await expect(createSandbox({ world: 'parties:\n  - ref: shop\n    typ: ORG\n' })).rejects.toThrow('world:3:5')
    await expect(createSandbox({ world: { parties: [] } })).rejects.toThrow('world: parties')
    const [shop] = world.parties
    const twice = { parties: [shop, { ...shop, ref: 'other' }] }
    await expect(createSandbox({ world: twice as never })).rejects.toThrow(/^world: parties\[1\]/)
    await expect(createSandbox({ world: 'no/such/world.yaml' })).rejects.toThrow(
      /^createSandbox: world got "no\/such\/world.yaml", which does not exist/,
    )
  })

  it('a world needs no agent; without one, only reading keys.agent fails', async () => {
    const [{ agents: _, ...shop } = {}] = world.parties
    await using sandbox = await createSandbox({ world: { parties: [shop as never] }, port: false })
    await sandbox.reset()
    expect(() => sandbox.keys.agent).toThrow('no agent with a key')
  })
})

test('a request whose signal is aborted rejects with the reason of the abort', async () => {
  const { fetch } = await sandboxOf({ port: false })
  await expect(fetch('/healthz', { signal: AbortSignal.abort('given up') })).rejects.toBe('given up')
})

describe('an unusable option', () => {
  test.each<[SandboxOptions, string]>([
    [{ port: 70_000 }, 'port got "70000"; it accepts an integer from 0 to 65535.'],
    [{ database: 'mysql://root:secret@host' }, 'database got "mysql://[masked]@host"; it accepts sqlite:PATH'],
    [{ database: 'sqlite:/dev/null/x' }, 'database cannot be used. Cannot use the database sqlite:/dev/null/x'],
    [{ logLevel: 'loud' as 'info' }, 'logLevel got "loud"; it accepts trace, debug'],
  ])('%j is refused with a message that mentions the option', async (options, message) => {
    await expect(createSandbox(options)).rejects.toThrow(new RegExp(`^createSandbox: ${RegExp.escape(message)}`))
  })

  test('a port that is in use is refused with EADDRINUSE', async () => {
    const { url } = await sandboxOf()
    await expect(createSandbox({ port: Number(new URL(url).port) })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })
})

/** The error with which fetch rejects if the connection is cut. */
const cut = { name: 'TypeError', message: 'fetch failed', cause: { code: 'ECONNRESET' } }

function cardRequest(key: string): RequestInit {
  const attributes = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
  return {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': crypto.randomUUID(),
      'X-Instance-ID': 'run 1',
    },
    body: JSON.stringify({ data: { attributes } }),
  }
}

async function availableCents({ fetch, keys }: Sandbox): Promise<number> {
  const [wallet] = await dataOf(fetch('/wallets', { headers: { Authorization: `Bearer ${keys.agent}` } }))
  return wallet.attributes.balance.available
}

// biome-ignore lint/suspicious/noExplicitAny: tests read properties of every kind of answer.
async function dataOf(answer: Promise<Response>): Promise<any> {
  return ((await (await answer).json()) as { data: unknown }).data
}

async function connect({ mcpUrl, fetch, keys }: Sandbox): Promise<Client> {
  const client = new Client({ name: 'agent', version: '1' })
  const requestInit = { headers: { Authorization: `Bearer ${keys.agent}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl), { requestInit, fetch }))
  return client
}

async function buy(client: Client): Promise<Record<string, unknown>> {
  const call = async (name: string, args: Record<string, unknown>) => {
    const { structuredContent } = await client.callTool({ name, arguments: args })
    return (structuredContent as { data: { id: string; attributes: Record<string, unknown> } }).data
  }
  const merchant = { name: 'Books' }
  const card = await call('issue_agent_card', { merchant, maximumAmount: 5000, currency: 'USD' })
  const amount = { amount: 4250, currency: 'USD' }
  const purchase = await call('simulate_card_authorization', { cardId: card.id, ...amount, merchant })
  return (await call('simulate_card_capture', { cardTransactionId: purchase.id, ...amount })).attributes
}
