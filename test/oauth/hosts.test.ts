import { Client as V2Client, StreamableHTTPClientTransport as V2Transport } from '@modelcontextprotocol/client'
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as V1Transport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBrowser, type TestBrowser } from '../pages/browser.ts'
import { createHostAccount, type HostAccount } from './host-account.ts'
import { type Served, serveWorld } from './served.ts'

interface Host {
  connect(): Promise<void>
  /**
   * Finishes the sign-in with the query parameters of the redirect to the host. The host must connect again afterwards.
   */
  finish(answer: URLSearchParams): Promise<void>
  call(name: string, input?: object): Promise<{ structuredContent?: unknown; isError?: boolean; content?: unknown }>
  close(): Promise<void>
}

const hosts = [
  { name: 'v1 client', open: openV1 },
  { name: 'v2 client, MCP 2025', open: (url: URL, account: HostAccount) => openV2(url, account, 'legacy') },
  { name: 'v2 client, MCP 2026', open: (url: URL, account: HostAccount) => openV2(url, account, 'auto') },
]

let browser: TestBrowser
let served: Served
beforeAll(async () => {
  browser = await startBrowser()
  served = await serveWorld()
})
afterAll(async () => {
  await browser.close()
  await served.close()
})

describe.each(hosts)('an AI host on the MCP SDK: $name', ({ open }) => {
  test('the host requests the four default scopes, and more when a tool needs them', async () => {
    const account = createHostAccount('Modest Host')
    const mcpUrl = new URL(`${served.url}/mcp/x/default,customers`)
    // The v2 clients add offline_access, because the authorization server's metadata lists it.
    const scopes = () => {
      const requestedScopes = new URL(String(account.authorizationUrl)).searchParams.get('scope')?.split(' ') ?? []
      return requestedScopes.filter((scope) => scope !== 'offline_access').sort()
    }
    let host = open(mcpUrl, account)
    await expect(host.connect()).rejects.toThrow()
    const defaults = ['cards:agent', 'customers:read', 'payments:read', 'payments:write']
    expect(scopes()).toEqual(defaults)
    const context = await browser.newContext()
    await host.finish(await allow(context, String(account.authorizationUrl)))
    await host.close()
    host = open(mcpUrl, account)
    await host.connect()
    const invitation = {
      recipients: [{ type: 'email', value: 'customer@example.com' }],
      agents: [{ agentId: (await callWhoami(host)).whoami.agentId, permissions: ['payments.read'] }],
    }
    // If it had a refresh token, the v1 client would refresh its access token instead of requesting more scopes.
    account.forgetRefreshToken()
    await expect(host.call('create_customer_invitation', invitation)).rejects.toThrow()
    expect(scopes()).toEqual([...defaults, 'customers:write'].sort())
    await host.finish(await allow(context, String(account.authorizationUrl)))
    await host.close()
    host = open(mcpUrl, account)
    await host.connect()
    const invited = await host.call('create_customer_invitation', invitation)
    expect(invited.isError, JSON.stringify(invited.content)).not.toBe(true)
    await host.close()
    await disconnectAll(context)
    await context.close()
  }, 60_000)

  test('the host signs in, acts as the chosen agent, and is refused once the person disconnects it', async () => {
    const account = createHostAccount('Test Host')
    const card = { merchant: { name: 'Books' }, maximumAmount: 900, currency: 'USD' }
    const mcpUrl = new URL(`${served.url}/mcp`)
    let host = open(mcpUrl, account)
    await expect(host.connect()).rejects.toThrow()
    const context = await browser.newContext()
    const answer = await allow(context, String(account.authorizationUrl), 'Chosen agent')
    await host.finish(answer)
    await host.close()
    host = open(mcpUrl, account)
    await host.connect()
    const { structuredContent, whoami } = await callWhoami(host)
    const { agentId, actorType, agentIdentitySource } = whoami
    expect({ actorType, agentIdentitySource }).toEqual({ actorType: 'agent', agentIdentitySource: 'oauth_grant' })
    const agent = await served.world.get(`/agents/${agentId}`, { key: served.world.apiKey })
    expect(agent.json.data.attributes.name).toBe('Chosen agent')
    const issued = await host.call('issue_agent_card', {
      merchant: { name: 'Books' },
      maximumAmount: 900,
      currency: 'USD',
    })
    expect(issued.isError).not.toBe(true)

    await revokeCardPermission(context)
    await expect(host.call('issue_agent_card', card)).rejects.toThrow()
    await expect(host.call('list_wallets')).resolves.not.toHaveProperty('isError', true)
    const more = new URL(String(account.authorizationUrl))
    expect(more.searchParams.get('scope')?.split(' ')).toEqual(
      expect.arrayContaining(['cards:agent', 'payments:write']),
    )
    await host.finish(await allow(context, more.href))
    await host.close()
    host = open(mcpUrl, account)
    await host.connect()
    expect((await host.call('issue_agent_card', card)).isError).not.toBe(true)
    expect((await host.call('whoami')).structuredContent).toEqual(structuredContent)

    await disconnectAll(context)
    account.forgetRefreshToken()
    // The service refuses the call, so the host starts a new sign-in.
    const authorizationUrl = account.authorizationUrl
    await expect(host.call('whoami')).rejects.toThrow()
    expect(account.authorizationUrl).not.toBe(authorizationUrl)
    await host.close().catch(() => {})
    await context.close()
  })
})

interface Whoami {
  agentId: string
  actorType: string
  agentIdentitySource: string
}

async function callWhoami(host: Host): Promise<{ structuredContent: unknown; whoami: Whoami }> {
  const { structuredContent } = await host.call('whoami')
  return { structuredContent, whoami: (structuredContent as { data: { attributes: Whoami } }).data.attributes }
}

/** Acts as a person in a browser: signs in with a password, creates an agent if `name` is given, and allows access. */
async function allow(context: BrowserContext, url: string, name?: string): Promise<URLSearchParams> {
  const page = await context.newPage()
  await page.goto(url)
  if (new URL(page.url()).pathname === '/sign-in') {
    const { email, password } = await served.world.service.seedPassword('a password of the owner')
    await page.getByLabel('Email').fill(String(email))
    await page.getByLabel('Password').fill(String(password))
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  if (name !== undefined) {
    await page.getByLabel('Create a new agent').check()
    await page.getByLabel('Name', { exact: true }).fill(name)
  }
  const back = page.waitForRequest((request) => request.url().startsWith('http://127.0.0.1:1/callback'))
  await page.getByRole('button', { name: 'Allow' }).click()
  const { searchParams } = new URL((await back).url())
  await page.close()
  return searchParams
}

async function revokeCardPermission(context: BrowserContext): Promise<void> {
  const page = await context.newPage()
  await page.goto(`${served.url}/connections`)
  await page.getByRole('checkbox', { name: /issue cards/i }).uncheck()
  await page.getByRole('button', { name: /save permissions/i }).click()
  await page.getByRole('status').waitFor()
  await page.close()
}

async function disconnectAll(context: BrowserContext): Promise<void> {
  const page = await context.newPage()
  await page.goto(`${served.url}/connections`)
  const disconnect = page.getByRole('button', { name: /disconnect/i })
  for (let left = await disconnect.count(); left > 0; left--) {
    await disconnect.first().click()
    await page.getByRole('status').waitFor()
  }
  await page.close()
}

function openV1(url: URL, account: HostAccount): Host {
  const client = new V1Client({ name: 'test', version: '1' })
  const transport = new V1Transport(url, { authProvider: account.provider })
  return {
    connect: () => client.connect(transport),
    finish: (answer) => transport.finishAuth(String(answer.get('code'))),
    call: (name, input = {}) => client.callTool({ name, arguments: { ...input } }) as ReturnType<Host['call']>,
    close: () => client.close(),
  }
}

function openV2(url: URL, account: HostAccount, mode: 'legacy' | 'auto'): Host {
  const client = new V2Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const transport = new V2Transport(url, { authProvider: account.provider })
  return {
    connect: () => client.connect(transport),
    finish: (answer) => transport.finishAuth(answer),
    call: (name, input = {}) => client.callTool({ name, arguments: { ...input } }) as ReturnType<Host['call']>,
    close: () => client.close(),
  }
}
