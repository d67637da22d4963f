import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Failure } from '../../src/core/errors.ts'
import {
  applyToInvitation,
  cancelReasonOf,
  type InvitationEvent,
  invitationTransitions,
  pendingInvitation,
} from '../../src/service/rules/customer-invitations.ts'
import {
  cancelInvitationsOfAgent,
  changeInvitation,
  findInvitation,
} from '../../src/service/store/customer-invitations.ts'
import { invitationStatuses } from '../../tools/customer-invitations.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type Answer, addAgent, createWorld, type World } from '../support/world.ts'
import { type Inviters, inviters, person } from './world.ts'

const dayMs = 24 * 60 * 60 * 1000
const events = Object.keys(cancelReasonOf) as InvitationEvent[]

/** The status and cancel reason of a pending invitation after each event. */
const outcomes = {
  accept: ['ACCEPTED', null],
  decline: ['DECLINED', null],
  expire: ['EXPIRED', null],
  revoke: ['CANCELED', 'DEVELOPER_REVOKED'],
  agent_retired: ['CANCELED', 'AGENT_RETIRED'],
  developer_retired: ['CANCELED', 'DEVELOPER_RETIRED'],
  connected: ['CANCELED', 'CONNECTION_ESTABLISHED'],
} as const satisfies Record<InvitationEvent, readonly [string, string | null]>

const combinations = invitationStatuses.flatMap((status) => events.map((event) => [status, event] as const))

test.each(combinations)('an invitation with status %s follows the transition table on event %s', (status, event) => {
  const before = { ...pendingInvitation(2000, 1000), status, ...(status === 'PENDING' ? {} : { pendingUntilMs: null }) }
  if (status !== 'PENDING') {
    expect(invitationTransitions[status]).toStrictEqual({})
    expect(() => applyToInvitation(before, event, 1500)).toThrow(Failure)
    return
  }
  expect(applyToInvitation(before, event, 1500)).toStrictEqual({
    status: outcomes[event][0],
    cancelReason: outcomes[event][1],
    pendingUntilMs: null,
    acceptedAtMs: event === 'accept' ? 1500 : null,
    declinedAtMs: event === 'decline' ? 1500 : null,
    updatedAtMs: 1500,
  })
})

onEachDatabase('the states of invitations', (database) => {
  let world: World
  let us: Inviters

  beforeAll(async () => {
    world = await createWorld(database)
    us = await inviters(world)
  })
  afterAll(() => world.drop())

  const revoke = (id: string) => world.send('DELETE', `/customers/invitations/${id}`, { key: world.apiKey })
  const simulate = (id: string, action: string, attributes = {}) =>
    world.post(`/simulations/customer-invitations/${id}/${action}`, attributes, { key: world.apiKey })

  /** Creates an invitation for a new agent, and applies the event, if there is one. */
  async function createInState(event: InvitationEvent | null): Promise<string> {
    const walletId = (await world.get('/wallets')).json.data[0].id as string
    const { agentId } = await addAgent(world, us.partyId, walletId, [])
    const recipient = person()
    const fields = { recipient, agentId, expiresAt: new Date(world.system.now() + dayMs).toISOString() }
    const { id } = await us.pending(fields)
    await applyEvent(id, event, { recipient, agentId })
    return id
  }

  async function applyEvent(
    id: string,
    event: InvitationEvent | null,
    invited: { recipient: ReturnType<typeof person>; agentId: string },
  ) {
    if (event === 'accept' || event === 'decline') await simulate(id, event)
    if (event === 'revoke') await revoke(id)
    if (event === 'expire') world.system.pass(dayMs)
    if (event === 'agent_retired') await world.send('DELETE', `/agents/${invited.agentId}`, { key: world.apiKey })
    if (event === 'connected') await simulate((await us.pending(invited)).id, 'accept')
    if (event === 'developer_retired') {
      await world.store.transaction(async (tx) => {
        const before = await findInvitation(tx, { partyId: us.partyId, agentId: null }, id)
        if (before !== undefined) await changeInvitation(tx, before, event, world.system.now())
      })
    }
  }

  const commands: Record<string, (id: string) => Promise<Answer>> = {
    revoke,
    accept: (id) => simulate(id, 'accept'),
    decline: (id) => simulate(id, 'decline'),
  }
  const commandOutcomes = { revoke: outcomes.revoke, accept: outcomes.accept, decline: outcomes.decline }

  describe.each([null, ...events])('commands on an invitation', (event) => {
    const [status, cancelReason] = event === null ? (['PENDING', null] as const) : outcomes[event]
    const result = event === null ? 'changes a pending invitation' : `is a conflict after the event ${event}`

    const names = Object.keys(commands) as (keyof typeof commandOutcomes)[]
    test.each(names)(`the command %s ${result}`, async (command) => {
      const id = await createInState(event)
      await world.get('/customers/invitations')
      expect(await us.read(id)).toMatchObject({ status, cancelReason })
      const answer = await commands[command]?.(id)
      if (event !== null) {
        expect([answer?.status, answer?.json.errors[0].code]).toStrictEqual([409, 'conflict'])
        expect(await us.read(id)).toMatchObject({ status, cancelReason })
        return
      }
      expect(answer?.status, answer?.text).toBe(200)
      expect(answer?.json.data.attributes).toMatchObject({
        status: commandOutcomes[command][0],
        effectiveStatus: commandOutcomes[command][0],
        cancelReason: commandOutcomes[command][1],
        acceptedAt: command === 'accept' ? expect.any(String) : null,
        declinedAt: command === 'decline' ? expect.any(String) : null,
      })
      const listed = await world.get('/customers/invitations?limit=100', { key: world.apiKey })
      expect(listed.text).not.toContain(id)
    })
  })

  test('an invitation expires exactly at its expiry time, even if the sandbox clock jumps past it', async () => {
    const expiresAt = new Date(world.system.now() + dayMs).toISOString()
    const { id } = await us.pending({ expiresAt })
    world.system.pass(dayMs - 1)
    await world.get('/whoami')
    expect(await us.read(id)).toMatchObject({ status: 'PENDING' })
    world.system.pass(5 * dayMs)
    await world.get('/whoami')
    expect(await us.read(id)).toMatchObject({ status: 'EXPIRED', updatedAtMs: Date.parse(expiresAt) })
    expect((await revoke(id)).status).toBe(409)
  })

  test('an invitation also expires if the sandbox clock is advanced', async () => {
    const { id } = await us.pending()
    await world.post('/simulations/clock/advance', { seconds: 30 * 24 * 60 * 60 })
    expect(await us.read(id)).toMatchObject({ status: 'EXPIRED' })
  })

  test('the deletion of an agent cancels only the invitations for this agent', async () => {
    const walletId = (await world.get('/wallets')).json.data[0].id as string
    const { agentId } = await addAgent(world, us.partyId, walletId, [])
    const [mine, other] = [await us.pending({ agentId }), await us.pending()]
    const cause = { agentId: null, instanceId: 'run 9' }
    await world.store.transaction((tx) =>
      cancelInvitationsOfAgent(tx, { id: agentId, partyId: us.partyId }, world.system.now(), cause),
    )
    expect(await us.read(mine.id)).toMatchObject({ cancelReason: 'AGENT_RETIRED', canceledInstanceId: 'run 9' })
    expect(await us.read(other.id)).toMatchObject({ status: 'PENDING' })
  })

  test('if an invitation is accepted, declined and revoked simultaneously, exactly one request succeeds', async () => {
    for (let round = 0; round < 8; round++) {
      const { id } = await us.pending()
      const answers = await Promise.all([simulate(id, 'accept'), revoke(id), simulate(id, 'decline')])
      expect(answers.map(({ status }) => status).toSorted()).toStrictEqual([200, 409, 409])
      const won = answers.find(({ status }) => status === 200)
      expect(await us.read(id)).toMatchObject({ status: won?.json.data.attributes.status })
      const { json } = await world.get('/customers?limit=100&status=all', { key: world.apiKey })
      const customer = won?.json.data.relationships.customerParty.data?.id ?? null
      const accepted = won?.json.data.attributes.status === 'ACCEPTED'
      expect(json.data.some((one: { id: string }) => one.id === customer)).toBe(accepted)
    }
  })

  test('two simultaneous acceptances by one person create one customer', async () => {
    const recipient = person()
    const first = await us.pending({ recipient })
    const second = await us.pending({ recipient, agentId: us.second.agentId })
    const answers = await Promise.all([simulate(first.id, 'accept'), simulate(second.id, 'accept')])
    const parties = answers.map(({ json }) => json.data.relationships.customerParty.data.id)
    expect(parties[0]).toBe(parties[1])
  })
})
