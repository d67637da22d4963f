import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { declinesBeforePause, declinesPauseMs, maxDeclines } from '../../src/service/rules/checkout-tries.ts'
import { testCards } from '../../src/service/rules/test-cards.ts'
import { ok, type Payer, payer } from '../payments/payer.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, type OtherParty, type World } from '../support/world.ts'
import type { Visitor } from './oauth-site.ts'
import { createPersonSite, type PersonSite } from './person-site.ts'

const good = { number: '4242 4242 4242 4242', expiry: '12/34', cvv: '123' }
const declining = { ...good, number: '4000000000000002' }

/** Returns the path of the sign-in page from which a person returns to `path`. */
const signInAt = (path: string) => `/sign-in?next=${encodeURIComponent(path)}`

onEachDatabase('the page of a payment request', (database) => {
  let site: PersonSite
  let world: World
  let money: Payer
  let other: OtherParty
  let payersUser: Visitor
  let payers = 0

  beforeAll(async () => {
    site = await createPersonSite(database)
    world = site.world
    money = payer(world)
    other = await addParty(world)
    payersUser = await site.visitor(await site.addUser({ partyId: other.partyId, role: 'OWNER', name: 'Paula Payer' }))
  })
  afterAll(() => world.drop())

  const requestFrom = async (who: object, more: object = {}) => {
    const answer = await world.post('/payment-requests', { amount: 1250, payer: who, ...more }, { key: world.apiKey })
    expect(answer.status, answer.text).toBe(201)
    const { id, attributes } = answer.json.data
    return { id: id as string, path: new URL(attributes.paymentLinkUrl).pathname }
  }
  const unknownPayer = () => ({ type: 'email', value: `stranger${payers++}@example.com` })
  const requestFromOther = () => requestFrom({ type: 'party_id', value: other.partyId })
  const read = async (id: string, key = world.apiKey) =>
    ok(await world.get(`/payment-requests/${id}`, { key })).json.data
  const statusOf = async (id: string) => (await read(id)).attributes.status as string
  const total = async (key = world.apiKey) => (await money.balance({ key })).total
  const signedOutVisitor = () => site.visitor()
  const payByCard = async (visitor: Visitor, path: string, card: object = good) => {
    await visitor.open(path)
    return visitor.send(path, { decision: 'card', ...card })
  }

  test('the page shows the requester, payer, amount, purpose and expiry, and contains no script', async () => {
    const { path } = await requestFrom(unknownPayer(), { description: 'May rent', payerName: 'Bob' })
    const page = await (await signedOutVisitor()).open(path)
    expect(page.status).toBe(200)
    for (const words of ['Sandbox Organization', '$12.50', 'May rent', 'Bob', 'February 14, 2026']) {
      expect(page.text).toContain(words)
    }
    expect(page.text).not.toContain('<script')
    expect(page.headers.get('Content-Security-Policy')).toContain("frame-ancestors 'none'")
    expect(page.headers.get('Cache-Control')).toBe('no-store')
    const wrong = await (await signedOutVisitor()).open(`/request/${'0'.repeat(64)}`)
    expect(wrong.status).toBe(404)
  })

  test('a payer without an account pays by card, gets an account by paying, and pays only once despite several clicks', async () => {
    const who = unknownPayer()
    const { id, path } = await requestFrom(who)
    const before = await total()
    const [visitor, anotherTab] = [await signedOutVisitor(), await signedOutVisitor()]
    await anotherTab.open(path)
    expect((await visitor.open(path)).text).toContain('paying creates their account')
    const clicks = await Promise.all([1, 2, 3].map(() => visitor.send(path, { decision: 'card', ...good })))
    expect(clicks.map(({ status, headers }) => [status, headers.get('Location')])).toEqual(Array(3).fill([303, path]))
    expect(await total()).toBe(before + 1250)
    const after = await visitor.open(path)
    expect(after.text).toContain('Paid. Thank you.')
    expect(after.text).not.toContain('<form')
    const { attributes } = await read(id)
    expect(attributes).toMatchObject({ status: 'COMPLETED', payerPartyId: expect.stringMatching(/^pty_/) })
    // An outdated form in another tab changes nothing.
    expect((await anotherTab.send(path, { decision: 'decline' })).status).toBe(303)
    expect(await statusOf(id)).toBe('COMPLETED')
    expect(await total()).toBe(before + 1250)
  })

  describe('cards that cannot pay', () => {
    const outcomes: Record<string, string> = {
      declines: 'The card was declined.',
      blocked: 'The bank has blocked that card.',
      needs_update: 'That card needs new details.',
      removed: 'this card cannot be used',
      processor_error: 'could not be charged right now',
      agreement_fails: 'The card was declined.',
    }

    test.each(Object.entries(outcomes))(
      'if the test card has the behavior %s, the page explains the problem, and nothing is paid',
      async (behavior, words) => {
        const { id, path } = await requestFrom(unknownPayer())
        const [number = ''] = Object.entries(testCards).find(([, one]) => one === behavior) ?? []
        const visitor = await signedOutVisitor()
        expect((await payByCard(visitor, path, { ...good, number })).status).toBe(303)
        const page = await visitor.open(path)
        expect(page.text).toContain(words)
        expect(page.text).toContain('Nothing was paid.')
        expect(page.text).not.toContain(`value="${number}"`)
        expect(await statusOf(id)).toBe('OPEN')
        expect((await payByCard(visitor, path)).status).toBe(303)
        expect(await statusOf(id)).toBe('COMPLETED')
      },
    )

    test('invalid card fields are marked with errors, and the page does not repeat the input', async () => {
      const { id, path } = await requestFrom(unknownPayer())
      const visitor = await signedOutVisitor()
      for (const [wrong, words] of [
        [{ number: '4242424242424243' }, 'check its digits'],
        [{ number: '5555555555554444' }, 'never enter a real card'],
        [{ expiry: '13/34' }, 'MM/YY'],
        [{ expiry: '01/20' }, 'has expired'],
        [{ cvv: 'x' }, '3 or 4 digits'],
      ] as const) {
        const page = await payByCard(visitor, path, { ...good, ...wrong })
        expect(page.status).toBe(422)
        expect(page.text).toContain(words)
        expect(page.text).toContain('aria-invalid="true"')
        expect(page.text).not.toMatch(/42424243|5555|value="(?:4242|123|x|1[23]\/34)/)
      }
      expect(await statusOf(id)).toBe('OPEN')
    })

    test('after 10 declines, cards are refused for 15 minutes, and after 20 for good; a wallet can still pay', async () => {
      const { id, path } = await requestFromOther()
      const visitor = payersUser
      const tryDeclinedCard = async (times: number) => {
        for (let time = 0; time < times; time++) await payByCard(visitor, path, declining)
      }
      await tryDeclinedCard(declinesBeforePause)
      const waiting = await payByCard(visitor, path)
      expect([waiting.status, waiting.text.includes('Too many cards were declined')]).toEqual([429, true])
      world.system.pass(declinesPauseMs)
      await tryDeclinedCard(maxDeclines - declinesBeforePause)
      const over = await visitor.open(path)
      expect(over.text).toContain('can no longer be paid by card')
      expect((await visitor.send(path, { decision: 'card', ...good })).status).toBe(409)
      expect(await statusOf(id)).toBe('OPEN')
      const page = await payersUser.open(path)
      const [walletId = ''] = /wal_[0-9a-f]{32}/.exec(page.text) ?? []
      await payersUser.send(path, { decision: 'wallet', walletId })
      expect(await statusOf(id)).toBe('COMPLETED')
    })
  })

  describe('paying from a wallet', () => {
    test('a signed-in payer pays only once despite a double click, and the activity lists the payment as the user’s action', async () => {
      const { id, path } = await requestFromOther()
      const before = await total(other.apiKey)
      const page = await payersUser.open(path)
      expect(page.text).toContain('Pay from a wallet')
      const [walletId = ''] = /wal_[0-9a-f]{32}/.exec(page.text) ?? []
      const clicks = await Promise.all([1, 2].map(() => payersUser.send(path, { decision: 'wallet', walletId })))
      expect(clicks.map(({ status }) => status)).toEqual([303, 303])
      expect(await total(other.apiKey)).toBe(before - 1250)
      expect(await statusOf(id)).toBe('COMPLETED')
      const [activity] = ok(await world.get('/activity?limit=1', { key: other.apiKey })).json.data
      expect(activity.attributes).toMatchObject({ operation: 'fulfill_payment_request', actorType: 'user' })
    })

    test('a payment above the payer’s limit waits for approval, and only the payer’s page links to the approval', async () => {
      const { id, path } = await requestFromOther()
      await money.setLimits('parties', other.partyId, { perTransaction: 100 })
      const page = await payersUser.open(path)
      const [walletId = ''] = /wal_[0-9a-f]{32}/.exec(page.text) ?? []
      await payersUser.send(path, { decision: 'wallet', walletId })
      await money.setLimits('parties', other.partyId, null)
      expect(await statusOf(id)).toBe('PROCESSING')
      const waiting = await payersUser.open(path)
      expect(waiting.text).toContain('needs the payer’s approval')
      expect(waiting.text).toMatch(/href="\/approvals\/apr_[0-9a-f]{32}\/review"/)
      expect((await (await signedOutVisitor()).open(path)).text).not.toContain('/approvals/')
    })

    test('if a payment from the wallet is refused, the page says that nothing was paid', async () => {
      const { id, path } = await requestFrom({ type: 'party_id', value: other.partyId }, { amount: 99_999_999 })
      const page = await payersUser.open(path)
      const [walletId = ''] = /wal_[0-9a-f]{32}/.exec(page.text) ?? []
      const refused = await payersUser.send(path, { decision: 'wallet', walletId })
      expect(refused.status).toBeGreaterThanOrEqual(400)
      expect(refused.text).toContain('Nothing was paid.')
      expect(await statusOf(id)).toBe('OPEN')
    })

    test('the requester and signed-out visitors are offered no wallet, and cannot pay from one', async () => {
      const { id, path } = await requestFromOther()
      const signedOut = await signedOutVisitor()
      for (const visitor of [await site.visitor(site.owner), signedOut]) {
        const page = await visitor.open(path)
        expect(page.text).not.toContain('Pay from a wallet')
        expect(page.text).toMatch(/(can|to) pay or decline this/)
        expect(page.text).not.toContain(`action="${path}"`)
        const sent = await visitor.post(path, { decision: 'wallet', walletId: other.walletId })
        expect([sent.status, sent.location]).toEqual(visitor === signedOut ? [303, signInAt(path)] : [403, null])
      }
      expect(await statusOf(id)).toBe('OPEN')
    })
  })

  test('anyone with the link can decline a request to an unknown payer; a signed-in user can decline a request to their party', async () => {
    const [first, second] = [await requestFrom(unknownPayer()), await requestFromOther()]
    const visitor = await signedOutVisitor()
    await visitor.open(first.path)
    await visitor.send(first.path, { decision: 'decline' })
    await payersUser.open(second.path)
    await payersUser.send(second.path, { decision: 'decline' })
    for (const { id, path } of [first, second]) {
      expect(await statusOf(id)).toBe('DECLINED')
      const page = await visitor.open(path)
      expect(page.text).toContain('was declined. Nothing was paid.')
      expect(page.text).not.toContain('<form')
    }
  })

  test('the page says that the request was canceled or has expired, and a form opened earlier changes nothing', async () => {
    const [canceled, expired] = [await requestFrom(unknownPayer()), await requestFrom(unknownPayer())]
    const [one, two] = [await signedOutVisitor(), await signedOutVisitor()]
    await one.open(canceled.path)
    await two.open(expired.path)
    expect((await world.send('POST', `/payment-requests/${canceled.id}/cancel`, { key: world.apiKey })).status).toBe(
      200,
    )
    const before = await total()
    expect((await one.send(canceled.path, { decision: 'card', ...good })).status).toBe(303)
    expect((await one.open(canceled.path)).text).toContain('canceled the request')
    world.system.pass(30 * 24 * 60 * 60_000)
    expect((await two.send(expired.path, { decision: 'card', ...good })).status).toBeOneOf([303, 409])
    expect((await two.open(expired.path)).text).toContain('has expired')
    expect(await total()).toBe(before)
  })

  test('a form sent from another site, or without the request’s own form token, changes nothing', async () => {
    const [one, two] = [await requestFrom(unknownPayer()), await requestFrom(unknownPayer())]
    const visitor = await signedOutVisitor()
    const tokenOf = async (path: string) =>
      /name="formToken" value="([\w.]+)"/.exec((await visitor.open(path)).text)?.[1]
    const formToken = (await tokenOf(two.path)) ?? ''
    const send = (fields: Record<string, string>, headers: Record<string, string>) =>
      world.service.fetch(
        new Request(`http://127.0.0.1:4010${one.path}`, { method: 'POST', headers, body: new URLSearchParams(fields) }),
      )
    const sameOriginHeaders = { Origin: 'http://127.0.0.1:4010', 'Sec-Fetch-Site': 'same-origin' }
    const right = (await tokenOf(one.path)) ?? ''
    for (const [fields, headers] of [
      [{ decision: 'card', ...good, formToken }, sameOriginHeaders],
      [{ decision: 'card', ...good }, sameOriginHeaders],
      [{ decision: 'decline', formToken: `1.${'f'.repeat(64)}` }, sameOriginHeaders],
      [
        { decision: 'card', ...good, formToken: right },
        { ...sameOriginHeaders, 'Sec-Fetch-Site': 'cross-site' },
      ],
      [{ decision: 'decline', formToken: right }, { Origin: 'https://evil.example' }],
    ] as const) {
      expect((await send({ ...fields }, { ...headers })).status).toBe(403)
    }
    const other = await send({ decision: 'pay all', formToken: right }, sameOriginHeaders)
    expect([other.status, other.headers.get('location')]).toEqual([303, signInAt(one.path)])
    expect(await statusOf(one.id)).toBe('OPEN')
  })
})
