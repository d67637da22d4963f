import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createConsent } from '../../src/service/oauth/consent.ts'
import { SignIn } from '../../src/service/oauth/sign-in.ts'
import { type ComplianceStatus, complianceTransitions } from '../../src/service/rules/parties.ts'
import { postAgentKey } from '../credentials/requests.ts'
import { ok, payer } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addDelegation, addParty, createWorld, type World } from '../support/world.ts'

const statuses = Object.keys(complianceTransitions.none) as ComplianceStatus[]
const pairs = Object.entries(complianceTransitions).flatMap(([before, next]) =>
  statuses.map((decision) => ({ before: before as 'none' | ComplianceStatus, decision, isAllowed: decision in next })),
)

/** Each test creates a new party. */
onEachDatabase('transitions of a compliance case', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  test.each(pairs)(
    'a compliance case moves from $before to $decision only if the table of transitions allows it',
    async ({ before, decision, isAllowed }) => {
      const { partyId, apiKey: key } = await addParty(world)
      const decide = (status: ComplianceStatus) =>
        world.post(`/simulations/parties/${partyId}/compliance`, { status }, { key })
      if (before !== 'none') ok(await decide(before))
      const answer = await decide(decision)
      if (isAllowed || before === decision) expect(ok(answer).json.data.attributes.status).toBe(decision)
      else expectRefusal(answer, 'conflict')
    },
  )
})

onEachDatabase('compliance cases', (database) => {
  let world: World
  let partyId: string

  beforeEach(async () => {
    world = await createWorld(database)
    partyId = (await world.whoami()).partyId
  })
  afterEach(() => world.drop())

  const read = (id = partyId, key = world.apiKey) => world.get(`/parties/${id}/compliance`, { key })
  const decide = (status: ComplianceStatus, id = partyId, key = world.apiKey) =>
    world.post(`/simulations/parties/${id}/compliance`, { status }, { key })
  const partyStatus = async () => ok(await world.get('/parties/me')).json.data.attributes.status
  const card = { merchant: { name: 'Books' }, maximumAmount: 100, currency: 'USD' }

  test('a party’s compliance case is null at first, and then each change increases its version', async () => {
    expect(ok(await read()).json).toStrictEqual({ data: null })
    const first = ok(await decide('submitted')).json.data
    expect(first).toStrictEqual({
      type: 'compliance_case',
      id: expect.stringMatching(/^cmp_[0-9a-f]{32}$/),
      attributes: { partyId, status: 'submitted' },
      version: 1,
    })
    const approved = { ...first, attributes: { partyId, status: 'approved' }, version: 2 }
    expect(ok(await decide('approved')).json.data).toStrictEqual(approved)
    expect(ok(await decide('approved')).json.data).toStrictEqual(approved)
    expect(ok(await read()).json).toStrictEqual({ data: approved })
    const events = await world.store.read(({ db }) =>
      db.selectFrom('events').select('type').where('partyId', '=', partyId).orderBy('sequence').execute(),
    )
    const types = events.map(({ type }) => type).filter((type) => type !== 'wallet.created')
    expect(types).toEqual([...['compliance_case.updated', 'party.updated', 'compliance_case.updated', 'party.updated']])
  })

  test.each([
    ['preparingSubmission', 'PROVISIONAL'],
    ['submitted', 'PROVISIONAL'],
    ['actionRequired', 'PROVISIONAL'],
    ['approved', 'ACTIVE'],
    ['rejected', 'SUSPENDED'],
  ] as const)(
    'after the decision “%s”, a party is %s; it can issue cards only after “approved”',
    async (decision, status) => {
      ok(await decide(decision))
      expect(await partyStatus()).toBe(status)
      const issued = await world.post('/agent-cards', card)
      if (decision === 'approved') ok(issued)
      else expectRefusal(issued, decision === 'rejected' ? 'forbidden' : 'issued_cards_not_enabled')
    },
  )

  test('a rejected party is suspended until it is approved', async () => {
    for (const decision of ['rejected', 'submitted', 'actionRequired'] as const) {
      ok(await decide(decision))
      expect(await partyStatus()).toBe('SUSPENDED')
    }
    ok(await decide('approved'))
    expect(await partyStatus()).toBe('ACTIVE')
    ok(await world.post('/agent-cards', card))
  })

  test('an agent cannot decide the compliance case of its own party or of a customer', async () => {
    ok(await decide('rejected'))
    expectRefusal(await decide('approved', partyId, world.agentKey), 'forbidden')
    expect(await partyStatus()).toBe('SUSPENDED')
    expectRefusal(await decide('rejected', await world.customerPartyId(), world.agentKey), 'forbidden')
  })

  describe('suspension of a party', () => {
    test('a suspended party cannot pay, invite people, or create agents or keys, and the refusals give the reason', async () => {
      const agentId = String((await world.whoami()).agentId)
      const counterparty = { type: 'email', value: 'somebody@example.com' }
      const owner = { key: world.apiKey }
      const recipients = [{ type: 'email', value: 'new@example.com' }]
      const [wallet] = ok(await world.get('/wallets', owner)).json.data
      const another = ok(await world.post('/agents', { name: 'Another' }, owner)).json.data.id
      const key = ok(await postAgentKey(world, another)).json.data.id
      ok(await decide('rejected'))
      const answers = [
        await world.post(`/agent-keys/${key}/rotate`, { expiresInSeconds: 0 }, owner),
        await world.post(`/wallets/${wallet.id}/agents`, { agentId: another }, owner),
        await world.post('/payments', { amount: 100, counterparty }, owner),
        await world.post('/agents', { name: 'New' }, owner),
        await world.post('/api-keys', { name: 'New' }, owner),
        await world.post(`/agents/${agentId}/customers`, { recipients, permissions: ['payments.read'] }, owner),
        await world.post('/party-invitations', { invitations: [{ email: 'a@example.com', role: 'MEMBER' }] }, owner),
        await world.post('/payments', {
          ...{ amount: 1, counterparty },
          customerPartyId: await world.customerPartyId(),
        }),
      ]
      for (const answer of answers) {
        expectRefusal(answer, 'forbidden')
        expect(answer.json.errors[0].detail).toContain(`the account ${partyId} is suspended`)
      }
      ok(await world.get('/wallets'))
      const other = await addParty(world)
      const paid = { amount: 5, counterparty: { type: 'party_id', value: partyId } }
      expect(ok(await world.post('/payments', paid, { key: other.apiKey })).json.data.attributes.status).toBe(
        'COMPLETED',
      )
      ok(await decide('approved'))
      ok(await world.post('/payments', { amount: 100, counterparty }, owner))
    })

    test('a person who connects an application cannot create an agent for a suspended party', async () => {
      ok(await decide('rejected'))
      const owner = await new SignIn(world).owner()
      if (owner === undefined) throw new Error('The party has no owner.')
      const client = { id: 'ocl_test', name: 'Host', uri: null, redirectUri: null }
      const request = { uid: 'asked', client, scopes: ['payments:read'] } as const
      const choice = { kind: 'new', name: 'Another', description: null } as const
      await expect(createConsent(world).allow(owner, request, choice)).rejects.toThrow('is suspended')
    })

    test('a suspended party can deny its pending approvals, but not approve them', async () => {
      const { setLimits, approvalOf } = payer(world)
      await setLimits('parties', partyId, { perTransaction: 1 })
      const counterparty = { type: 'email', value: 'somebody@example.com' }
      const { id } = ok(await world.post('/payments', { amount: 100, counterparty }, { key: world.apiKey })).json.data
      const approval = await approvalOf(id)
      ok(await decide('rejected'))
      const answer = (what: string) => world.send('POST', `/approvals/${approval.id}/${what}`, { key: world.apiKey })
      expectRefusal(await answer('approve'), 'forbidden')
      ok(await answer('deny'))
    })

    test('a suspended party’s unused cards expire, but purchases authorized earlier can still be captured', async () => {
      const [used, unused] = [await world.issueCard(), await world.issueCard()]
      const purchase = ok(await world.authorize(used, 100)).json.data.id
      ok(await decide('rejected'))
      expect(ok(await world.get(`/agent-cards/${unused}`)).json.data.attributes.status).toBe('expired')
      expect(ok(await world.authorize(unused, 100)).json.data.attributes.status).toBe('declined')
      ok(await world.post(`/simulations/card-transactions/${purchase}/capture`, { amount: 100, currency: 'USD' }))
    })

    test('a suspended party’s pending invitations are canceled as DEVELOPER_RETIRED, and its invitation links are revoked', async () => {
      const agentId = String((await world.whoami()).agentId)
      const owner = { key: world.apiKey }
      const recipients = [{ type: 'email', value: 'new@example.com' }]
      const agents = [{ agentId, permissions: ['payments.read'] }]
      const [invited] = ok(await world.post('/customers/invitations', { recipients, agents }, owner)).json.data
      const link = ok(await world.post('/customers/invitation-links', { name: 'Open', proposedAgents: agents }, owner))
      ok(await decide('rejected'))
      const [invitation] = ok(await world.get('/agents/invitations', owner)).json.data
      expect(invitation).toMatchObject({
        id: invited.id,
        attributes: { status: 'CANCELED', effectiveStatus: 'CANCELED', cancelReason: 'DEVELOPER_RETIRED' },
      })
      const { id } = link.json.data
      const read = ok(await world.get(`/customers/invitation-links/${id}`, owner))
      expect(read.json.data.attributes.status).toBe('REVOKED')
      const canceled = await world.store.read(({ db }) =>
        db
          .selectFrom('events')
          .select('resourceId')
          .where('type', '=', 'agent_delegation_invitation.canceled')
          .execute(),
      )
      expect(canceled).toEqual([{ resourceId: invited.id }])
    })
  })

  test('a customer’s compliance case is visible to callers with party.read; an unrelated party’s case is not visible', async () => {
    const customerId = await world.customerPartyId()
    ok(await decide('approved', customerId))
    expect(ok(await read(customerId)).json.data.attributes).toEqual({ partyId: customerId, status: 'approved' })
    const stranger = await addParty(world)
    for (const key of [world.apiKey, world.agentKey]) {
      expectRefusal(await read(stranger.partyId, key), 'not_found')
    }
    expectRefusal(await decide('rejected', stranger.partyId), 'not_found')
    const { agentId, partyId: agentPartyId } = await world.whoami()
    const permissions = JSON.stringify(['payments.read'])
    const grant = { customerPartyId: stranger.partyId, agentPartyId, agentId: String(agentId), permissions }
    await addDelegation(world, grant)
    expectRefusal(await read(stranger.partyId, world.agentKey), 'forbidden')
  })
})
