import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstTampered, recordAct } from '../../src/service/request/activity.ts'
import { activityAfter } from '../../src/service/store/activity.ts'
import type { Transaction } from '../../src/service/store/engine/store.ts'
import type { ActivityRow } from '../../src/service/store/schema/activity.ts'
import { exchanged, postAgentKey } from '../credentials/requests.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addAgent, addParty, addUserToken, createWorld, type World } from '../support/world.ts'

onEachDatabase('activity', (database) => {
  let world: World
  let partyId: string
  let agentId: string
  const owner = () => ({ key: world.apiKey })

  beforeAll(async () => {
    world = await createWorld(database)
    const me = await world.whoami()
    partyId = me.partyId
    agentId = String(me.agentId)
  })
  afterAll(() => world.drop())

  const list = async (query = '', sent = {}) =>
    (await world.get(`/activity?limit=100${query}`, { ...owner(), ...sent })).json.data
  const count = async () => Number((await list())[0]?.attributes.sequence ?? 0)

  test('the activity shows who did what, in which run, with which key and result', async () => {
    const card = await world.issueCard({}, { instanceId: 'run 42' })
    const [first] = await list()
    expect(first).toStrictEqual({
      type: 'activity',
      id: expect.stringMatching(/^act_[0-9a-f]{32}$/),
      attributes: {
        operation: 'issue_agent_card',
        actorType: 'agent',
        userId: null,
        agentId,
        instanceId: 'run 42',
        keyId: (await world.whoami()).keyId,
        resourceIds: [card],
        result: { httpStatus: 200, code: null },
        sequence: 1,
        previousHash: '0'.repeat(64),
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        createdAt: new Date(world.system.now()).toISOString(),
      },
      relationships: {
        party: { data: { type: 'party', id: partyId } },
        customerParty: { data: null },
      },
    })
    const purchase = (await world.authorize(card, 100, { instanceId: 'run 42' })).json.data.id
    const [second] = await list()
    expect(second.attributes).toMatchObject({ resourceIds: [card, purchase], previousHash: first.attributes.hash })
  })

  test('the activity has one row for each change and each recorded failure, and none for reads, replays and other failures', async () => {
    const before = await count()
    await world.get('/wallets')
    await list()
    expect(await count()).toBe(before)
    const sent = { idempotencyKey: 'once' }
    const missing = 'cit_missing'
    const reverse = () => world.post(`/simulations/card-transactions/${missing}/reverse`, {}, sent)
    expectRefusal(await reverse(), 'not_found')
    expectRefusal(await reverse(), 'not_found')
    expect(await count()).toBe(before + 1)
    const [refused] = await list()
    expect(refused.attributes).toMatchObject({
      operation: 'simulate_card_reversal',
      resourceIds: [missing],
      result: { httpStatus: 404, code: 'not_found' },
    })
    expect((await world.post('/agent-cards', { currency: 'EUR' })).status).toBe(422)
    expect((await list())[0].attributes).toMatchObject({
      resourceIds: [],
      result: { httpStatus: 422, code: 'invalid_value' },
    })
    const countBefore = await count()
    expect((await world.post('/agent-cards', {}, { key: world.apiKey })).status).toBe(403)
    expect((await world.post('/agent-cards', {}, { instanceId: null })).status).toBe(400)
    expect((await world.post('/agent-cards', {}, { key: 'ak_ntl_sandbox_wrong' })).status).toBe(401)
    expect(await count()).toBe(countBefore)
  })

  test('the activity shows the user or the key behind each request; for an exchanged token, the original key', async () => {
    const { token, userId } = await addUserToken(world, partyId)
    await world.post('/api-keys', { name: 'k' }, { key: token })
    expect((await list())[0].attributes).toMatchObject({ actorType: 'user', userId, agentId: null })
    await world.post('/api-keys', { name: 'k' }, owner())
    const { keyId } = await world.whoami(world.apiKey)
    expect((await list())[0].attributes).toMatchObject({ actorType: 'party', userId: null, agentId: null, keyId })
    await world.issueCard({}, { key: await exchanged(world, world.agentKey) })
    expect((await list())[0].attributes).toMatchObject({ actorType: 'agent', keyId: (await world.whoami()).keyId })
  })

  test("an agent's action for a customer is in the activity of the agent's own party", async () => {
    const customerPartyId = await world.customerPartyId()
    const card = await world.issueCard({ customerPartyId })
    const [row] = await list()
    expect(row.attributes.resourceIds).toEqual([customerPartyId, card])
    expect(row.relationships).toEqual({
      party: { data: { type: 'party', id: partyId } },
      customerParty: { data: { type: 'party', id: customerPartyId } },
    })
  })

  test('the activity can be filtered by run, agent and resource, and an agent sees only its own entries', async () => {
    const wallet = (await world.get('/wallets')).json.data[0].id
    const second = await addAgent(world, partyId, wallet, ['cards.read'])
    const card = await world.issueCard({}, { key: second.agentKey, instanceId: 'run 100%_' })
    await world.authorize(card, 100, { key: second.agentKey, instanceId: 'run 2' })
    const operations = async (query: string, sent = {}) =>
      (await list(query, sent)).map(({ attributes }: { attributes: { operation: string } }) => attributes.operation)
    expect(await operations(`&instanceId=${encodeURIComponent('run 100%_')}`)).toEqual(['issue_agent_card'])
    const operationsOfSecond = ['simulate_card_authorization', 'issue_agent_card']
    expect(await operations(`&agentId=${second.agentId}`)).toEqual(operationsOfSecond)
    expect(await operations(`&resourceId=${card}`)).toEqual(operationsOfSecond)
    expect(await operations(`&resourceId=${card.slice(0, -1)}`)).toEqual([])
    expect(await operations(`&resourceId=${card.replace(/\d/, '_')}`)).toEqual([])
    expect(await operations(`&agentId=${second.agentId}&instanceId=run%202`)).toEqual(operationsOfSecond.slice(0, 1))
    // An agent gets no entries of another agent, even if it filters by that agent.
    expect(await operations('', { key: second.agentKey })).toEqual(operationsOfSecond)
    expect(await operations(`&agentId=${agentId}`, { key: second.agentKey })).toEqual([])
  })

  test("a party cannot see another party's activity", async () => {
    const other = await addParty(world)
    await world.issueCard({}, { key: other.agentKey })
    expect(await list('', { key: other.apiKey })).toHaveLength(1)
    const { id } = (await list())[0]
    expect(await list(`&resourceId=${id}`, { key: other.apiKey })).toEqual([])
    const cursor = (await world.get('/activity?limit=1', owner())).json.meta.pagination.nextCursor
    expect((await world.get(`/activity?cursor=${cursor}`, { key: other.apiKey })).status).toBe(400)
  })

  test('the activity is listed in pages, newest first', async () => {
    const walked = []
    let cursor = ''
    do {
      const { json } = await world.get(`/activity?limit=3${cursor}`, owner())
      walked.push(...json.data)
      cursor = json.meta.pagination.nextCursor === null ? '' : `&cursor=${json.meta.pagination.nextCursor}`
    } while (cursor !== '')
    expect(walked).toEqual(await list())
    expect(walked.map(({ attributes }) => attributes.sequence)).toEqual(
      Array.from({ length: walked.length }, (_, index) => walked.length - index),
    )
  })

  test('the activity stays a single hash chain under simultaneous requests', async () => {
    const before = await count()
    const keys = await Promise.all([1, 2, 3].map(async () => (await postAgentKey(world, agentId)).json.data.attributes))
    await Promise.all(keys.flatMap(({ agentKey: key }) => [1, 2, 3, 4].map(() => world.issueCard({}, { key }))))
    expect(await count()).toBe(before + 15)
    expect(await world.store.transaction((tx) => firstTampered(tx, partyId))).toBeNull()
  })

  describe('tampering with the activity', () => {
    const tamperedSequence = 3
    beforeAll(async () => {
      for (let row = 0; row <= tamperedSequence; row++) await world.issueCard()
    })
    const changes: [string, Partial<ActivityRow>][] = [
      ['another operation', { operation: 'get_wallet' }],
      ['another actor', { actorType: 'user' }],
      ['another agent', { agentId: null }],
      ['another run', { instanceId: 'another' }],
      ['another key', { keyId: 'agk_other' }],
      ['other resources', { resourceIds: '[]' }],
      ['another result', { status: 201 }],
      ['another time', { createdAtMs: 1 }],
      ['another hash', { hash: 'f'.repeat(64) }],
    ]

    test.each(changes)('a row that was changed is detected: %s', async (_, change) => {
      const check = world.store.transaction(async (tx) => {
        const row = tx.db.updateTable('activity').set(change)
        await row.where('partyId', '=', partyId).where('sequence', '=', tamperedSequence).execute()
        throw new Rollback(await firstTampered(tx, partyId))
      })
      await expect(check).rejects.toEqual(new Rollback(tamperedSequence))
      expect(await world.store.transaction((tx) => firstTampered(tx, partyId))).toBeNull()
    })

    test('a missing row is detected', async () => {
      const check = world.store.transaction(async (tx) => {
        await tx.db
          .deleteFrom('activity')
          .where('partyId', '=', partyId)
          .where('sequence', '=', tamperedSequence)
          .execute()
        throw new Rollback(await firstTampered(tx, partyId))
      })
      await expect(check).rejects.toEqual(new Rollback(tamperedSequence + 1))
    })

    test('the deletion of the last rows is detected, even if new rows follow', async () => {
      const last = await count()
      const deleteEnd = (thenDo: (tx: Transaction) => Promise<unknown>) =>
        world.store.transaction(async (tx) => {
          await tx.db
            .deleteFrom('activity')
            .where('partyId', '=', partyId)
            .where('sequence', '>', last - 2)
            .execute()
          await thenDo(tx)
          throw new Rollback(await firstTampered(tx, partyId))
        })
      await expect(deleteEnd(async () => {})).rejects.toEqual(new Rollback(last - 1))
      const act = {
        partyId,
        operation: 'sign_in',
        actorType: 'user',
        keyId: 'usr_1',
        status: 200,
        resourceIds: [],
      } as const
      const context = { system: world.system, nowMs: world.system.now() }
      await expect(deleteEnd((tx) => recordAct({ tx, ...context }, act))).rejects.toEqual(new Rollback(last + 1))
      // An attacker who has only the database can change the stored end of the chain, but cannot compute the seal of
      // the changed end.
      const unsealed = deleteEnd(async (tx) => {
        const [row] = await activityAfter(tx, partyId, last - 3, 1)
        const end = { activitySequence: last - 2, hash: row?.hash ?? '' }
        await tx.db.updateTable('partyHeads').set(end).where('partyId', '=', partyId).execute()
      })
      await expect(unsealed).rejects.toEqual(new Rollback(last - 1))
      const withoutHead = deleteEnd((tx) => tx.db.deleteFrom('partyHeads').where('partyId', '=', partyId).execute())
      await expect(withoutHead).rejects.toEqual(new Rollback(last - 1))
    })
  })
})

/** An error that rolls back the tampering. Its message contains the sequence number of the first tampered row. */
class Rollback extends Error {
  constructor(sequence: number | null) {
    super(`found ${sequence}`)
  }
}
