import { afterAll, beforeAll, expect, test } from 'vitest'
import { messageKeptMs } from '../../src/service/store/sandbox-messages.ts'
import { created, ok, type Payer, payer } from '../payments/payer.ts'
import { merchant } from '../subscriptions/merchant.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type Sent, type World } from '../support/world.ts'

onEachDatabase('messages that the sandbox stores instead of sending', (database) => {
  let world: World
  let acting: Payer
  let owner: Sent
  let addressCount = 0

  beforeAll(async () => {
    world = await createWorld(database)
    acting = payer(world)
    owner = { key: world.apiKey }
  })
  afterAll(() => world.drop())

  const newAddress = () => `unknown${addressCount++}@example.com`
  const list = async (query = '', sent: Sent = owner) => ok(await world.get(`/simulations/messages${query}`, sent)).json
  const messagesTo = async (to: string, sent?: Sent) => (await list(`?to=${encodeURIComponent(to)}`, sent)).data

  test('a payment to someone without an account sends a message with a placeholder for the link', async () => {
    const to = newAddress()
    const answer = ok(await acting.pay(1250, { type: 'email', value: to.toUpperCase() }))
    const { id, attributes } = answer.json.data
    const [message, ...others] = await messagesTo(to.toUpperCase())
    expect(others).toEqual([])
    expect(message).toEqual({
      type: 'sandboxMessage',
      id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      attributes: {
        kind: 'payment_claim',
        channel: 'email',
        to,
        subject: 'Sandbox Organization sends you $12.50',
        text: 'Sandbox Organization sends you $12.50. To claim it, open this link: [link]',
        resourceId: id,
        createdAt: new Date(world.system.now()).toISOString(),
      },
      relationships: { party: { data: { type: 'party', id: (await world.whoami()).partyId } } },
    })
    expect(JSON.stringify(message)).not.toContain(attributes.claimLink.split('/').at(-1))
  })

  test('a payment sends one message even if repeated, and none if it fails or disables notifications', async () => {
    const value = '+14155550177'
    const key = 'the-same-payment'
    const body = { amount: 100, counterparty: { type: 'phone', value } }
    for (let time = 0; time < 2; time++) ok(await world.post('/payments', body, { idempotencyKey: key }))
    const huge = { amount: 99_999_999, counterparty: { type: 'phone', value } }
    expect((await world.post('/payments', huge)).status).toBeGreaterThanOrEqual(400)
    expect((await messagesTo(value)).map(channelAndKind)).toEqual(['sms payment_claim'])
    const silent = newAddress()
    ok(await acting.pay(100, { type: 'email', value: silent }, { disableNotifications: true }))
    expect(await messagesTo(silent)).toEqual([])
  })

  test('a payment over a limit sends a message to the owner, and after the approval one to the recipient', async () => {
    const { agentId, partyId } = await world.whoami(world.agentKey)
    await acting.setLimits('agents', agentId ?? '', { perTransaction: 500 })
    const to = newAddress()
    const id = created(await acting.pay(600, { type: 'email', value: to }))
    const approval = await acting.approvalOf(id)
    await acting.setLimits('agents', agentId ?? '', null)
    const about = (await list()).data.filter(({ attributes }: Message) => attributes.resourceId === approval.id)
    expect(about.map(channelAndKind)).toEqual(['email approval_required'])
    expect(about[0].attributes.text).toContain('of $6.00 from Sandbox Organization is over a limit')
    expect(about[0].attributes.to).toBe(await ownersAddress(partyId))
    expect(await messagesTo(to)).toEqual([])
    const user = await acting.userToken(partyId)
    ok(await acting.approve(approval.id, { key: user.credential }))
    expect((await messagesTo(to)).map(channelAndKind)).toEqual(['email payment_claim'])
  })

  test('an invitation to an email address or a party is emailed unless notifications are disabled', async () => {
    const agents = [{ agentId: (await world.whoami(world.agentKey)).agentId, permissions: ['payments.read'] }]
    const invite = async (recipient: object, more: object = {}) => {
      const answer = await world.post('/customers/invitations', { recipients: [recipient], agents, ...more }, owner)
      expect(answer.status, answer.text).toBeLessThan(300)
      return answer.json.data[0].id as string
    }
    const [one, silent, party] = [newAddress(), newAddress(), await addParty(world)]
    const address = newAddress()
    await acting.setParty(party.partyId, { email: address })
    const id = await invite({ type: 'email', value: one })
    await invite({ type: 'email', value: silent }, { disableNotifications: true })
    await invite({ type: 'party_id', value: party.partyId })
    const [message] = await messagesTo(one)
    expect(message.attributes).toMatchObject({ kind: 'customer_invitation', resourceId: id })
    expect(message.attributes.text).toMatch(/^Sandbox Organization asks you to let .* act for you\./)
    expect(await messagesTo(silent)).toEqual([])
    expect((await messagesTo(address)).map(channelAndKind)).toEqual(['email customer_invitation'])
    // The invitation belongs to the inviting party, so only that party can list the message. The recipient cannot.
    expect((await list('', { key: party.apiKey })).data).toEqual([])
  })

  test('each payment request and party invitation sends one email, with a placeholder for its link', async () => {
    const [payerAddress, knownAddress, member] = [newAddress(), newAddress(), newAddress()]
    const party = await addParty(world)
    await acting.setParty(party.partyId, { email: knownAddress })
    const ask = async (payer: object) => {
      const answer = await world.post('/payment-requests', { amount: 700, payer }, owner)
      expect(answer.status, answer.text).toBe(201)
      return answer.json.data
    }
    const paymentRequest = await ask({ type: 'email', value: payerAddress })
    await ask({ type: 'party_id', value: party.partyId })
    const invited = await world.post('/party-invitations', { invitations: [{ email: member, role: 'ADMIN' }] }, owner)
    const [mail] = await messagesTo(payerAddress)
    expect(mail.attributes).toMatchObject({ kind: 'payment_request', resourceId: paymentRequest.id })
    expect(mail.attributes.text).toBe(
      'Sandbox Organization asks you to pay $7.00. To pay or decline, open this link: [link]',
    )
    expect((await messagesTo(knownAddress)).map(channelAndKind)).toEqual(['email payment_request'])
    const [joining, ...others] = await messagesTo(member)
    expect(others).toEqual([])
    expect(joining.attributes).toMatchObject({
      kind: 'party_invitation',
      resourceId: invited.json.data[0].id,
      text: 'Sandbox Organization asks you to join as an admin. To accept or decline, open this link: [link]',
    })
    const secrets = [paymentRequest.attributes.paymentLinkUrl, invited.json.data[0].attributes.url]
    for (const url of secrets) expect(JSON.stringify(await list())).not.toContain(url.split('/').at(-1))
  })

  test('the payer gets one message when a paid subscription is canceled, and none if it was never paid', async () => {
    const shop = merchant(world)
    const [active, pending] = [await shop.active(), await shop.create()]
    for (const id of [active, active, pending]) await shop.cancel(id)
    const mails = await messagesTo('payer')
    expect(mails.map(({ attributes }: Message) => attributes.resourceId)).toEqual([active])
    expect(mails[0].attributes.text).toContain('Your card will not be charged again.')
  })

  test('an agent can list only the messages that it caused; a list is newest first and has pages', async () => {
    const [byAgent, byParty] = [newAddress(), newAddress()]
    world.system.pass(1)
    ok(await acting.pay(100, { type: 'email', value: byParty }, {}, owner))
    world.system.pass(1)
    ok(await acting.pay(100, { type: 'email', value: byAgent }))
    const seen = (await list('', { key: world.agentKey })).data.map(({ attributes }: Message) => attributes.to)
    expect(seen[0]).toBe(byAgent)
    expect(seen).not.toContain(byParty)
    const first = await list('?limit=1')
    const next = await list(`?limit=1&cursor=${first.meta.pagination.nextCursor}`)
    expect([...first.data, ...next.data].map(({ attributes }: Message) => attributes.to)).toEqual([byAgent, byParty])
  })

  test('control characters in the name of a party do not reach the subject of a message', async () => {
    const { partyId } = await world.whoami()
    await acting.setParty(partyId, { displayName: 'Evil\nBcc: all\u202e' })
    const to = newAddress()
    ok(await acting.pay(100, { type: 'email', value: to }))
    await acting.setParty(partyId, { displayName: 'Sandbox Organization' })
    const [{ attributes }] = await messagesTo(to)
    expect(attributes.subject).toMatch(/^[\P{C}]*$/u)
  })

  test('messages are deleted after 30 days of real time', async () => {
    const to = newAddress()
    ok(await acting.pay(100, { type: 'email', value: to }))
    expect((await messagesTo(to)).length).toBe(1)
    world.system.pass(messageKeptMs - 1000)
    await world.service.upkeep.once()
    expect((await messagesTo(to)).length).toBe(1)
    world.system.pass(1000)
    await world.service.upkeep.once()
    expect((await list()).data).toEqual([])
  })

  const channelAndKind = ({ attributes }: Message) => `${attributes.channel} ${attributes.kind}`
  const ownersAddress = (partyId: string) =>
    world.store.read(async ({ db }) => {
      const users = db.selectFrom('users').select('email').where('partyId', '=', partyId)
      return (await users.where('role', '=', 'OWNER').orderBy('id').executeTakeFirstOrThrow()).email
    })
})

interface Message {
  attributes: { kind: string; channel: string; to: string; resourceId: string; text: string; subject: string }
}
