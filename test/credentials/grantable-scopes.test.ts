import { afterAll, beforeAll, expect, test } from 'vitest'
import type { z } from 'zod'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { permissions, type Scope, scopes } from '../../src/core/permissions.ts'
import { grantedScopes } from '../../src/service/request/grantable-scopes.ts'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type Answer, addAgent, addKey, addUserToken, createWorld, type World } from '../support/world.ts'
import { exchanged, postAgentKey, postApplication, postIssuer } from './requests.ts'

const agentKeyScopes: readonly Scope[] = [
  'payments.read',
  'payments.create',
  'wallets.read',
  'wallets.fund',
  'wallets.transfer',
  'wallets.deposit',
  'wallets.withdraw',
  'external_accounts.create',
  'party.read',
  'cards.read',
  'delegations.read',
  'delegations.create',
  'delegations.delete',
  'agents.read',
]
const walletScopes: readonly Scope[] = [
  'payments.read',
  'payments.create',
  'wallets.read',
  'wallets.transfer',
  'wallets.deposit',
  'wallets.withdraw',
  'external_accounts.create',
  'party.read',
  'cards.read',
]
/** The scopes that a key needs to create a webhook for all events. */
const readScopes = [
  'payments.read',
  'wallets.read',
  'party.read',
  'cards.read',
  'delegations.read',
  'invite.read',
] as const
const hookUrl = 'https://hooks.example.com/'

interface Setup {
  world: World
  partyId: string
  agentId: string
}

/** The scopes that an operation gives, and a function that sends a request to the operation with a key. */
interface GrantingOperation {
  gives: readonly Scope[]
  send(setup: Setup, key: string): Promise<Answer>
}

let people = 0
const recipients = () => [{ type: 'email', value: `authority${people++}@example.com` }]
const requestedScopes = ['payments.create', 'wallets.read'] as const satisfies readonly Scope[]

/** The operations that can give new or wider authority. */
const grantingOperations: Partial<Record<OperationKey, GrantingOperation>> = {
  createApiKey: {
    gives: ['payments.create', 'wallets.fund'],
    send: ({ world }, key) =>
      world.post('/api-keys', { name: 'N', scopes: ['payments.create', 'wallets.fund'] }, { key }),
  },
  createAgentKey: {
    gives: agentKeyScopes,
    send: ({ world, agentId }, key) => postAgentKey(world, agentId, { key }),
  },
  createApplication: {
    gives: agentKeyScopes,
    send: ({ world, agentId }, key) => postApplication(world, agentId, {}, { key }),
  },
  updateApplication: {
    gives: agentKeyScopes,
    send: async ({ world, agentId }, key) => {
      const publicKeys = [{ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }]
      const { id } = (await postApplication(world, agentId, { publicKeys })).json.data
      return world.send('PATCH', `/applications/${id}`, { key, attributes: { publicKeys } })
    },
  },
  createTrustedIssuer: {
    gives: agentKeyScopes,
    send: ({ world, agentId }, key) => postIssuer(world, agentId, {}, { key }),
  },
  updateTrustedIssuer: {
    gives: agentKeyScopes,
    send: async ({ world, agentId }, key) => {
      const { id } = (await postIssuer(world, agentId)).json.data
      return world.send('PATCH', `/trusted-issuers/${id}`, { key, attributes: { scopes: ['payments:read'] } })
    },
  },
  rotateAgentKey: {
    gives: agentKeyScopes,
    send: async ({ world, agentId }, key) => {
      const { id } = (await postAgentKey(world, agentId)).json.data
      return world.post(`/agent-keys/${id}/rotate`, { expiresInSeconds: 60 }, { key })
    },
  },
  updateAgent: {
    gives: ['payments.create', 'cards.read'],
    send: async ({ world, agentId }, key) => {
      await world.send('PATCH', `/agents/${agentId}`, { key: world.apiKey, attributes: { limits: { perDay: 100 } } })
      return world.send('PATCH', `/agents/${agentId}`, { key, attributes: { limits: { perDay: 101 } } })
    },
  },
  setPartyLimits: {
    gives: ['payments.create', 'cards.read'],
    send: async ({ world }, key) => {
      const set = (perDay: number, by: string) =>
        world.send('PUT', '/parties/me/limits', { key: by, attributes: { perDay } })
      await set(100, world.apiKey)
      return set(101, key)
    },
  },
  createPartyInvitations: {
    gives: grantedScopes.membership(),
    send: ({ world }, key) => {
      const invitations = [{ email: `authority${people++}@example.com`, role: 'MEMBER' }]
      return world.post('/party-invitations', { invitations }, { key })
    },
  },
  createWebhook: {
    gives: readScopes,
    send: ({ world }, key) => world.post('/webhooks', { url: hookUrl, enabledEvents: ['*'] }, { key }),
  },
  updateWebhook: {
    gives: readScopes,
    send: async ({ world }, key) => {
      const attributes = { url: hookUrl, enabledEvents: ['wallet.created'] }
      const { id } = (await world.post('/webhooks', attributes, { key: world.apiKey })).json.data
      return world.send('PATCH', `/webhooks/${id}`, { key, attributes: { enabledEvents: ['*'] } })
    },
  },
  attachWalletAgent: {
    gives: walletScopes,
    send: async ({ world, agentId }, key) => {
      const { id } = (await world.post('/wallets', { displayName: 'Other' }, { key: world.apiKey })).json.data
      return world.post(`/wallets/${id}/agents`, { agentId }, { key })
    },
  },
  createCustomerInvitation: {
    gives: requestedScopes,
    send: ({ world, agentId }, key) => {
      const agents = [{ agentId, permissions: requestedScopes }]
      return world.post('/customers/invitations', { recipients: recipients(), agents }, { key })
    },
  },
  createAgentCustomerInvitation: {
    gives: requestedScopes,
    send: ({ world, agentId }, key) =>
      world.post(`/agents/${agentId}/customers`, { recipients: recipients(), permissions: requestedScopes }, { key }),
  },
  createInvitationLink: {
    gives: requestedScopes,
    send: ({ world, agentId }, key) => {
      const proposedAgents = [{ agentId, permissions: requestedScopes }]
      return world.post('/customers/invitation-links', { name: 'Anyone', proposedAgents }, { key })
    },
  },
  simulateCustomerInvitation: {
    gives: ['payments.create', 'payments.read', 'wallets.read'],
    send: ({ world, agentId }, key) => world.post('/simulations/invite-customer', { agentIds: [agentId] }, { key }),
  },
}

/** The operations that leave out permissions that the caller lacks, instead of refusing the request. */
const narrowing: readonly OperationKey[] = ['createAgent']

/** The request fields that can give authority. */
const givingFields = [
  'scopes',
  'permissions',
  'limits',
  'agents',
  'proposedAgents',
  'agentIds',
  'agentId',
  'invitations',
  'perDay',
  'enabledEvents',
]
/** The response fields that contain a credential. */
const credentialFields = ['apiKey', 'agentKey']

/** Returns whether the operation can give authority, judging by the fields of its request and its response. */
function canGiveAuthority({ effect, attributes, output }: OperationDefinition): boolean {
  const sent = Object.keys(attributes?.shape ?? {})
  const answered = Object.keys((output.shape.attributes as z.ZodObject | undefined)?.shape ?? {})
  return (
    effect !== 'read' &&
    (givingFields.some((name) => sent.includes(name)) || credentialFields.some((name) => answered.includes(name)))
  )
}

test('these tests cover every operation that can give authority', () => {
  const giving = Object.entries<OperationDefinition>(catalogue).filter(([, operation]) => canGiveAuthority(operation))
  expect(giving.map(([key]) => key).toSorted()).toEqual([...Object.keys(grantingOperations), ...narrowing].toSorted())
})

test('an agent key gives all scopes of the agent policy', () => {
  expect(grantedScopes.agentKey().toSorted()).toEqual(agentKeyScopes.toSorted())
})

onEachDatabase('granting permissions', (database) => {
  let setup: Setup
  beforeAll(async () => {
    const world = await createWorld(database)
    const { partyId, agentId } = await world.whoami()
    setup = { world, partyId, agentId: String(agentId) }
  })
  afterAll(() => setup.world.drop())

  const keyWith = (held: readonly Scope[]) =>
    addKey(setup.world, { partyId: setup.partyId, agentId: null, scopes: held })
  const answerOf = async ({ send }: GrantingOperation, held: readonly Scope[]) => send(setup, await keyWith(held))

  test.each(Object.entries(grantingOperations))('%s requires every scope that it gives', async (name, operation) => {
    const keyScope = permissions[catalogue[name as OperationKey].permission].apiKey as Scope
    for (const lacking of operation.gives.filter((scope) => scope !== keyScope)) {
      const answer = await answerOf(
        operation,
        scopes.filter((scope) => scope !== lacking),
      )
      expect(answer.status, lacking).toBe(403)
      expect(answer.json.errors[0].detail).toContain(lacking)
    }
    expect((await answerOf(operation, [keyScope])).status).toBe(403)
    const enough = await answerOf(operation, [keyScope, ...operation.gives])
    const definition: OperationDefinition = catalogue[name as OperationKey]
    const answers = definition.answers ?? 200
    expect(enough.status, enough.text).toBe(answers)
    const { token } = await addUserToken(setup.world, setup.partyId)
    expect((await operation.send(setup, token)).status).toBe(answers)
  })

  test('a key with only the scope api_keys.create cannot create a key with more scopes', async () => {
    const { world, agentId } = setup
    const before = (await world.get('/agent-keys?limit=100', { key: world.apiKey })).json.data.length
    const key = await keyWith(['api_keys.create'])
    expectRefusal(await postAgentKey(world, agentId, { key }), 'forbidden')
    expectRefusal(await postAgentKey(world, agentId, { key: await exchanged(world, key) }), 'forbidden')
    expect((await world.get('/agent-keys?limit=100', { key: world.apiKey })).json.data).toHaveLength(before)
    const apiKey = (await world.post('/api-keys', { name: 'Same' }, { key })).json.data.attributes
    expect(apiKey.scopes).toEqual(['api_keys.create'])
  })

  test("a key that lacks permission to read a webhook's events can neither change its URL nor enable it", async () => {
    const { world } = setup
    const attributes = { url: hookUrl, enabledEvents: ['payment.completed'] }
    const { id } = (await world.post('/webhooks', attributes, { key: world.apiKey })).json.data
    const key = await keyWith(['party.update', 'party.read'])
    const change = (attributes: object, by = key) => world.send('PATCH', `/webhooks/${id}`, { key: by, attributes })
    expectRefusal(await change({ url: 'https://elsewhere.example.com/' }), 'forbidden')
    expect((await change({ description: 'Ours' })).status).toBe(200)
    expect((await change({ status: 'DISABLED' })).status).toBe(200)
    expectRefusal(await change({ status: 'ENABLED' }), 'forbidden')
    expect((await change({ enabledEvents: ['party.updated'], status: 'ENABLED' })).status).toBe(200)
  })

  test('a new agent gets only those permissions on its wallet that its creator has', async () => {
    const { world } = setup
    const { id } = (
      await world.post('/agents', { name: 'Weak' }, { key: await keyWith(['agents.create', 'wallets.read']) })
    ).json.data
    const { agentKey: key } = (await postAgentKey(world, id)).json.data.attributes
    expect((await world.get('/wallets', { key })).status).toBe(200)
    expectRefusal(await world.post('/agent-cards', card, { key }), 'forbidden')
    expectRefusal(await world.post('/payments', payment, { key }), 'forbidden')
  })

  test("a key with only the scope agents.update can lower an agent's limits but not raise them", async () => {
    const { world, partyId } = setup
    const walletId = (await world.get('/wallets', { key: world.apiKey })).json.data[0].id
    const { agentId } = await addAgent(world, partyId, walletId, [])
    const key = await keyWith(['agents.update'])
    const limit = (limits: object | null, by = key) =>
      world.send('PATCH', `/agents/${agentId}`, { key: by, attributes: { limits } })
    expect((await limit({ perTransaction: 100, perDay: 200 })).status).toBe(200)
    expect((await limit({ perTransaction: 100, perDay: 200 })).status).toBe(200)
    expect((await limit({ perTransaction: 99, perDay: 200, perMonth: 0 })).status).toBe(200)
    for (const wider of [{ perTransaction: 100, perDay: 200, perMonth: 0 }, { perTransaction: 99 }, {}, null]) {
      expectRefusal(await limit(wider), 'forbidden', { source: { pointer: '/data/attributes/limits' } })
    }
    expect((await limit(null, world.apiKey)).status).toBe(200)
  })

  test('a key needs agents.update to attach agents to a wallet, detach them or make it their default', async () => {
    const { world, agentId } = setup
    const { id } = (await world.post('/wallets', { displayName: 'Own' }, { key: world.apiKey })).json.data
    const key = await keyWith(scopes.filter((scope) => scope !== 'agents.update'))
    expectRefusal(await world.post(`/wallets/${id}/agents`, { agentId }, { key }), 'forbidden')
    expect((await world.post(`/wallets/${id}/agents`, { agentId }, { key: world.apiKey })).status).toBe(200)
    expectRefusal(await world.post(`/wallets/${id}/agents/${agentId}/default`, undefined, { key }), 'forbidden')
    expectRefusal(await world.send('DELETE', `/wallets/${id}/agents/${agentId}`, { key }), 'forbidden')
  })
})

const card = { merchant: { name: 'Books' }, maximumAmount: 100, currency: 'USD' }
const payment = { amount: 1, counterparty: { type: 'email', value: 'a@b.example' } }
