import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { SignIn } from '../../src/service/oauth/sign-in.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import { approvalPagePath } from '../../tools/approvals.ts'
import { codeAt, setUpApp } from '../approvals/authenticator.ts'
import { created, ok, type Payer, payer } from '../payments/payer.ts'
import { onEachDatabase, sqlite, type TestDatabase } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { addDelegation, addParty, type OtherParty, type Sent } from '../support/world.ts'
import { arrive, openTab, shoot, startBrowser, type TestBrowser, toContent } from './browser.ts'
import { expectContrast } from './contrast.ts'
import type { Visitor } from './oauth-site.ts'
import { createPersonSite, type PersonSite, withoutTokens } from './person-site.ts'

let site: PersonSite
let self: Payer
let shop: OtherParty

async function setUp(database: TestDatabase): Promise<void> {
  site = await createPersonSite(database)
  self = payer(site.world)
  shop = await addParty(site.world, { party: { displayName: 'Shop' } })
  // Because of these limits, every payment in these tests needs approval.
  await self.setLimits('parties', site.owner.partyId, { perTransaction: 100, perDay: 400, perMonth: null })
  for (let count = 0; count < 3; count++) {
    ok(await site.world.post(`/simulations/customers/${site.owner.partyId}/transfers/deposit`, { amount: 100_000 }))
  }
}

interface PendingPayment {
  id: string
  paymentId: string
  path: string
}

/** Makes a payment that waits for a decision. */
async function requestPayment(amount = 1000, more: object = {}, sent: Sent = {}, to?: object): Promise<PendingPayment> {
  const paymentId = created(await self.pay(amount, to ?? { type: 'party_id', value: shop.partyId }, more, sent))
  return readPending(paymentId)
}

async function readPending(paymentId: string): Promise<PendingPayment> {
  const { id } = await self.approvalOf(paymentId)
  return { id, paymentId, path: approvalPagePath(id) }
}

const approval = async (id: string) =>
  ok(await site.world.get(`/approvals/${id}`, { key: site.world.apiKey })).json.data.attributes

async function openApproval({ path }: Pick<PendingPayment, 'path'>, user: UserRow = site.owner) {
  const visitor = await site.visitor(user)
  return { visitor, page: await visitor.open(path) }
}

onEachDatabase('the approval page', (database) => {
  beforeAll(() => setUp(database))
  afterAll(() => site.world.drop())

  test('the approval page shows the requester and why approval is needed; the activity lists the approval as the user’s act', async () => {
    const { id, paymentId, path } = await requestPayment(1000, { description: 'Paper & pens' })
    const visitor = await site.visitor()
    const signIn = `/sign-in?next=${encodeURIComponent(path)}`
    expect(await visitor.open(path)).toMatchObject({ status: 303, location: signIn, text: '' })
    await visitor.open(signIn)
    expect(await visitor.send('/sign-in', await site.signInFields())).toMatchObject({ status: 303, location: path })
    const page = await visitor.open(path)
    expect(page.status).toBe(200)
    for (const words of [
      'Approve this payment?',
      '<strong>$10.00</strong>',
      '<dd><bdi>Shop</bdi></dd>',
      '<bdi>Paper &amp; pens</bdi>',
      'The agent <bdi>Sandbox shopper</bdi>, on January 15, 2026 at 12:00 PM UTC',
      'Over the limit of $1.00 per payment: this payment is $10.00.',
      'Over the limit of $4.00 per day: the total for the day would be $10.00.',
    ]) {
      expect(page.text).toContain(words)
    }
    expect(page.text).not.toContain('<script')
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self';/,
    )

    const before = (await self.balance()).total
    expect(await visitor.send(path, { decision: 'approve', reason: '' })).toMatchObject({ status: 303, location: path })
    expect(await approval(id)).toMatchObject({ status: 'approved' })
    expect(await self.status(paymentId)).toBe('COMPLETED')
    expect((await self.balance()).total).toBe(before - 1000)
    const after = await visitor.open(path)
    expect(after.text).toContain('The payment was approved on January 15, 2026')
    expect(after.text).not.toContain('name="decision"')
    const { json } = await site.world.get(`/activity?resourceId=${id}`, { key: site.world.apiKey })
    expect(json.data[0].attributes).toMatchObject({
      operation: 'approve_approval',
      actorType: 'user',
      userId: site.owner.id,
      agentId: null,
      result: { httpStatus: 200, code: null },
    })
  })

  test('a payment can be denied without a reason, or with a reason that the requester can read', async () => {
    const [silent, explained] = [await requestPayment(), await requestPayment()]
    const { visitor } = await openApproval(silent)
    const member = await site.addUser({ role: 'MEMBER' })
    expect(await visitor.send(silent.path, { decision: 'deny', reason: ' \r\n ' })).toMatchObject({ status: 303 })
    expect(await approval(silent.id)).toMatchObject({ status: 'denied', denialReason: null })
    const { visitor: other } = await openApproval(explained, member)
    expect(await other.send(explained.path, { decision: 'deny', reason: 'Not\r\nthis\u202e <one>' })).toMatchObject({
      status: 303,
    })
    expect(await approval(explained.id)).toMatchObject({ status: 'denied', denialReason: 'Not this\ufffd <one>' })
    expect(await self.status(explained.paymentId)).toBe('APPROVAL_DENIED')
    const { page } = await openApproval(explained)
    expect(page.text).toContain('<bdi>Not this\ufffd &lt;one&gt;</bdi>')
    expect(page.text).toContain('No money moved')
  })

  test('a reason can have 500 characters in any script; a longer one is refused and stays in its field', async () => {
    const { path, id } = await requestPayment()
    const { visitor } = await openApproval({ path })
    const reason = '払'.repeat(500)
    const refused = await visitor.send(path, { decision: 'deny', reason: `${reason}払` })
    expect(refused.status).toBe(422)
    expect(refused.text).toContain('at most 500 characters')
    expect(refused.text).toContain(`>\n${reason}払</textarea>`)
    expect(await approval(id)).toMatchObject({ status: 'pending' })
    expect(await visitor.send(path, { decision: 'deny', reason: 'x'.repeat(9000) })).toMatchObject({ status: 400 })
    expect(await visitor.send(path, { decision: 'deny', reason })).toMatchObject({ status: 303 })
    expect(await approval(id)).toMatchObject({ denialReason: reason })
  })

  test('approving more than USD 500.00 leads to the second-factor check and back', async () => {
    const user = await site.addUser()
    const { path, id } = await requestPayment(50_001)
    const { visitor } = await openApproval({ path }, user)
    const secret = await setUpApp(visitor, site.world.system)
    expect((await visitor.open(path)).text).toContain('Approving more than $500.00 needs a code')
    const { location } = await visitor.send(path, { decision: 'approve' })
    expect(location).toMatch(/^\/verify\/mfc_[0-9a-f]{32}_usr_[0-9a-f]{32}_[0-9a-f]{64}\?back=%2Fapprovals%2Fapr_/)
    expect(await approval(id)).toMatchObject({ status: 'pending' })
    const check = String(location)
    await visitor.open(check)
    // After a wrong code, the form of the second-factor check still leads back to the approval.
    expect(await visitor.send(check, { code: '12' })).toMatchObject({ status: 422 })
    const code = codeAt(secret, site.world.system.now())
    expect(await visitor.send(check, { code })).toMatchObject({ status: 303, location: path })
    expect((await visitor.open(path)).text).toContain('You confirmed your identity. You can approve until')
    expect(await visitor.send(path, { decision: 'approve' })).toMatchObject({ status: 303, location: path })
    expect(await approval(id)).toMatchObject({ status: 'approved' })
    expect((await visitor.open(path)).text).not.toContain('You can approve until')
    // An accepted code counts for ten minutes. After this time, a large approval needs a new code.
    const next = await requestPayment(50_001)
    expect((await visitor.open(next.path)).text).toContain('You can approve until')
    ok(await site.world.post('/simulations/clock/advance', { seconds: 601 }))
    expect((await visitor.open(next.path)).text).toContain('Approving more than $500.00 needs a code')
    expect(await visitor.send(next.path, { decision: 'approve' })).toMatchObject({
      location: expect.stringMatching(/^\/verify\//),
    })
  })

  test.each(['https://evil.example', '//evil.example', '/connections', '/approvals/apr_1/review'])(
    'the second-factor check redirects back only to a valid approval page, not to %s',
    async (back) => {
      const user = await site.addUser()
      const { path } = await requestPayment(50_001)
      const { visitor } = await openApproval({ path }, user)
      const secret = await setUpApp(visitor, site.world.system)
      await visitor.open(path)
      const [check = ''] = String((await visitor.send(path, { decision: 'approve' })).location).split('?')
      const page = await visitor.open(`${check}?back=${encodeURIComponent(back)}`)
      expect(page.text).toContain(`action="${check}"`)
      const formToken = /<main[\s\S]*?name="formToken" value="([^"]*)"/.exec(page.text)?.[1] ?? ''
      const code = codeAt(secret, site.world.system.now())
      const verified = await visitor.post(`${check}?back=${encodeURIComponent(back)}`, { formToken, code })
      expect(verified).toMatchObject({ status: 303, location: check })
    },
  )

  test('a double click approves once; if two people decide at the same time, only one decision counts', async () => {
    const first = await requestPayment()
    const before = (await self.balance()).total
    const { visitor } = await openApproval(first)
    const sent = await Promise.all([1, 2, 3].map(() => visitor.send(first.path, { decision: 'approve' })))
    for (const answer of sent) expect(answer).toMatchObject({ status: 303, location: first.path })
    expect((await self.balance()).total).toBe(before - 1000)

    const second = await requestPayment()
    const [one, other] = [await openApproval(second), await openApproval(second, await site.addUser())]
    const answers = await Promise.all([
      one.visitor.send(second.path, { decision: 'approve' }),
      other.visitor.send(second.path, { decision: 'deny' }),
    ])
    const { status } = await approval(second.id)
    const [won, lost] = status === 'approved' ? answers : [...answers].reverse()
    expect(won).toMatchObject({ status: 303 })
    expect(lost).toMatchObject({ status: 409 })
    expect(lost?.text).toContain('Your answer had no effect')
    expect(lost?.text).not.toContain('name="decision"')
  })

  test('the approval page reports that the payment was canceled, or that the wallet is frozen', async () => {
    const canceled = await requestPayment()
    const { visitor } = await openApproval(canceled)
    ok(await self.cancel(canceled.paymentId))
    const late = await visitor.send(canceled.path, { decision: 'approve' })
    expect(late.status).toBe(409)
    expect(late.text).toContain('The payment was canceled')

    const unpayable = await requestPayment()
    await visitor.open(unpayable.path)
    await self.freeze(site.owner.partyId)
    const refused = await visitor.send(unpayable.path, { decision: 'approve', reason: 'Why not' })
    await self.freeze(site.owner.partyId, 'active')
    expect(refused.status).toBe(409)
    expect(refused.text).toMatch(/role="alert">Nothing was done\. [^<]*frozen/)
    expect(refused.text).toContain('>\nWhy not</textarea>')
    expect(await approval(unpayable.id)).toMatchObject({ status: 'pending' })
  })

  test('only users of the paying party can open the approval page; others get the 404 of a missing page', async () => {
    const { path, id } = await requestPayment()
    const stranger = await site.addUser({ partyId: shop.partyId })
    const tokenOf = async ({ cookies }: Visitor, at: string) => {
      const signedIn = await new SignIn(site.world).of(cookies.get('payments_session'))
      return signedIn?.formToken(`approval ${at.split('/')[2]}`) ?? ''
    }
    const unknown = approvalPagePath(`apr_${'0'.repeat(32)}`)
    const { visitor, page } = await openApproval({ path }, stranger)
    const missing = await visitor.open(unknown)
    expect([page.status, missing.status]).toEqual([404, 404])
    expect(withoutTokens(page.text, path)).toBe(withoutTokens(missing.text, unknown))
    expect(await visitor.open('/approvals/apr_1/review')).toMatchObject({ status: 404 })
    // Even with a valid form token, the response is a 404.
    for (const at of [path, unknown]) {
      const sent = await visitor.post(at, { formToken: await tokenOf(visitor, at), decision: 'approve' })
      expect(sent).toMatchObject({ status: 404 })
    }
    expect(await approval(id)).toMatchObject({ status: 'pending' })
  })

  test('a decision is refused if it comes from another site, form or user, or without a form token', async () => {
    const { path, id } = await requestPayment()
    const visitor = await site.visitor(site.owner)
    const [ownToken, decision] = [await readFormToken(visitor, path), 'approve']
    const fields = { ...ownToken, decision }
    const elsewhere = await readFormToken(visitor, (await requestPayment()).path)
    const answers = [
      await visitor.post(path, fields, { Origin: 'https://evil.example' }),
      await visitor.post(path, fields, { 'Sec-Fetch-Site': 'same-site' }),
      await visitor.post(path, { decision }),
      await visitor.post(path, { ...fields, ...elsewhere }),
      await (await site.visitor(await site.addUser())).post(path, fields),
      await visitor.post(path, { ...fields, decision: 'maybe' }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403])
    expect(await (await site.visitor()).post(path, fields)).toMatchObject({ status: 303 })
    expect(await approval(id)).toMatchObject({ status: 'pending' })
    expect(await visitor.post(path, fields)).toMatchObject({ status: 303 })
    expect(await approval(id)).toMatchObject({ status: 'approved' })
    // The API does not accept a browser session as a credential.
    const Cookie = `payments_session=${await site.sessionOf(site.owner)}`
    const request = new Request(`http://127.0.0.1:4010/approvals/${id}/approve`, {
      method: 'POST',
      headers: { Cookie },
    })
    expect(await site.world.service.fetch(request)).toMatchObject({ status: 401 })
  })

  test('the approval page shows every kind of payee and requester', async () => {
    const { credential } = await self.userToken(site.owner.partyId)
    const textOf = async (payment: PendingPayment) => (await openApproval(payment)).page.text
    const party = { type: 'party_id', value: shop.partyId }
    expect(await textOf(await requestPayment(1000, {}, { key: credential }, party))).toContain(
      'A user of your account, on',
    )
    expect(await textOf(await requestPayment(1000, {}, { key: site.world.apiKey }, party))).toContain(
      'An API key of your account',
    )
    const agent = { type: 'agent_id', value: shop.agentId }
    expect(await textOf(await requestPayment(1000, {}, {}, agent))).toContain(
      'The agent <bdi>Another agent</bdi> of <bdi>Shop</bdi>',
    )
    const newcomer = { type: 'email', value: 'new@example.com' }
    expect(await textOf(await requestPayment(1000, {}, {}, newcomer))).toContain(
      '<bdi>new@example.com</bdi>, who has no account yet',
    )

    const address = { line1: '1 Main St', city: 'Springfield', state: 'IL', postalCode: '62701', country: 'US' }
    const beneficiary = { name: 'Supplier', accountNumber: '000123456789', routingNumber: '021000021', address }
    const wire = created(await site.world.post('/wire', { amount: 1000, currency: 'USD', beneficiary }))
    const wired = await textOf(await readPending(wire))
    expect(wired).toContain('<bdi>Supplier</bdi>, by wire to the account ••••6789')
    expect(wired).not.toContain('0001234')

    // Lets the shop's agent act for the owner's party.
    await addDelegation(site.world, {
      customerPartyId: site.owner.partyId,
      agentPartyId: shop.partyId,
      agentId: shop.agentId,
    })
    const third = await addParty(site.world)
    const asCustomer = { customerPartyId: site.owner.partyId }
    const delegated = await requestPayment(
      1000,
      asCustomer,
      { key: shop.agentKey },
      { type: 'party_id', value: third.partyId },
    )
    expect(await textOf(delegated)).toContain(
      'The agent <bdi>Another agent</bdi> of <bdi>Shop</bdi>, which you allowed to act for you',
    )
  })

  test('the approval page shows markup in a payee’s name or a description as plain text', async () => {
    const displayName = '</bdi><script>alert(1)</script>\u202e'
    const planted = await addParty(site.world, { party: { displayName } })
    const description = '<form action="https://evil.example"><button>Approve</button> Ignore all limits\u2066'
    const to = { type: 'party_id', value: planted.partyId }
    const { page } = await openApproval(await requestPayment(1000, { description }, {}, to))
    expect(page.text).toContain('<bdi>&lt;/bdi&gt;&lt;script&gt;alert(1)&lt;/script&gt;\ufffd</bdi>')
    expect(page.text).toContain('<bdi>&lt;form action=&quot;https://evil.example&quot;&gt;')
    expect(page.text).not.toMatch(/<script|[\u202e\u2066]/)
    expect(page.text.split('<main')[1]?.match(/<form/g)).toHaveLength(1)
  })
})

/** Returns the hidden form token of the page, as a form field. */
async function readFormToken(visitor: Visitor, path: string): Promise<Record<string, string>> {
  return { formToken: /<main[\s\S]*?name="formToken" value="([^"]+)"/.exec((await visitor.open(path)).text)?.[1] ?? '' }
}

describe.runIf(isDeep)('the approval page at 320 pixels, without JavaScript', () => {
  let browser: TestBrowser
  let listener: Listener
  beforeAll(async () => {
    browser = await startBrowser()
    await setUp(sqlite)
    const quiet = () => {}
    const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
    const { fetch } = site.world.service
    listener = await listen({ fetch, host: '127.0.0.1', port: 0, system: realSystem, log })
  })
  afterAll(async () => {
    await browser?.close()
    await listener?.close()
    await site?.world.drop()
  })

  test.each(['light', 'dark'] as const)('a user denies a payment by keyboard in %s mode', async (colorScheme) => {
    const { path, id } = await requestPayment(60_000, { description: 'Desks' })
    const viewport = { width: 320, height: 720 }
    const context = await browser.newContext({ javaScriptEnabled: false, colorScheme, viewport })
    const user = await site.addUser()
    const secret = await setUpApp(await site.visitor(user), site.world.system)
    const session = { name: 'payments_session', value: await site.sessionOf(user), url: listener.url }
    await context.addCookies([session])
    const { page, complaints } = await openTab(context, listener.url + path)
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    const expectReadable = async () => {
      await expectContrast(page)
      await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= 320')).toBe(true)
    }
    expect(await page.locator('main').ariaSnapshot()).toMatchInlineSnapshot(`
      "- main:
        - heading "Approve this payment?" [level=1]
        - term: Amount
        - definition:
          - strong: $600.00
        - term: Payee
        - definition: Shop
        - term: Description
        - definition: Desks
        - term: Requested by
        - definition: The agent Sandbox shopper, on January 15, 2026 at 12:00 PM UTC
        - term: Why it needs approval
        - definition: "Over the limit of $1.00 per payment: this payment is $600.00."
        - definition: "Over the limit of $4.00 per day: the total for the day would be $600.00."
        - paragraph: Approving more than $500.00 needs a code from your authenticator app. You then return to this page.
        - text: Reason for denying (optional)
        - textbox "Reason for denying (optional)"
        - paragraph: The requester can read it.
        - paragraph: Deciding as Max Member.
        - button "Approve"
        - button "Deny"
        - paragraph:
          - link "See pending decisions":
            - /url: /decisions
        - paragraph:
          - link "See your money in the console":
            - /url: /console/money"
    `)
    await expectReadable()
    await shoot(page, `person-approval-asks-${colorScheme}`)
    await toContent(page)
    await press('Tab', 'Tab', 'Enter')
    await arrive(page, 'Confirm that it is you')
    await toContent(page)
    await press('Tab')
    await page.keyboard.type(codeAt(secret, site.world.system.now()))
    await press('Enter')
    await page.getByText('You confirmed your identity.').waitFor()
    await expectReadable()
    await shoot(page, `person-approval-verified-${colorScheme}`)

    // Approving fails while the wallet is frozen, and the page shows an error.
    await self.freeze(site.owner.partyId)
    await toContent(page)
    await press('Tab', 'Tab', 'Enter')
    await page.getByRole('alert').waitFor()
    await expect.poll(() => page.title()).toBe('Error: Approve this payment?')
    await expectReadable()
    await shoot(page, `person-approval-refused-${colorScheme}`)
    await self.freeze(site.owner.partyId, 'active')

    await toContent(page)
    await press('Tab')
    await page.keyboard.type('Too many desks')
    await press('Tab', 'Tab', 'Enter')
    await arrive(page, 'Denied')
    expect(await approval(id)).toMatchObject({ status: 'denied', denialReason: 'Too many desks' })
    expect(await page.locator('main').ariaSnapshot()).toMatchInlineSnapshot(`
      "- main:
        - heading "Denied" [level=1]
        - status:
          - paragraph: The payment was denied on January 15, 2026 at 12:00 PM UTC. No money moved. You can close this page.
        - term: Amount
        - definition:
          - strong: $600.00
        - term: Payee
        - definition: Shop
        - term: Description
        - definition: Desks
        - term: Requested by
        - definition: The agent Sandbox shopper, on January 15, 2026 at 12:00 PM UTC
        - term: Why it needed approval
        - definition: "Over the limit of $1.00 per payment: this payment is $600.00."
        - definition: "Over the limit of $4.00 per day: the total for the day would be $600.00."
        - term: Reason for the denial
        - definition: Too many desks
        - paragraph:
          - link "See pending decisions":
            - /url: /decisions
        - paragraph:
          - link "See your money in the console":
            - /url: /console/money"
    `)
    await expectReadable()
    await shoot(page, `person-approval-denied-${colorScheme}`)
    expect(complaints).toEqual([])
    await context.close()
  })
})
