import { afterAll, beforeAll, expect, test } from 'vitest'
import { camelCase, type OperationDefinition } from '../../src/core/operation.ts'
import { permissions, type Scope, scopes } from '../../src/core/permissions.ts'
import { everyTool } from '../../src/mcp/dependencies.ts'
import { toolList } from '../../src/mcp/tools/definitions.ts'
import { catalogue } from '../../tools/index.ts'
import { readAllRows } from '../ledger/books.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addKey, addUserToken, createWorld, secrets, type World } from '../support/world.ts'
import { exchanged, postAgentKey } from './requests.ts'

const agentAndKeyOperations = Object.values<OperationDefinition>(catalogue).filter(({ permission }) =>
  /^(agents|api_keys)\./.test(permission),
)

test('the policy tests cover every operation on agents and keys', () => {
  expect(agentAndKeyOperations.map(({ name }) => name)).toEqual([
    'list_agents',
    'create_agent',
    'get_agent',
    'update_agent',
    'delete_agent',
    'create_api_key',
    'list_api_keys',
    'get_api_key',
    'revoke_api_key',
    'create_agent_key',
    'list_agent_keys',
    'rotate_agent_key',
    'revoke_agent_key',
  ])
})

test('an agent is offered only tools that its policy allows, and an API key is offered no agent-only tools', () => {
  const names = (actor?: 'agent' | 'party') => toolList({ ...everyTool('sandbox'), actor }).map(({ name }) => name)
  const operations = Object.values<OperationDefinition>(catalogue)
  expect(names()).toHaveLength(operations.length)
  const barred = operations.filter(({ permission }) => !permissions[permission].agent).map(({ name }) => name)
  expect(barred).toEqual(expect.arrayContaining(agentAndKeyOperations.map(({ name }) => name)))
  expect(names('agent')).toEqual(names().filter((name) => !barred.includes(name)))
  const forAgents = operations.filter(({ permission }) => permissions[permission].apiKey === null)
  expect(forAgents.map(({ name }) => name)).toContain('issue_agent_card')
  expect(names('party')).toEqual(names().filter((name) => !forAgents.some((only) => only.name === name)))
})

onEachDatabase('the permission policy', (database) => {
  let world: World
  let partyId: string
  let agentId: string

  beforeAll(async () => {
    world = await createWorld(database)
    const me = await world.whoami()
    partyId = me.partyId
    agentId = String(me.agentId)
  })
  afterAll(() => world.drop())

  const send = (operation: OperationDefinition, key: string) => {
    const path = operation.path.replace('{agentId}', agentId).replace('{keyId}', 'agk_missing')
    return world.send(operation.method, path, { key })
  }

  test.each(agentAndKeyOperations.map((operation) => [operation.name, operation] as const))(
    '%s is refused to an agent, both with its key and with a token',
    async (_, operation) => {
      for (const key of [world.agentKey, await exchanged(world, world.agentKey)]) {
        expectRefusal(await send(operation, key), 'forbidden')
      }
    },
  )

  test.each(agentAndKeyOperations.map((operation) => [operation.name, operation] as const))(
    '%s is allowed to an API key only with the required scope',
    async (_, operation) => {
      const scope = permissions[operation.permission].apiKey as Scope
      const others = scopes.filter((other) => other !== scope)
      const key = await addKey(world, { partyId, agentId: null, scopes: others })
      expectRefusal(await send(operation, key), 'forbidden')
      const holder = await addKey(world, { partyId, agentId: null, scopes: [scope] })
      const { token } = await addUserToken(world, partyId)
      for (const allowed of operation.name === 'delete_agent' ? [] : [holder, token]) {
        expect((await send(operation, allowed)).status, camelCase(operation.name)).not.toBe(403)
      }
    },
  )

  test('a user can do everything that an API key of the party can, and needs no X-Instance-ID', async () => {
    const { token, userId } = await addUserToken(world, partyId)
    expect(await world.whoami(token)).toEqual({
      actorType: 'user',
      partyId,
      userId,
      agentId: null,
      agentIdentitySource: null,
      credentialKind: 'oauth_access_token',
      keyId: null,
      grantId: null,
    })
    const sent = { key: token, instanceId: null }
    for (const path of ['/wallets', '/customers', '/agents', '/api-keys', '/agent-keys', '/activity', '/agent-cards']) {
      expect((await world.get(path, sent)).status, path).toBe(200)
    }
    expect((await world.authorize(await world.issueCard(), 100, sent)).status).toBe(200)
    expectRefusal(await world.post('/agent-cards', {}, sent), 'forbidden')
    await revokeUserToken(world, userId)
    expectRefusal(await world.get('/whoami', { key: token }), 'unauthenticated')
  })

  test('the last use of a key is written at most once a minute, but responses show it immediately', async () => {
    const { id, attributes } = (await postAgentKey(world, agentId)).json.data
    const { agentKey: key } = attributes
    const stored = async () => {
      await world.service.upkeep.once()
      return world.store.transaction(async ({ db }) =>
        db.selectFrom('credentials').select('lastUsedAtMs').where('id', '=', id).executeTakeFirstOrThrow(),
      )
    }
    const shown = async () =>
      Date.parse(
        (await world.get(`/agent-keys?limit=100`, { key: world.apiKey })).json.data.find(
          (found: { id: string }) => found.id === id,
        ).attributes.lastUsedAt,
      )
    const first = world.system.now()
    await world.get('/whoami', { key })
    expect(await stored()).toEqual({ lastUsedAtMs: first })
    world.system.pass(30_000)
    await world.get('/whoami', { key })
    expect(await stored()).toEqual({ lastUsedAtMs: first })
    expect(await shown()).toBe(first + 30_000)
    world.system.pass(30_000)
    expect(await stored()).toEqual({ lastUsedAtMs: first + 30_000 })
    expect(await shown()).toBe(first + 30_000)
    // A refused request also counts as a use.
    world.system.pass(60_000)
    expect((await world.get('/agents', { key })).status).toBe(403)
    expect(await shown()).toBe(first + 120_000)
  })

  test('no secret is stored or logged when keys are created, rotated, exchanged, used or revoked', async () => {
    const owner = { key: world.apiKey }
    const agentKey = (await postAgentKey(world, agentId)).json.data
    const rotated = await world.post(`/agent-keys/${agentKey.id}/rotate`, { expiresInSeconds: 60 }, owner)
    const apiKey = await world.post('/api-keys', { name: 'Canary' }, owner)
    const token = await exchanged(world, agentKey.attributes.agentKey)
    await world.get('/whoami', { key: token })
    await world.send('DELETE', `/api-keys/${apiKey.json.data.id}`, { key: apiKey.json.data.attributes.apiKey })
    const { agentKey: first } = agentKey.attributes
    const { agentKey: second } = rotated.json.data.attributes
    const all = [first, second, apiKey.json.data.attributes.apiKey, token, secrets.apiKey, secrets.agentKey]
    const rows = JSON.stringify(await readAllRows(world.store))
    expect(rows).toContain(agentKey.id)
    for (const secret of all) {
      // The database stores the prefix of a key and the next five characters, so that people can recognize the key.
      const rest = secret.replace(/^.._ntl_sandbox_/, '').slice(6)
      expect(rows).not.toContain(rest)
      expect(world.logged.join('\n')).not.toContain(rest)
    }
  })
})

async function revokeUserToken(world: World, userId: string): Promise<void> {
  await world.store.transaction(async ({ db }) => {
    await db.updateTable('credentials').set({ revokedAtMs: world.system.now() }).where('userId', '=', userId).execute()
  })
}
