import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { codeAt, setUpApp } from '../approvals/authenticator.ts'
import type { Connected } from '../mcp/connected.ts'
import { person } from '../mcp/connected.ts'
import { errorOf, hosts } from '../mcp/hosts.ts'
import { ok, payer } from '../payments/payer.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addUserToken, anotherProcess } from '../support/world.ts'
import { createDecisionWorld, type DecisionWorld, pendingOf } from './deciding.ts'

const [earlier, , , pinned] = hosts

onEachDatabase('calls that wait for a decision on a page', (database) => {
  let on: DecisionWorld
  beforeAll(async () => {
    on = await createDecisionWorld(database)
  })
  afterAll(() => on.world.drop())

  let open: Connected[] = []
  afterEach(async () => {
    for (const { close } of open) await close()
    open = []
  })
  const connect = async (...args: Parameters<DecisionWorld['host']>) => {
    const connection = await on.host(...args)
    open.push(connection)
    return connection
  }
  const pay = async (amount: number, ...args: Partial<Parameters<DecisionWorld['host']>>) => {
    const [chosen = pinned, options] = args
    const connection = await connect(chosen, options)
    const pending = pendingOf(await connection.host.callTool('create_payment', on.payment(amount)))
    const again = (more: object = {}) =>
      connection.host.callTool('create_payment', { decision: pending.decision, ...more })
    return { ...connection, ...pending, again }
  }

  test.each([earlier, pinned])(
    'a call waits for a decision on a page, and is carried out once after the approval, for $host',
    async (chosen) => {
      const before = await on.shopBalance()
      const { decision, url, ends, next, again, host, sent } = await pay(4_200, chosen)
      expect(url).toBe(`http://127.0.0.1:4010/decide/${decision}`)
      expect(Date.parse(ends) - on.world.system.now()).toBe(600_000)
      for (const words of [url, ends, `decision "${decision}"`, 'do not open it yourself'])
        expect(next).toContain(words)
      // Identical calls share one decision.
      expect(pendingOf(await host.callTool('create_payment', on.payment(4_200))).decision).toBe(decision)
      expect(await on.shopBalance()).toBe(before)

      expect(await on.decide(decision, 'yes')).toBe(303)
      const paid = await again(on.payment(4_200))
      expect(paid.structuredContent?.data.attributes).toMatchObject({ amount: 4_200, status: 'COMPLETED' })
      const repeated = await again()
      expect(repeated.structuredContent).toMatchObject({ data: paid.structuredContent?.data ?? {}, replayed: true })
      expect(await on.shopBalance()).toBe(before + 4_200)
      expect(sent.filter(({ line }) => line === 'POST /payments')).toHaveLength(1)
    },
  )

  test('a continued call waits up to 50 seconds for the decision, and sends progress', async () => {
    const slept: number[] = []
    let decision = ''
    const sleep = async (ms: number) => {
      slept.push(ms)
      // The person decides on the page while the second call waits.
      if (slept.length === 6) expect(await on.decide(decision, 'yes')).toBe(303)
    }
    const waiting = await pay(100, pinned, { system: { ...on.world.system, sleep } })
    decision = waiting.decision
    const progress: string[] = []
    const first = await waiting.host.callTool(
      'create_payment',
      { decision },
      { onprogress: ({ progress: at, message }) => progress.push(`${at} ${message}`) },
    )
    expect(errorOf(first)).toMatchObject({ code: 'confirmation_pending', decision })
    expect(slept.reduce((sum, ms) => sum + ms)).toBe(50_000)
    expect(slept).toHaveLength(5)
    expect(progress).toHaveLength(5)
    const second = await waiting.again()
    expect(second.structuredContent?.data.attributes).toMatchObject({ amount: 100 })
    expect(slept).toHaveLength(6)
  })

  test('a waiting call continues as soon as the person decides, even on a page of another process', async () => {
    const waits = Promise.withResolvers<void>()
    // This sleep never ends by itself. It is aborted when the person decides.
    const sleep = (_ms: number, signal?: AbortSignal) => {
      waits.resolve()
      return new Promise<void>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    }
    const other = await anotherProcess(on.world, on.world.system)
    const connection = await on.host(pinned, { server: other, system: { ...on.world.system, sleep } })
    const { decision } = pendingOf(await connection.host.callTool('create_payment', on.payment(150)))
    const call = connection.host.callTool('create_payment', { decision })
    await waits.promise
    expect(await on.decide(decision, 'yes')).toBe(303)
    expect((await call).structuredContent?.data.attributes).toMatchObject({ amount: 150 })
    await connection.close()
    await other.drop()
  })

  test('a call is not carried out after a refusal, a late decision, or the expiry of its approval', async () => {
    const before = await on.shopBalance()
    const refused = await pay(300)
    expect(await on.decide(refused.decision, 'no')).toBe(303)
    expect(errorOf(await refused.again())).toMatchObject({
      code: 'confirmation_declined',
      next: expect.stringContaining('Do not call again'),
    })
    const late = await pay(301)
    on.world.system.pass(600_001)
    expect(await on.decide(late.decision, 'yes').catch(String)).toMatch(/The page has no form/)
    expect(errorOf(await late.again()).code).toBe('confirmation_ended')
    const unused = await pay(302)
    expect(await on.decide(unused.decision, 'yes')).toBe(303)
    on.world.system.pass(600_001)
    expect(errorOf(await unused.again()).code).toBe('confirmation_ended')
    expect(await on.shopBalance()).toBe(before)
  })

  test('a call can be continued only by the same caller, with the same tool and arguments', async () => {
    const before = await on.shopBalance()
    const { decision, again, host } = await pay(500)
    expect(await on.decide(decision, 'yes')).toBe(303)
    const elsewhere = await connect(pinned, { principalId: 'somebody else' })
    const unknown = { code: 'confirmation_unknown', next: expect.stringContaining('without decision') }
    expect(errorOf(await elsewhere.host.callTool('create_payment', { decision }))).toMatchObject(unknown)
    const stranger = await connect(pinned, { key: on.shop.agentKey })
    expect(errorOf(await stranger.host.callTool('create_payment', { decision }))).toMatchObject(unknown)
    expect(errorOf(await host.callTool('issue_agent_card', { decision }))).toMatchObject(unknown)
    expect(errorOf(await again({ decision: `dcn_${'0'.repeat(32)}` }))).toMatchObject(unknown)
    expect(errorOf(await again({ decision: 7 }))).toMatchObject(unknown)
    for (const other of [
      { amount: 501 },
      { description: 'Pens' },
      { counterparty: { type: 'email', value: 'e@e.example' } },
    ]) {
      expect(errorOf(await again(other))).toMatchObject({ code: 'confirmation_differs' })
    }
    expect(await on.shopBalance()).toBe(before)
    expect((await again({ amount: '500', description: null })).isError).not.toBe(true)
    expect(await on.shopBalance()).toBe(before + 500)
  })

  test('an approved call is carried out once, even if sent twice at once and again in another process', async () => {
    const before = await on.shopBalance()
    const { decision, again } = await pay(700)
    expect(await on.decide(decision, 'yes')).toBe(303)
    const results = await Promise.all([again(), again()])
    const ids = results.flatMap(({ structuredContent }) => structuredContent?.data.id ?? [])
    expect(new Set(ids).size).toBe(1)
    const other = await anotherProcess(on.world, on.world.system)
    const { host, close } = await on.host(pinned, { server: other })
    const replayed = await host.callTool('create_payment', { decision })
    expect(replayed.structuredContent?.data.id).toBe(ids[0])
    await close()
    await other.drop()
    expect(await on.shopBalance()).toBe(before + 700)
  })

  test('the person is asked again if the effect of the approved call has changed', async () => {
    const { world, site } = on
    const { json } = ok(await world.get('/customers'))
    const customerId = json.data[0].id
    const connection = await connect(pinned, { key: world.apiKey })
    const first = pendingOf(await connection.host.callTool('remove_customer', { customerId }))
    expect(await on.decide(first.decision, 'yes')).toBe(303)
    await world.store.transaction(({ db }) =>
      db.updateTable('parties').set({ displayName: 'Another' }).where('id', '=', customerId).execute(),
    )
    const changed = await connection.host.callTool('remove_customer', { decision: first.decision })
    expect(errorOf(changed).detail).toContain('has changed')
    const second = pendingOf(changed)
    expect(second.decision).not.toBe(first.decision)
    const visitor = await site.visitor(site.owner)
    expect((await visitor.open(`/decide/${second.decision}`)).text).toContain('Another')
    expect(ok(await world.get('/customers')).json.data[0].id).toBe(customerId)
  })

  test('an approved call without an idempotency key reaches the API once, even if sent twice at once', async () => {
    const { world } = on
    const customerId = ok(await world.get('/customers')).json.data[0].id
    const { host, sent } = await connect(pinned, { key: world.apiKey })
    const { decision } = pendingOf(await host.callTool('remove_customer', { customerId }))
    expect(await on.decide(decision, 'yes')).toBe(303)
    const both = await Promise.all([1, 2].map(() => host.callTool('remove_customer', { decision })))
    // Either of the two calls may reach the API. The other call is answered with a replay, which is sorted last.
    const [first, second] = both
      .map(({ structuredContent }) => structuredContent)
      .sort((one) => ('replayed' in (one ?? {}) ? 1 : -1))
    expect(first?.data.id).toBe(customerId)
    expect(second).toMatchObject({ data: first?.data, replayed: true })
    expect(sent.filter(({ line }) => line === `DELETE /customers/${customerId}`)).toHaveLength(1)
  })

  test('after the approval of a call that needs a second factor, the person is asked for the code', async () => {
    const { world, site } = on
    const { owner } = site
    const self = payer(world)
    await self.setLimits('parties', owner.partyId, { perTransaction: 10_000 })
    const paymentId = ok(await self.pay(60_000, { type: 'party_id', value: on.shop.partyId })).json.data.id
    await self.setLimits('parties', owner.partyId, null)
    const { id: approvalId } = await self.approvalOf(paymentId)
    const { userId, token } = await addUserToken(world, owner.partyId)
    const user = await world.store.read(({ db }) =>
      db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirstOrThrow(),
    )
    const visitor = await site.visitor(user)
    const secret = await setUpApp(visitor, world.system)
    const { host, sent } = await connect(pinned, { key: token })
    const { decision } = pendingOf(await host.callTool('approve_approval', { approvalId }))
    expect(await on.decide(decision, 'yes', user)).toBe(303)
    const refused = errorOf(await host.callTool('approve_approval', { decision }))
    expect(refused).toMatchObject({
      code: 'mfa_required',
      next: expect.stringContaining(`call again with decision "${decision}"`),
    })
    const page = new URL(/http\S+$/.exec(String(refused.detail))?.[0] ?? '').pathname
    await visitor.open(page)
    expect((await visitor.send(page, { code: codeAt(secret, world.system.now()) })).status).toBe(303)
    const approved = await host.callTool('approve_approval', { decision })
    expect(approved.structuredContent?.data.attributes.status).toBe('approved')
    const keys = sent.filter(({ line }) => line.endsWith('/approve')).map(({ idempotencyKey }) => idempotencyKey)
    expect(keys).toEqual([expect.stringMatching(/^idk_/), `${keys[0]}.1`])
  })

  test('if the host can open pages, the person is first sent to the decision page', async () => {
    const before = await on.shopBalance()
    const who = person([
      async ({ url = '' }) => {
        expect(await on.decide(url.split('/').at(-1) ?? '', 'yes')).toBe(303)
        return { action: 'accept' }
      },
    ])
    const { host } = await connect(pinned, { person: who })
    const paid = await host.callTool('create_payment', on.payment(900))
    expect(paid.structuredContent?.data.attributes).toMatchObject({ amount: 900, status: 'COMPLETED' })
    expect(who.asked.map(({ mode }) => mode)).toEqual(['url'])
    // If the host cancels the question, the model gets the link to the decision page.
    const unseen = await connect(pinned, { person: person([{ action: 'cancel' }], { form: {} }) })
    const { decision } = pendingOf(await unseen.host.callTool('create_payment', on.payment(901)))
    expect(await on.decide(decision, 'yes')).toBe(303)
    expect((await unseen.host.callTool('create_payment', { decision })).isError).not.toBe(true)
    expect(await on.shopBalance()).toBe(before + 1_801)
  })

  test('a call is refused while twenty others of the same caller wait for a decision', async () => {
    const key = on.shop.agentKey
    const { host } = await connect(pinned, { key })
    const to = { type: 'party_id', value: on.site.owner.partyId }
    const call = (amount: number) => host.callTool('create_payment', { amount, counterparty: to })
    for (let amount = 1; amount <= 20; amount++) pendingOf(await call(amount))
    expect(errorOf(await call(21))).toMatchObject({ code: 'confirmation_unavailable' })
    on.world.system.pass(600_001)
    await on.world.service.upkeep.once()
    expect(pendingOf(await call(21)).decision).toMatch(/^dcn_/)
  })

  test('tools have the argument `decision` only if calls can wait for a decision on a page', async () => {
    const toolsWithDecision = async (options: object) => {
      const { host } = await connect(pinned, options)
      const { tools } = await host.listTools()
      return tools.filter(({ inputSchema }) => 'decision' in (inputSchema.properties ?? {})).map(({ name }) => name)
    }
    expect(await toolsWithDecision({ confirm: { mode: 'production', aboveCents: 0 } })).toEqual([])
    expect(await toolsWithDecision({ decisions: undefined })).toEqual([])
    expect(await toolsWithDecision({})).toEqual(expect.arrayContaining(['create_payment', 'cancel_subscription']))
    const { host } = await connect(pinned, { confirm: { mode: 'never', aboveCents: 0 } })
    const refused = await host.callTool('create_payment', { ...on.payment(1), decision: 'dcn_1' })
    expect(errorOf(refused)).toMatchObject({ code: 'invalid_value' })
  })
})
