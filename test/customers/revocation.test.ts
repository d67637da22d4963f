import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type Sent, type World } from '../support/world.ts'
import { type Inviters, inviters } from './world.ts'

/** Checks DELETE /customers/invitations/{invitationId} against docs/service.md#revoking-an-invitation. */
onEachDatabase('the revocation of an invitation', (database) => {
  let world: World
  let us: Inviters

  beforeAll(async () => {
    world = await createWorld(database)
    us = await inviters(world)
  })
  afterAll(() => world.drop())

  const revoke = (id: string, sent: Sent = {}) =>
    world.send('DELETE', `/customers/invitations/${id}`, {
      key: world.apiKey,
      idempotencyKey: null,
      instanceId: null,
      ...sent,
    })

  test('a revocation returns the canceled invitation, and meta.deleted is true', async () => {
    const invitation = await us.invite({ limits: { perTransaction: 700 } })
    const { id, attributes, ...rest } = invitation.json.data[0]
    world.system.pass(1000)
    const { status, json } = await revoke(id)
    expect(status).toBe(200)
    expect(json).toStrictEqual({
      data: {
        id,
        ...rest,
        attributes: {
          ...attributes,
          status: 'CANCELED',
          effectiveStatus: 'CANCELED',
          cancelReason: 'DEVELOPER_REVOKED',
          updatedAt: new Date(world.system.now()).toISOString(),
        },
      },
      meta: { deleted: true },
    })
  })

  test('a second revocation with the same Idempotency-Key is a conflict, because the header is ignored', async () => {
    const { id } = await us.pending()
    expect((await revoke(id, { idempotencyKey: 'same' })).status).toBe(200)
    const again = await revoke(id, { idempotencyKey: 'same' })
    expect([again.status, again.headers.get('x-idempotency-replayed')]).toStrictEqual([409, null])
  })

  test('a revocation with a body is refused', async () => {
    const { id } = await us.pending()
    expect((await revoke(id, { attributes: {} })).status).toBe(400)
  })

  test.each(['adi_1', `adi_${'g'.repeat(32)}`, `adi_${'A'.repeat(32)}`, `pty_${'0'.repeat(32)}`])(
    'the malformed id %s is refused',
    async (id) => {
      const { status, json } = await revoke(id)
      expect([status, json.errors[0].source]).toStrictEqual([400, { parameter: 'invitationId' }])
    },
  )

  test('to another party or agent, an invitation looks as if it did not exist', async () => {
    const { id } = await us.pending()
    const theirs = await us.pending({ agentId: us.second.agentId })
    const refused = async (invitationId: string, key: string) => {
      const { status, json } = await revoke(invitationId, { key })
      const { detail, code, source } = json.errors[0]
      return { status, code, source, detail: detail.replace(invitationId, 'ID') }
    }
    const missing = await refused(`adi_${'0'.repeat(32)}`, us.other.apiKey)
    expect(missing).toStrictEqual({
      status: 404,
      code: 'not_found',
      source: undefined,
      detail: 'There is no invitation ID.',
    })
    expect(await refused(id, us.other.apiKey)).toStrictEqual(missing)
    expect(await refused(id, us.other.agentKey)).toStrictEqual(missing)
    expect(await refused(theirs.id, world.agentKey)).toStrictEqual(missing)
    expect(await us.read(id)).toMatchObject({ status: 'PENDING' })
  })

  test('an agent can revoke the invitations for itself', async () => {
    const { id } = await us.pending({ agentId: us.second.agentId })
    const { status } = await revoke(id, { key: us.second.agentKey, instanceId: 'run 7' })
    expect(status).toBe(200)
    expect(await us.read(id)).toMatchObject({ canceledByAgentId: us.second.agentId, canceledInstanceId: 'run 7' })
  })

  describe('X-Instance-ID', () => {
    test.each([
      [1024, 200],
      [1025, 400],
    ])('a revocation with an X-Instance-ID of %d characters gets the status %d', async (length, status) => {
      const { id } = await us.pending()
      const answer = await revoke(id, { instanceId: 'x'.repeat(length) })
      expect(answer.status).toBe(status)
      if (status === 400) expect(answer.json.errors[0].source).toStrictEqual({ header: 'X-Instance-ID' })
    })
  })

  describe('X-Agent-ID', () => {
    test('X-Agent-ID attributes an action of a party key to an agent of the party', async () => {
      const { id } = await us.pending()
      const { status } = await revoke(id, { headers: { 'X-Agent-ID': us.second.agentId }, instanceId: 'run 8' })
      expect(status).toBe(200)
      expect(await us.read(id)).toMatchObject({ canceledByAgentId: us.second.agentId, canceledInstanceId: 'run 8' })
      const { json } = await world.get('/activity?limit=1', { key: world.apiKey })
      expect(json.data[0].attributes).toMatchObject({
        agentId: us.second.agentId,
        instanceId: 'run 8',
        actorType: 'party',
      })
      const plain = await us.pending()
      await revoke(plain.id)
      expect(await us.read(plain.id)).toMatchObject({ canceledByAgentId: null, canceledInstanceId: null })
    })

    test.each(['', 'agt_1', `agt_${'0'.repeat(33)}`, `agt_${'A'.repeat(32)}`, `pty_${'0'.repeat(32)}`, 'x'.repeat(37)])(
      'the X-Agent-ID %j is refused',
      async (value) => {
        const { id } = await us.pending()
        const { status, json } = await revoke(id, { headers: { 'X-Agent-ID': value } })
        expect([status, json.errors[0].code, json.errors[0].source]).toStrictEqual([
          400,
          'invalid_value',
          { header: 'X-Agent-ID' },
        ])
        expect(await us.read(id)).toMatchObject({ status: 'PENDING' })
      },
    )

    test('another party’s agent in X-Agent-ID is refused in the same words as an unknown agent', async () => {
      const { id } = await us.pending()
      const refusals = []
      for (const agentId of [us.other.agentId, `agt_${'0'.repeat(32)}`]) {
        const { status, json } = await revoke(id, { headers: { 'X-Agent-ID': agentId } })
        refusals.push([status, json.errors[0].code, json.errors[0].detail, json.errors[0].source])
      }
      const expected = [
        403,
        'forbidden',
        'X-Agent-ID is not the id of an active agent of this party.',
        { header: 'X-Agent-ID' },
      ]
      expect(refusals).toStrictEqual([expected, expected])
    })

    test('an agent can send only its own id as the X-Agent-ID', async () => {
      const { id } = await us.pending()
      const other = await revoke(id, { key: world.agentKey, headers: { 'X-Agent-ID': us.second.agentId } })
      expect(other.status).toBe(403)
      const ownRevocation = await revoke(id, { key: world.agentKey, headers: { 'X-Agent-ID': us.agentId } })
      expect(ownRevocation.status).toBe(200)
    })

    test('X-Agent-ID gives a party key none of the rights of the agent', async () => {
      const headers = { 'X-Agent-ID': us.agentId }
      const card = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
      const issued = await world.post('/agent-cards', card, { key: world.apiKey, headers })
      expect(issued.status).toBe(403)
      const { json } = await world.get('/whoami', { key: world.apiKey, headers })
      expect(json.data.attributes).toMatchObject({ actorType: 'party', agentIdentitySource: 'header' })
      const customerPartyId = await world.customerPartyId()
      const acting = await world.get(`/wallets?customerPartyId=${customerPartyId}`, { key: world.apiKey, headers })
      expect(acting.status).toBe(403)
    })
  })
})
