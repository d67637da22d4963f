import { rmSync } from 'node:fs'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { StdioClientTransport as EarlierStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { Transport } from '@modelcontextprotocol/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Host, hosts, type ToolResult } from '../mcp/hosts.ts'
import { transportTo } from '../mcp-http/hosting.ts'
import { type Served, serveWorld } from '../oauth/served.ts'
import { runResource } from '../support/run-resources.ts'
import { emptyHome, homeWithLogin, signInHost } from './credentials.ts'

const cli = await runResource('cli')

/** The kinds of credentials, each with the attributes that `whoami` returns for it. */
const credentials = [
  { kind: 'key', agentIdentitySource: 'credential', credentialKind: 'agent_key' },
  { kind: 'OAuth', agentIdentitySource: 'oauth_grant', credentialKind: 'oauth_access_token' },
] as const

type Kind = (typeof credentials)[number]['kind']
type Sdk = (typeof hosts)[number]['sdk']

let served: Served
const bearers: Record<Kind, string> = { key: '', OAuth: '' }
const homes: Record<Kind, string> = { key: '', OAuth: '' }

beforeAll(async () => {
  served = await serveWorld()
  bearers.key = served.world.agentKey
  bearers.OAuth = await signInHost(served)
  homes.key = emptyHome()
  homes.OAuth = await homeWithLogin(served)
})
afterAll(async () => {
  await served.close()
  for (const home of Object.values(homes)) rmSync(home, { recursive: true, force: true })
})

const transports = {
  HTTP: (sdk: Sdk, kind: Kind): Transport => transportTo(sdk, `${served.url}/mcp`, bearers[kind]),
  stdio: (sdk: Sdk, kind: Kind): Transport => {
    const key: Record<string, string> = kind === 'key' ? { PAYMENTS_KEY: bearers.key } : {}
    const env = { PAYMENTS_BASE_URL: served.url, HOME: homes[kind], XDG_DATA_HOME: homes[kind], ...key }
    const parameters = { command: process.execPath, args: [cli], env, stderr: 'inherit' as const }
    return sdk === 'v1'
      ? (new EarlierStdioTransport(parameters) as unknown as Transport)
      : new StdioClientTransport(parameters)
  },
}

const cells = hosts.flatMap((host) =>
  (['HTTP', 'stdio'] as const).flatMap((transport) =>
    credentials.map((credential) => ({ ...host, ...credential, transport })),
  ),
)

function dataOf({ structuredContent, content }: ToolResult) {
  if (structuredContent === undefined) throw new Error(content[0]?.text)
  return structuredContent.data
}

const dollars = { amount: 1_200, currency: 'USD' }

/**
 * Makes a purchase through a host. Each test case needs its own merchant, because the equal calls of two test cases
 * would count as repeats.
 */
async function purchase(host: Host, name: string): Promise<string> {
  const merchant = { name }
  const card = dataOf(await host.callTool('issue_agent_card', { merchant, maximumAmount: 5_000, currency: 'USD' }))
  const authorized = await host.callTool('simulate_card_authorization', { cardId: card.id, merchant, ...dollars })
  const { id: cardTransactionId } = dataOf(authorized)
  const captured = await host.callTool('simulate_card_capture', { cardTransactionId, ...dollars })
  expect(dataOf(captured).attributes).toMatchObject({ status: 'captured', captured: 1_200, held: 0 })
  return cardTransactionId
}

describe('interoperability with hosts', () => {
  test.each(cells)(
    '$host makes a purchase over $transport and reads it (credential: $kind)',
    async ({ host: title, open, sdk, version, transport, ...credential }) => {
      const host = open()
      try {
        await host.connect(transports[transport](sdk, credential.kind))
        // Over HTTP, SDK v1 does not expose the negotiated protocol version.
        expect(host.version() ?? version).toBe(version)
        const { tools } = await host.listTools()
        expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['whoami', 'simulate_card_capture']))
        const { attributes } = dataOf(await host.callTool('whoami'))
        const { agentIdentitySource, credentialKind } = credential
        expect(attributes).toMatchObject({
          actorType: 'agent',
          credentialKind,
          agentIdentitySource,
        })

        const cardTransactionId = await purchase(host, `Books of ${title} over ${transport} with ${credential.kind}`)
        const uri = `payments://card-transactions/${cardTransactionId}`
        const [resource] = (await host.requests.readResource({ uri })).contents
        expect(JSON.parse(String((resource as { text?: string }).text)).data.attributes.agentId).toBe(
          attributes.agentId,
        )
        const prompt = await host.requests.getPrompt({ name: 'rehearse_purchase', arguments: { outcome: 'refund' } })
        expect(JSON.stringify(prompt.messages)).toContain('simulate_card_refund')
      } finally {
        await host.close()
      }
    },
  )
})
