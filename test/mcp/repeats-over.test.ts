import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { databaseMemories } from '../../src/commands/database-memory.ts'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { newId } from '../../src/core/system.ts'
import { obsoleteStatuses } from '../../src/mcp/tools/obsolete-statuses.ts'
import { catalogue } from '../../tools/index.ts'
import { trust } from '../credentials/requests.ts'
import { onEachDatabase } from '../support/databases.ts'
import { isDeep, sampleOf } from '../support/depth.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { anotherProcess, createWorld, type World } from '../support/world.ts'
import { connectHost } from './connected.ts'
import { errorOf, type Host, hosts, type ToolResult } from './hosts.ts'
import { type Connector, httpConnector, stdioConnector } from './repeating.ts'

interface CreatedRecord {
  id: string
  attributes: Record<string, unknown>
}

/** The tests' world, and the ids that the calls in the tests use. */
interface Scene {
  world: World
  agentId: string
  walletId: string
  /** Sends a request as the party's owner. */
  owner(method: string, path: string, attributes?: object): Promise<CreatedRecord>
}

/** A call of a tool that the repeat guard covers. The guard recognizes a call that equals an earlier call. */
interface GuardedCall {
  by: 'agent' | 'owner'
  arguments(scene: Scene): Promise<Record<string, unknown>> | Record<string, unknown>
  /** The ways to make the created record useless, by the resulting state of the record. */
  ends: Record<string, (scene: Scene, made: CreatedRecord) => unknown>
}

let count = 0
const unknownRecipient = () => ({ type: 'email', value: `nobody${count++}@example.com` })
const merchant = { name: 'Books' }
const address = { line1: '1 Main St', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' }
const beneficiary = { name: 'A supplier', accountNumber: '000123456789', routingNumber: '021000021', address }
const permissions = ['payments.read']
/** Returns a different amount each time, so that no two tests make equal calls. */
const amount = () => 1_000 + count++
const name = () => `Thing ${count++}`
/** Returns a different amount each time. Each amount exceeds the party's limit and so needs an approval. */
const reviewedAmount = () => 60_000 + count++

const deny = async ({ world, owner }: Scene, made: CreatedRecord) => {
  const { json } = await world.get('/approvals?limit=100', { key: world.apiKey })
  const approval = json.data.find(
    (one: { attributes: { target: CreatedRecord } }) => one.attributes.target.id === made.id,
  )
  await owner('POST', `/approvals/${approval.id}/deny`)
}
const linkBank = async ({ owner }: Scene) => {
  const account = await owner('POST', '/external-accounts/processor-token', {
    processorToken: 'processor-sandbox-accounts',
  })
  return { externalAccountId: (account as unknown as CreatedRecord[])[0]?.id }
}
const simulate = (path: string) => (scene: Scene, made: CreatedRecord) =>
  scene.owner('POST', `/simulations/${path.replace('{id}', made.id)}`)
/** Returns a different timestamp on each call, about `hours` after the sandbox clock, which tests advance. */
const hoursFromNow = async ({ owner }: Scene, hours: number) => {
  const { now } = (await owner('GET', '/simulations/clock')).attributes
  return new Date(Date.parse(String(now)) + hours * 3_600_000 + count++ * 1000).toISOString()
}
const advance =
  (seconds: number) =>
  ({ owner }: Scene) =>
    owner('POST', '/simulations/clock/advance', { seconds })
const deleteAgent = ({ owner }: Scene, { agentId }: { agentId?: unknown }) => owner('DELETE', `/agents/${agentId}`)
const newAgent = async ({ owner }: Scene) => (await owner('POST', '/agents', { name: name() })).id
const agentOfRecord = (made: CreatedRecord & { relationships?: Record<string, { data: CreatedRecord }> }) => ({
  agentId: made.relationships?.agent?.data.id,
})
const createWebhook = ({ owner }: Scene) =>
  owner('POST', '/webhooks', { url: `https://hooks.example.com/${count++}`, enabledEvents: ['*'] })
const webhookEnds: GuardedCall['ends'] = {
  disabled: ({ owner }, { id }) => owner('PATCH', `/webhooks/${id}`, { status: 'DISABLED' }),
  deleted: ({ owner }, { id }) => owner('DELETE', `/webhooks/${id}`),
  'given another secret': ({ owner, world }, { id }) => {
    world.system.pass(1_000)
    return owner('POST', `/webhooks/${id}/rotate-secret`, { expiresInSeconds: 0 })
  },
}
const invitationEnds: GuardedCall['ends'] = {
  revoked: ({ owner }, { id }) => owner('DELETE', `/customers/invitations/${id}`),
  declined: simulate('customer-invitations/{id}/decline'),
  expired: advance(2 * 3600),
  'left without its agent': (scene, made) => deleteAgent(scene, agentOfRecord(made)),
}

const guarded: Record<string, GuardedCall> = {
  create_payment: {
    by: 'agent',
    arguments: () => ({ amount: amount(), counterparty: unknownRecipient() }),
    ends: { canceled: ({ owner }, { id }) => owner('POST', `/payments/${id}/cancel`) },
  },
  create_wire: {
    by: 'owner',
    arguments: () => ({ amount: reviewedAmount(), beneficiary }),
    ends: { denied: deny },
  },
  create_internal_transfer: {
    by: 'owner',
    arguments: async ({ owner, walletId }) => ({
      amount: amount(),
      sourceWalletId: walletId,
      destWalletId: (await owner('POST', '/wallets', { displayName: name() })).id,
    }),
    ends: {},
  },
  fund_sandbox_wallet: {
    by: 'agent',
    arguments: async ({ world }) => ({ customerId: (await world.whoami()).partyId, amount: amount() }),
    ends: {},
  },
  create_deposit: {
    by: 'owner',
    arguments: async (scene) => ({ amount: amount(), ...(await linkBank(scene)) }),
    ends: {
      failed: simulate('transfers/{id}/fail'),
      returned: async (scene, made) => {
        await simulate('transfers/{id}/settle')(scene, made)
        await simulate('transfers/{id}/return')(scene, made)
      },
    },
  },
  create_withdrawal: {
    by: 'owner',
    arguments: async (scene) => ({ amount: amount(), ...(await linkBank(scene)) }),
    ends: { failed: simulate('transfers/{id}/fail') },
  },
  create_payment_request: {
    by: 'agent',
    arguments: () => ({ amount: amount(), payer: unknownRecipient() }),
    ends: {
      canceled: ({ owner }, { id }) => owner('POST', `/payment-requests/${id}/cancel`),
      declined: simulate('payment-requests/{id}/decline'),
    },
  },
  issue_agent_card: {
    by: 'agent',
    arguments: () => ({ merchant, maximumAmount: amount(), currency: 'USD' }),
    ends: {
      used: async ({ world }, { id }) => {
        const purchase = { amount: 100, currency: 'USD', merchant }
        expect((await world.post(`/simulations/agent-cards/${id}/authorize`, purchase)).status).toBe(200)
      },
      frozen: ({ owner }, { id }) => owner('POST', `/agent-cards/${id}/freeze`),
      expired: advance(3601),
    },
  },
  create_subscription: {
    by: 'agent',
    arguments: () => ({
      description: name(),
      every: { unit: 'month', count: 1 },
      amount: amount(),
      taxAmount: 0,
      expiresInMinutes: 5,
    }),
    ends: {
      canceled: ({ owner }, { id }) => owner('POST', `/subscriptions/${id}/cancel`, {}),
      'unpaid until its checkout expired': advance(301),
    },
  },
  create_wallet: {
    by: 'owner',
    arguments: () => ({ displayName: name() }),
    ends: { frozen: ({ owner }, { id }) => owner('POST', `/wallets/${id}/freeze`) },
  },
  create_agent: {
    by: 'owner',
    arguments: () => ({ name: name() }),
    ends: { deleted: ({ owner }, { id }) => owner('DELETE', `/agents/${id}`) },
  },
  create_webhook: {
    by: 'owner',
    arguments: () => ({ url: `https://hooks.example.com/${count++}`, enabledEvents: ['*'] }),
    ends: webhookEnds,
  },
  rotate_webhook_secret: {
    by: 'owner',
    arguments: async (scene) => ({ webhookId: (await createWebhook(scene)).id, expiresInSeconds: 60 }),
    ends: webhookEnds,
  },
  create_api_key: {
    by: 'owner',
    arguments: () => ({ name: name(), scopes: ['payments.read'] }),
    ends: { revoked: ({ owner }, { id }) => owner('DELETE', `/api-keys/${id}`) },
  },
  create_agent_key: {
    by: 'owner',
    arguments: async (scene) => ({ agentId: await newAgent(scene) }),
    ends: {
      revoked: ({ owner }, { id }) => owner('DELETE', `/agent-keys/${id}`),
      'left without its agent': (scene, made) => deleteAgent(scene, agentOfRecord(made)),
    },
  },
  create_application: {
    by: 'owner',
    arguments: async (scene) => ({ agentId: await newAgent(scene), name: name() }),
    ends: {
      revoked: ({ owner }, { id }) => owner('DELETE', `/applications/${id}`),
      'left without its agent': (scene, made) => deleteAgent(scene, agentOfRecord(made)),
    },
  },
  create_trusted_issuer: {
    by: 'owner',
    arguments: async (scene) => ({
      ...trust,
      name: name(),
      agents: [{ claim: 'sub', value: 'clerk', agentId: await newAgent(scene) }],
    }),
    ends: { revoked: ({ owner }, { id }) => owner('DELETE', `/trusted-issuers/${id}`) },
  },
  rotate_agent_key: {
    by: 'owner',
    arguments: async ({ world, agentId }) => {
      const body = JSON.stringify({
        data: { attributes: {}, relationships: { agent: { data: { type: 'agent', id: agentId } } } },
      })
      const { json } = await world.send('POST', '/agent-keys', { key: world.apiKey, body })
      return { keyId: json.data.id, expiresInSeconds: 60 }
    },
    ends: { revoked: ({ owner }, { id }) => owner('DELETE', `/agent-keys/${id}`) },
  },
  create_customer_invitation: {
    by: 'owner',
    arguments: async (scene) => ({
      recipients: [unknownRecipient()],
      agents: [{ agentId: await newAgent(scene), permissions }],
      expiresAt: await hoursFromNow(scene, 1),
    }),
    ends: invitationEnds,
  },
  create_agent_customer_invitation: {
    by: 'owner',
    arguments: async (scene) => ({
      agentId: await newAgent(scene),
      recipients: [unknownRecipient()],
      permissions,
      expiresAt: await hoursFromNow(scene, 1),
    }),
    ends: invitationEnds,
  },
  create_invitation_link: {
    by: 'owner',
    arguments: async (scene) => ({
      name: name(),
      proposedAgents: [{ agentId: await newAgent(scene), permissions }],
      expiresAt: await hoursFromNow(scene, 1),
    }),
    ends: {
      revoked: ({ owner }, { id }) => owner('POST', `/customers/invitation-links/${id}/revoke`),
      expired: advance(2 * 3600),
      'left without its agent': (scene, made) =>
        deleteAgent(scene, (made.attributes.proposedAgents as { agentId: string }[])[0] ?? {}),
    },
  },
}

const recordIn = (result: ToolResult) => [result.structuredContent?.data].flat()[0] as CreatedRecord
const isRepeat = (result: ToolResult) => Object.hasOwn(result.structuredContent ?? {}, 'repeated')

/** Makes the call that `advice` asks for. */
async function follow(scene: Scene, host: Host, tool: string, input: Record<string, unknown>, advice: string) {
  const [, key] = /call \w+ again with the same arguments and idempotencyKey "([^"]+)"/.exec(advice) ?? []
  if (key !== undefined) return host.callTool(tool, { ...input, idempotencyKey: key })
  if (advice.includes(`call ${tool} again with a later expiresAt`)) {
    return host.callTool(tool, { ...input, expiresAt: await hoursFromNow(scene, 24) })
  }
  const [, agentId, idempotencyKey] =
    /call create_agent_key with agentId "([^"]+)" and idempotencyKey "([^"]+)"/.exec(advice) ?? []
  if (agentId !== undefined) return host.callTool('create_agent_key', { agentId, idempotencyKey })
  const advised = /call create_webhook with url "([^"]+)", enabledEvents (\[.*\]) and idempotencyKey "([^"]+)"/.exec(
    advice,
  )
  if (advised !== null) {
    const [, url, events = '', webhookKey] = advised
    return host.callTool('create_webhook', { url, enabledEvents: JSON.parse(events), idempotencyKey: webhookKey })
  }
  if (advice.includes('call list_agents')) return host.callTool('list_agents')
  // If the server does not know which record the first call created, it advises listing the records.
  const [, list] = /Call (list_\w+) and decide again/.exec(advice) ?? []
  if (list !== undefined) return host.callTool(list)
  if (advice.includes('pass a new idempotencyKey')) {
    return host.callTool(tool, { ...input, idempotencyKey: newId('idk', scene.world.system, scene.world.system.now()) })
  }
  throw new Error(`no known advice in: ${advice}`)
}

test('every guarded tool is tested here, and obsoleteStatuses covers every type of record that these tools create', () => {
  const operations = Object.values<OperationDefinition>(catalogue).filter(({ adds }) => adds === true)
  expect(Object.keys(guarded).sort()).toEqual(operations.map(({ name: tool }) => tool).sort())
  const types = operations.map(({ output }) => [...(output.shape.type as { values: Set<string> }).values][0] ?? '')
  expect(types.filter((type) => !Object.hasOwn(obsoleteStatuses, type))).toEqual([])
})

const connectorKinds = ['HTTP', 'stdio, embedded', 'stdio, against a remote API'] as const
const [host] = hosts
const endings = Object.entries(guarded).flatMap(([tool, { ends }]) =>
  (Object.keys(ends).length === 0 ? ['unchanged'] : Object.keys(ends)).map((end) => [tool, end] as const),
)

onEachDatabase('repeats and the state of the record', (database) => {
  let worlds: [World, World]
  let scene: Scene
  let directory: string
  const connectors: Connector[] = []
  beforeAll(async () => {
    const system = fakeSystem({ now: Date.now() })
    const world = await createWorld(database, { system })
    worlds = [world, await anotherProcess(world, system)]
    const owner: Scene['owner'] = async (method, path, attributes) => {
      const { status, json, text } = await world.send(method, path, {
        key: world.apiKey,
        ...(attributes && { attributes }),
      })
      expect(status, `${method} ${path}: ${text}`).toBeLessThan(300)
      return json?.data
    }
    const { agentId } = await world.whoami()
    const { json } = await world.get('/wallets')
    scene = { world, owner, agentId: String(agentId), walletId: json.data[0].id }
    await world.send('PUT', '/parties/me/limits', { key: world.apiKey, attributes: { perTransaction: 50_000 } })
    directory = await mkdtemp(join(tmpdir(), 'over-'))
  })
  afterEach(async () => {
    for (const connector of connectors.splice(0)) await connector.close()
  })
  afterAll(async () => {
    await worlds[1].drop()
    await worlds[0].drop()
    await rm(directory, { recursive: true })
  })

  const newConnector = async (kind: (typeof connectorKinds)[number], by: GuardedCall['by']) => {
    const options = { windowSeconds: 900, worlds, host, ...(by === 'owner' ? { key: scene.world.apiKey } : {}) }
    const file = join(directory, 'sent-calls.json')
    const connector =
      kind === 'HTTP'
        ? await httpConnector(options)
        : stdioConnector(options, kind.includes('remote') ? file : undefined)
    connectors.push(connector)
    return connector
  }

  test("the repeat of a payment that was claimed in the meantime shows the payment's current status", async () => {
    const input = { amount: amount(), counterparty: unknownRecipient() }
    const connector = await newConnector('HTTP', 'agent')
    const first = await (await connector.open()).callTool('create_payment', input)
    expect(recordIn(first).attributes.status).toBe('PENDING_CLAIM')
    await simulate('payments/{id}/complete-claim')(scene, recordIn(first))
    const repeat = await (await connector.open()).callTool('create_payment', input)
    expect([recordIn(repeat).id, recordIn(repeat).attributes.status]).toEqual([recordIn(first).id, 'COMPLETED'])
    const { claimLink } = recordIn(first).attributes
    expect([claimLink, recordIn(repeat).attributes.claimLink]).toEqual([expect.any(String), claimLink])
    expect(repeat.content[0]?.text).toContain(`${recordIn(first).id} is COMPLETED now.`)
  })

  test('a repeat with the same idempotencyKey gets the recorded answer and a remark on the current state', async () => {
    const input = {
      ...(await guarded.issue_agent_card?.arguments(scene)),
      idempotencyKey: `card ${count++} of the test`,
    }
    const client = await (await newConnector('stdio, embedded', 'agent')).open()
    const first = await client.callTool('issue_agent_card', input)
    await guarded.issue_agent_card?.ends.used?.(scene, recordIn(first))
    const replay = await client.callTool('issue_agent_card', input)
    expect(replay.structuredContent).toMatchObject({ replayed: true, data: first.structuredContent?.data })
    const text = String(replay.content[0]?.text)
    expect(text).toContain(`${recordIn(first).id}, which is used now.`)
    const another = await follow(scene, client, 'issue_agent_card', input, text)
    expect(recordIn(another).id).not.toBe(recordIn(first).id)
    expect(recordIn(another).attributes.status).toBe('active')
  })

  test('a repeat gets the first answer if the record cannot be read', async () => {
    const { keyId: id, partyId } = await scene.world.whoami()
    const memory = async () => databaseMemories(scene.world.service, scene.world.store)({ id, partyId })
    const forbidden = { errors: [{ code: 'forbidden', detail: 'No.', status: '403' }] }
    const connection = await connectHost(scene.world, host.open, {
      repeats: { windowMs: 900_000, run: undefined, memory },
      between: ({ method }) => (method === 'GET' ? Response.json(forbidden, { status: 403 }) : undefined),
    })
    const input = (await guarded.issue_agent_card?.arguments(scene)) ?? {}
    const first = await connection.host.callTool('issue_agent_card', input)
    await guarded.issue_agent_card?.ends.used?.(scene, recordIn(first))
    const repeat = await connection.host.callTool('issue_agent_card', input)
    expect([recordIn(repeat).id, isRepeat(repeat)]).toEqual([recordIn(first).id, true])
    await connection.close()
  })

  /** Returns the kinds of connector for a case. Deep runs test all kinds; other runs test one, selected by `index`. */
  const kindsFor = (index: number) =>
    isDeep ? connectorKinds : connectorKinds.filter((_, kind) => kind === index % connectorKinds.length)
  const cases = endings.flatMap(([tool, end], index) => kindsFor(index).map((kind) => [tool, end, kind] as const))

  describe.each(sampleOf(cases, 2))('repeats of %s, with the record %s, over %s', (tool, end, kind) => {
    test('a repeat from another host, at another server process, gets advice that works in one call', async () => {
      const { by, arguments: argumentsOf, ends } = guarded[tool] as GuardedCall
      const input = await argumentsOf(scene)
      const connector = await newConnector(kind, by)
      const first = await (await connector.open()).callTool(tool, input)
      expect(first.isError, first.content[0]?.text).toBeFalsy()
      const ended = ends[end]
      await ended?.(scene, recordIn(first))
      scene.world.system.pass(60_000)

      const other = await connector.open()
      const repeat = await other.callTool(tool, input)
      const isAnswerLost = kind.includes('remote') && ignoresKeys(tool)
      if (ended === undefined && !isAnswerLost) {
        expect([recordIn(repeat).id, isRepeat(repeat)]).toEqual([recordIn(first).id, true])
      } else {
        const { code, detail } = errorOf(repeat)
        expect(code).toBe('conflict')
        if (!isAnswerLost)
          expect(detail).toMatch(
            new RegExp(`^The equal call \\S+ \\w+ ago .*${recordIn(first).id}, which .* Nothing was done now\\.$`),
          )
        // A second repeat gets the same error. Only a call that follows the advice succeeds.
        expect(errorOf(await (await connector.open()).callTool(tool, input)).detail).toBe(detail)
      }
      const advice =
        repeat.isError === true ? `${errorOf(repeat).detail} ${errorOf(repeat).next}` : String(repeat.content[0]?.text)
      const followed = await follow(scene, other, tool, input, advice)
      expect(followed.isError, followed.content[0]?.text).toBeFalsy()
      expect(isRepeat(followed)).toBe(false)
      if (!/list_\w+/.test(advice) && tool !== 'rotate_webhook_secret') {
        expect(recordIn(followed).id).not.toBe(recordIn(first).id)
      }
    })
  })
})

const ignoresKeys = (tool: string) =>
  Object.values<OperationDefinition>(catalogue).find((operation) => operation.name === tool)?.idempotency === 'ignored'
