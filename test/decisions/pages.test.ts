import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { approvalPagePath } from '../../tools/approvals.ts'
import type { Connected } from '../mcp/connected.ts'
import { errorOf, hosts } from '../mcp/hosts.ts'
import { created, ok, payer } from '../payments/payer.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addDelegation, addParty } from '../support/world.ts'
import { address, createDecisionWorld, type DecisionWorld, pendingOf } from './deciding.ts'

const pinned = hosts[3]

onEachDatabase('the page of a pending call', (database) => {
  let on: DecisionWorld
  let open: Connected[] = []
  beforeAll(async () => {
    on = await createDecisionWorld(database)
  })
  afterAll(() => on.world.drop())
  afterEach(async () => {
    for (const { close } of open) await close()
    open = []
  })

  const pay = async (amount: number, more: object = {}) => {
    const connection = await on.host(pinned)
    open.push(connection)
    const { host } = connection
    const pending = pendingOf(await host.callTool('create_payment', { ...on.payment(amount), ...more }))
    const again = () => host.callTool('create_payment', { decision: pending.decision })
    return { ...pending, path: new URL(pending.url).pathname, again }
  }

  test('the decision page shows the caller, the request, remaining limits and the effect of approving', async () => {
    const { world, site } = on
    const self = payer(world)
    const { agentId } = await world.whoami()
    await self.setLimits('agents', String(agentId), { perTransaction: 50_000, perDay: 60_000 })
    await self.setLimits('parties', site.owner.partyId, { perMonth: 100_000 })
    ok(await self.pay(1_000, { type: 'party_id', value: on.shop.partyId }))
    const { path, decision } = await pay(4_200, { description: '<b>Paper</b>\u202e' })
    const visitor = await site.visitor()
    const signIn = `/sign-in?next=${encodeURIComponent(path)}`
    expect(await visitor.open(path)).toMatchObject({ status: 303, location: signIn, text: '' })
    const owner = await site.visitor(site.owner)
    const page = await owner.open(path)
    expect(page.status).toBe(200)
    for (const words of [
      'Approve this?',
      '<strong>Pay ',
      on.shop.partyId,
      '<dt>Recipient</dt><dd><bdi>Other</bdi>',
      '&lt;b&gt;Paper&lt;/b&gt;',
      'The agent Sandbox shopper',
      'test-host',
      '$500.00 per payment; $590.00 of $600.00 today',
      '$990.00 of $1,000.00 this month',
      'The money moves at once, or after an approval if it exceeds a limit. The call runs once',
      'January 15, 2026 at 12:10 PM UTC',
    ]) {
      expect(page.text).toContain(words)
    }
    for (const never of ['<script', '<b>Paper', '\u202e']) expect(page.text).not.toContain(never)
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self';/,
    )
    expect(await owner.send(path, { decision: 'yes' })).toMatchObject({ status: 303, location: path })
    expect((await owner.open(path)).text).toContain('Your assistant can do this until')
    expect(await owner.post(path, { decision: 'no' })).toMatchObject({ status: 403 })
    const { json } = await world.get(`/activity?resourceId=${decision}`, { key: world.apiKey })
    expect(json.data[0].attributes).toMatchObject({
      operation: 'agree_to_call',
      actorType: 'user',
      userId: site.owner.id,
      resourceIds: [decision],
    })
  })

  test('for a call on behalf of a customer, the decision page shows the limits of the customer’s grant', async () => {
    const { world, site } = on
    const self = payer(world)
    const { agentId } = await world.whoami()
    const { partyId } = await addParty(world)
    const agentPartyId = site.owner.partyId
    await addDelegation(world, { customerPartyId: partyId, agentPartyId, agentId: String(agentId) })
    await self.setLimits('delegations', await self.delegationId(partyId), { perTransaction: 700, perDay: 900 })
    // The limits of the customer's own account are not shown to the agent's owner.
    await self.setLimits('parties', partyId, { perMonth: 10_000 })
    const { path } = await pay(650, { customerPartyId: partyId })
    const page = await (await site.visitor(site.owner)).open(path)
    expect(page.text).toContain('Remaining limits of the customer’s grant')
    expect(page.text).toContain('$7.00 per payment; $9.00 of $9.00 today')
    expect(page.text).not.toContain('Remaining account limits')
  })

  test('only users of the party see the decision page, and they need their password to approve', async () => {
    const { site, world } = on
    const { path, again } = await pay(600)
    const stranger = await site.visitor(await site.addUser({ partyId: on.shop.partyId }))
    expect((await stranger.open(path)).status).toBe(404)
    expect((await stranger.post(path, { decision: 'yes' })).status).toBe(403)
    // This user signs in with one click and without a password, as anyone at the machine could.
    const clicked = await site.visitor()
    await clicked.open(`/sign-in?next=${encodeURIComponent(path)}`)
    expect(await clicked.send('/sign-in', { as: 'owner' })).toMatchObject({ status: 303, location: path })
    const page = await clicked.open(path)
    expect(page.text).toContain('Sign in with your password')
    expect(page.text).not.toContain('value="yes"')
    expect(await clicked.send(path, { decision: 'yes' })).toMatchObject({ status: 403 })
    await clicked.open(`/sign-in?next=${encodeURIComponent(path)}`)
    const { password } = await world.service.seedPassword('a password of the owner')
    const signedIn = await clicked.send('/sign-in', { email: site.owner.email, password: String(password) })
    expect(signedIn).toMatchObject({ status: 303, location: path })
    await clicked.open(path)
    expect(await clicked.send(path, { decision: 'yes' })).toMatchObject({ status: 303 })
    expect((await again()).isError).not.toBe(true)
  })

  test('the data that the model sees is not enough to decide', async () => {
    const { world } = on
    const before = await on.shopBalance()
    const { path, decision, again } = await pay(800)
    const sameOriginHeaders = { Origin: address, 'Sec-Fetch-Site': 'same-origin' }
    const send = async (to: string, init: RequestInit = {}) => {
      const answer = await world.service.fetch(new Request(address + to, { redirect: 'manual', ...init }))
      return { answer, text: await answer.text() }
    }
    const yes = (headers: Record<string, string>, fields: Record<string, string> = {}): RequestInit => ({
      method: 'POST',
      headers,
      body: new URLSearchParams({ decision: 'yes', ...fields }),
    })
    // The most that a program on the same machine can do is sign in as the owner without a password.
    const signedIn = await send('/sign-in', {
      ...yes(sameOriginHeaders),
      body: new URLSearchParams({ as: 'owner', next: path }),
    })
    const cookie = signedIn.answer.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ')
    expect(cookie).toContain('payments_session=')
    const page = await send(path, { headers: { Cookie: cookie } })
    const tokens = [...page.text.matchAll(/name="formToken" value="([^"]+)"/g)].map(([, token]) => String(token))
    expect(tokens.length).toBeGreaterThan(0)
    const sessions: Record<string, string>[] = [{}, { Cookie: cookie }, { Authorization: `Bearer ${world.agentKey}` }]
    for (const session of sessions) {
      for (const origin of [{}, sameOriginHeaders, { Origin: 'https://evil.example' }]) {
        for (const formToken of ['', ...tokens, decision]) {
          for (const to of [
            path,
            `${path}?decision=yes`,
            `${path}/yes`,
            '/decisions',
            `/decide/${decision}/${formToken}`,
          ]) {
            await send(to, yes({ ...session, ...origin }, { formToken }))
            await send(to, { headers: { ...session, ...origin } })
          }
        }
      }
    }
    for (const method of ['PUT', 'PATCH', 'DELETE'])
      await send(path, { ...yes({ ...sameOriginHeaders, Cookie: cookie }), method })
    expect(pendingOf(await again()).decision).toBe(decision)
    expect(await on.shopBalance()).toBe(before)
    const session = /payments_session=([^;]+)/.exec(cookie)?.[1]
    for (const line of world.logged) expect(line).not.toContain(session)
  })

  test('the list of pending decisions includes approvals, and every decision can be made on the page of the list', async () => {
    const { site, world } = on
    const self = payer(world)
    on.world.system.pass(600_001)
    const owner = await site.visitor(site.owner)
    await self.setLimits('parties', site.owner.partyId, { perTransaction: 100 })
    const paymentId = created(await self.pay(1_500, { type: 'party_id', value: on.shop.partyId }))
    const { id } = await self.approvalOf(paymentId)
    const [first, second] = [await pay(20), await pay(21)]
    const page = await owner.open('/decisions')
    for (const words of [first.path, second.path, approvalPagePath(id), '$15.00', 'Sandbox shopper', 'Approve']) {
      expect(page.text).toContain(words)
    }
    expect((await owner.send(first.path, { decision: 'no' })).status).toBe(303)
    await owner.open('/decisions')
    expect((await owner.send(approvalPagePath(id), { decision: 'approve' })).status).toBe(303)
    expect(await self.status(paymentId)).toBe('COMPLETED')
    expect(errorOf(await first.again()).code).toBe('confirmation_declined')
    await self.setLimits('parties', site.owner.partyId, null)
    const left = (await owner.open('/decisions')).text
    expect(left).toContain(second.path)
    expect(left).not.toContain(first.path)
    const stranger = await site.visitor(await site.addUser({ partyId: on.shop.partyId }))
    expect((await stranger.open('/decisions')).text).toContain('No decisions are pending.')
  })

  test('the list shows 20 payments in review, and says that there are more only if there are', async () => {
    const { site, world } = on
    const self = payer(world)
    const owner = await site.visitor(site.owner)
    await self.setLimits('parties', site.owner.partyId, { perTransaction: 100 })
    const requestPayment = () => self.pay(1_500, { type: 'party_id', value: on.shop.partyId })
    for (let count = 0; count < 20; count += 1) await requestPayment()
    const whole = (await owner.open('/decisions')).text
    await requestPayment()
    const cut = (await owner.open('/decisions')).text
    await self.setLimits('parties', site.owner.partyId, null)
    expect([whole, cut].map((text) => text.split('name="decision" value="approve"').length - 1)).toEqual([20, 20])
    expect([whole, cut].map((text) => text.includes('More decisions are pending.'))).toEqual([false, true])
  })
})
