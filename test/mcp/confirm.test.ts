import type { Client } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type ApprovalWorld, codeAt, createApprovalWorld } from '../approvals/authenticator.ts'
import { ok, type Payer } from '../payments/payer.ts'
import { onEachDatabase } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { createWorld, type OtherParty, type World } from '../support/world.ts'
import { type Connected, connectHost, dismissed, no, person, unticked, yes } from './connected.ts'
import { type CallOptions, errorOf, hosts, type Person, type PersonAnswer } from './hosts.ts'

const always = { mode: 'always', aboveCents: 10_000 } as const
const stateSecrets = async () => ['sealed with these 32 characters..']

let open: Connected[] = []
afterEach(async () => {
  for (const { close } of open) await close()
  open = []
})

type Options = NonNullable<Parameters<typeof connectHost>[2]>

async function connectTo(world: World, chosen: (typeof hosts)[number], options: Options) {
  const connection = await connectHost(world, chosen.open, { confirm: always, ...options })
  open.push(connection)
  return connection
}

onEachDatabase('confirmation by a person', (database) => {
  let world: World
  let approvals: ApprovalWorld
  let self: Payer
  let other: OtherParty

  beforeAll(async () => {
    world = await createWorld(database)
    approvals = await createApprovalWorld(world)
    self = approvals.self
    other = approvals.other
    ok(await world.post(`/simulations/customers/${approvals.partyId}/transfers/deposit`, { amount: 10_000_000 }))
  })
  afterAll(() => world.drop())

  describe.each(sampleOf(hosts, 2))('$host', (chosen) => {
    const approving = async (who: Person, approvalId: string, options: Options = {}, call: CallOptions = {}) => {
      const connection = await connectTo(world, chosen, { key: world.apiKey, person: who, ...options })
      return { ...connection, result: await connection.host.callTool('approve_approval', { approvalId }, call) }
    }

    test('the person sees the amount, payee and effect, and the payment is sent after they approve it', async () => {
      const { paymentId, approvalId } = await approvals.review(6_000)
      const who = person([yes])
      const { result, sent } = await approving(who, approvalId)
      expect(result.structuredContent?.data.attributes.status).toBe('approved')
      expect(await self.status(paymentId)).toBe('COMPLETED')
      expect(who.asked).toHaveLength(1)
      const { message, requestedSchema } = who.asked[0] ?? { message: '' }
      expect(message.split('\n')).toEqual([
        'Approve a payment of $60.00',
        `To: party ${other.partyId} (payment ${paymentId})`,
        expect.stringMatching(/^Requested by: agent “Sandbox shopper” \(agt_[0-9a-f]{32}\)$/),
        'Held because it exceeds: perTransactionAmount $1.00',
        `Approval: ${approvalId}`,
        'The money moves at once.',
      ])
      expect(requestedSchema?.properties).toEqual({ confirm: { type: 'boolean', title: 'Yes, approve $60.00' } })
      expect(sent.filter(({ line }) => line.endsWith('/approve'))).toEqual([
        { line: `POST /approvals/${approvalId}/approve`, idempotencyKey: expect.stringMatching(/^idk_/) },
      ])
    })

    test.each([
      ['a refusal', no, 'confirmation_declined'],
      ['an unchecked box', unticked, 'confirmation_declined'],
      [
        'a string instead of a checked box',
        { action: 'accept', content: { confirm: 'true' } },
        'confirmation_declined',
      ],
    ] as [string, PersonAnswer, string][])('the approval is not sent if the answer is %s', async (_, answer, code) => {
      const { paymentId, approvalId } = await approvals.review(6_000)
      const { result, sent } = await approving(person([answer]), approvalId)
      expect(errorOf(result)).toEqual({
        code,
        detail: 'The person did not agree. Nothing was done.',
        next: expect.stringContaining('Do not call again'),
      })
      expect(sent.map(({ line }) => line)).not.toContain(`POST /approvals/${approvalId}/approve`)
      expect(await self.status(paymentId)).toBe('IN_REVIEW')
    })

    test.each([
      ['cancels the question', dismissed, false],
      ['declines at once', no, true],
      ['sends an unchecked box at once', unticked, true],
    ] as const)('if the host %s, the error says that the host did not show the question', async (_, answer, hasty) => {
      const { paymentId, approvalId } = await approvals.review(6_000)
      const options = { hasty, publicUrl: 'https://pay.example' }
      const { result } = await approving(person([answer]), approvalId, options)
      const { code, detail, next } = errorOf(result)
      expect(code).toBe('confirmation_not_shown')
      expect(detail).toContain('The host did not show the question')
      expect(next).toContain(`at https://pay.example/approvals/${approvalId}/review`)
      expect(await self.status(paymentId)).toBe('IN_REVIEW')
    })

    test('if the host cannot ask the person, the error says where the person can decide', async () => {
      const { paymentId, approvalId } = await approvals.review(6_000)
      for (const [options, where] of [
        [{ publicUrl: 'https://pay.example' }, `at https://pay.example/approvals/${approvalId}/review`],
        [{ person: person([yes], { url: {} }) }, 'in the dashboard of the payments account'],
      ] as const) {
        const { host } = await connectTo(world, chosen, { key: world.apiKey, ...options })
        const error = errorOf(await host.callTool('approve_approval', { approvalId }))
        expect(error.code).toBe('confirmation_unavailable')
        expect(error.next).toContain(`they can do it ${where}`)
        expect(error.next).toContain('PAYMENTS_CONFIRM')
        const words = errorOf(await host.callTool('approve_approval', { approvalId, confirm: true }))
        expect(words).toMatchObject({ code: 'invalid_value', detail: expect.stringContaining('"confirm"') })
      }
      expect(await self.status(paymentId)).toBe('IN_REVIEW')
    })

    test('the person decides on a page if the host opens pages but shows no forms', async () => {
      const publicUrl = 'https://pay.example'
      const { paymentId, approvalId } = await approvals.review(6_000)
      const slept: number[] = []
      const sleep = async (ms: number) => {
        slept.push(ms)
        // The server has offered the page a second time. Now the person approves on the page.
        if (slept.length === 10) ok(await self.approve(approvalId, { key: world.apiKey }))
      }
      const who = person([{ action: 'accept' }], { url: {} })
      const options = { publicUrl, system: { ...world.system, sleep } }
      const { result, sent } = await approving(who, approvalId, options)
      expect(result.structuredContent?.data.attributes.status).toBe('approved')
      const url = `https://pay.example/approvals/${approvalId}/review`
      expect(who.asked.map((elicitation) => [elicitation.mode, elicitation.url])).toEqual([
        ['url', url],
        ['url', url],
      ])
      expect(sent.filter(({ line }) => !line.startsWith('GET'))).toEqual([])
      expect(await self.status(paymentId)).toBe('COMPLETED')

      const later = (await approvals.review(6_000)).approvalId
      const declined = await approving(person([no], { url: {} }), later, { publicUrl })
      expect(errorOf(declined.result).code).toBe('confirmation_declined')
      const slow = person([{ action: 'accept' }], { url: {} })
      const undecided = await approving(slow, later, { publicUrl, system: { ...world.system, sleep: async () => {} } })
      expect(errorOf(undecided.result)).toMatchObject({ code: 'confirmation_pending' })
      expect(slow.asked).toHaveLength(3)
    })

    test('the person is not asked about an approval that is already decided or does not exist', async () => {
      const { paymentId, approvalId } = await approvals.review(6_000)
      ok(await self.deny(approvalId, undefined, { key: world.apiKey }))
      const who = person([yes])
      const { host, result } = await approving(who, approvalId)
      expect(errorOf(result).code).toBe('conflict')
      const absent = await host.callTool('approve_approval', { approvalId: `apr_${'0'.repeat(32)}` })
      expect(errorOf(absent).code).toBe('not_found')
      expect(who.asked).toEqual([])
      expect(await self.status(paymentId)).toBe('APPROVAL_DENIED')
    })

    test('the person is asked only about large payments, and exactly the payment shown is made', async () => {
      const who = person([yes])
      const { host } = await connectTo(world, chosen, { key: world.apiKey, person: who })
      const counterparty = { type: 'party_id', value: other.partyId }
      await host.callTool('create_payment', { amount: 10_000, counterparty })
      expect(who.asked).toEqual([])
      const paid = await host.callTool('create_payment', { amount: 10_001, counterparty, description: 'Rent' })
      expect(paid.structuredContent?.data.attributes).toMatchObject({ amount: 10_001, status: 'COMPLETED' })
      expect(who.asked.map(({ message }) => message)).toEqual([
        [
          'Pay $100.01',
          `To: party_id “${other.partyId}”`,
          "Reason, in the assistant's words: “Rent”",
          'The money moves at once, or after an approval if it exceeds a limit.',
        ].join('\n'),
      ])
    })

    test('after a 428, the person enters a code on a page; the approval is then sent with a new idempotency key', async () => {
      const { userId, key } = await approvals.approver()
      const { paymentId, approvalId } = await approvals.review(60_000)
      const slept: number[] = []
      let page = ''
      // The person enters the code on the page during the third wait of the call.
      const sleep = async (ms: number) => {
        slept.push(ms)
        if (slept.length === 3) {
          const code = codeAt(await approvals.secretAt(page), world.system.now())
          expect((await approvals.submit(page, code)).status).toBe(303)
        }
      }
      const who = person([
        yes,
        ({ url = '' }) => {
          page = url
          return { action: 'accept' }
        },
      ])
      const progress: number[] = []
      const { result, sent } = await approving(
        who,
        approvalId,
        { key, system: { ...world.system, sleep } },
        {
          onprogress: ({ progress: reported, message }) => {
            // SDK v2 also reports its own progress, which this test ignores.
            if (message?.startsWith('asking')) progress.push(reported)
          },
        },
      )
      expect(result.structuredContent?.data.attributes.status).toBe('approved')
      expect(who.asked.map(({ mode = 'form' }) => mode)).toEqual(['form', 'url'])
      expect(page).toContain(`_${userId}_`)
      expect(slept).toEqual([0, 2_000, 3_000])
      const keys = sent.filter(({ line }) => line.endsWith('/approve')).map(({ idempotencyKey }) => idempotencyKey)
      expect(progress).toEqual(progress.toSorted((a, b) => a - b))
      expect(new Set(progress).size).toBe(4)
      expect(keys).toHaveLength(4)
      expect(new Set(keys).size).toBe(4)
      expect(await self.status(paymentId)).toBe('COMPLETED')
    })

    test('the call fails if the person does not complete the verification, or if the host opens no pages', async () => {
      const { key } = await approvals.approver()
      const { approvalId } = await approvals.review(60_000)
      const { result } = await approving(person([yes, no]), approvalId, { key })
      expect(errorOf(result)).toMatchObject({ code: 'verification_declined' })
      const slept: number[] = []
      const sleep = async (ms: number) => void slept.push(ms)
      const late = person([yes, { action: 'accept' }])
      const waited = await approving(late, approvalId, {
        key,
        system: { ...world.system, sleep },
      })
      expect(errorOf(waited.result)).toMatchObject({ code: 'mfa_required', status: 428 })
      // The server offers the page three times. It waits only 45 seconds each time, because hosts abort a request after
      // a minute.
      expect(late.asked.map(({ mode = 'form' }) => mode)).toEqual(['form', 'url', 'url', 'url'])
      expect(new Set(late.asked.map(({ url }) => url)).size).toBe(4)
      expect(slept.reduce((sum, ms) => sum + ms)).toBe(3 * 45_000)
      // If the host cannot open pages, the error contains the address of the page.
      const { result: refusal } = await approving(person([yes], { form: {} }), approvalId, { key })
      expect(errorOf(refusal)).toMatchObject({ code: 'mfa_required', detail: expect.stringContaining('/verify/mfc_') })
    })
  })

  test.each(['http://evil.example/verify/x', 'https://ada@pay.example/x', 'javascript:alert(1)', 'https://'])(
    'if the address in a 428 answer is %s, no page opens',
    async (address) => {
      const between = (request: Request) => {
        if (!request.url.endsWith('/approve')) return undefined
        const detail = `Verify here: ${address}`
        return Response.json({ errors: [{ status: '428', code: 'mfa_required', detail }] }, { status: 428 })
      }
      const { approvalId } = await approvals.review(6_000)
      const who = person([yes])
      const { host } = await connectTo(world, hosts[3], { key: world.apiKey, person: who, between })
      expect(errorOf(await host.callTool('approve_approval', { approvalId })).code).toBe('mfa_required')
      expect(who.asked).toHaveLength(1)
    },
  )

  test('the person is asked again if the data changed, because an answer counts only for the data shown', async () => {
    const [, , , pinned] = hosts
    const subscription = ok(
      await world.post('/subscriptions', {
        description: 'Gym',
        every: { unit: 'month', count: 1 },
        amount: 2_000,
        taxAmount: 0,
      }),
    ).json.data
    const who = person([yes])
    let reads = 0
    // The amount changes while the person reads the question.
    const between = async (request: Request) => {
      if (request.method !== 'GET' || !request.url.includes(subscription.id)) return undefined
      const answer = await world.service.fetch(request)
      // biome-ignore lint/suspicious/noExplicitAny: the test changes one value.
      const json: any = await answer.json()
      if (++reads > 1) json.data.attributes.terms.amount = 3_000
      return Response.json(json)
    }
    const { host } = await connectTo(world, pinned, { person: who, between })
    const result = await host.callTool('cancel_subscription', { subscriptionId: subscription.id })
    expect(result.structuredContent?.data.attributes.status).toBe('canceled')
    expect(who.asked.map(({ message }) => message.split('\n')[0])).toEqual([
      'Cancel the subscription “Gym”: $20.00 every 1 month',
      'Cancel the subscription “Gym”: $30.00 every 1 month',
    ])
  })

  test("a payment is made only once even if the host sends the person's answer twice", async () => {
    const { call } = await rawHost(world)
    const payment = { amount: 20_000, counterparty: { type: 'party_id', value: other.partyId } }
    const firstAnswer = await call(payment)
    expect(firstAnswer).toMatchObject({
      resultType: 'input_required',
      inputRequests: { decision: { method: 'elicitation/create' } },
    })
    const answer = { requestState: firstAnswer.requestState, inputResponses: { decision: yes } }
    const paid = await call(payment, answer)
    const again = await call(payment, answer)
    expect(paid.structuredContent.data.id).toBe(again.structuredContent.data.id)
  })

  test('the person’s answer counts only if the call has the same arguments, principal and sealed state as before', async () => {
    const { call } = await rawHost(world)
    const payment = { amount: 20_000, counterparty: { type: 'party_id', value: other.partyId } }
    const { requestState } = await call(payment)
    const inputResponses = { decision: yes }
    const paidBefore = ok(await world.get('/payments?limit=100', { key: world.apiKey })).json.data.length
    for (const changed of [
      { ...payment, amount: 20_001 },
      { ...payment, counterparty: { type: 'email', value: 'eve@example.com' } },
      { ...payment, description: 'more' },
      { ...payment, idempotencyKey: 'mine 0123456789abcdef' },
    ]) {
      expect(await call(changed, { requestState, inputResponses })).toMatchObject({ resultType: 'input_required' })
    }
    expect(await call(payment, { inputResponses })).toMatchObject({ resultType: 'input_required' })
    const forged = `${requestState.slice(0, -4)}AAAA`
    await expect(call(payment, { requestState: forged, inputResponses })).rejects.toMatchObject({ code: -32602 })
    const elsewhere = await rawHost(world, { principal: 'somebody else' })
    await expect(elsewhere.call(payment, { requestState, inputResponses })).rejects.toMatchObject({ code: -32602 })
    expect(ok(await world.get('/payments?limit=100', { key: world.apiKey })).json.data).toHaveLength(paidBefore)
  })

  /** Connects a host that returns a call's questions to the test instead of asking a person. */
  async function rawHost(at: World, options: Options = {}) {
    const who: Person = { modes: { form: {} }, answer: () => no }
    const pinned = hosts[3]
    const { host } = await connectTo(at, pinned, { key: at.apiKey, person: who, stateSecrets, ...options })
    const client = host.requests as unknown as Client
    // biome-ignore lint/suspicious/noExplicitAny: a question or the result of the call.
    const call = (input: object, answer: object = {}): Promise<any> =>
      client.request(
        { method: 'tools/call', params: { name: 'create_payment', arguments: input, ...answer } },
        { allowInputRequired: true },
      )
    return { call }
  }
})
