import { afterAll, beforeAll, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { ok } from '../payments/payer.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import {
  type ApprovalWorld,
  addressIn,
  codeAt,
  createApprovalWorld,
  decodeBase32,
  secretIn,
  wrongCode,
} from './authenticator.ts'

const minute = 60_000

onEachDatabase('the second factor for large approvals', (database) => {
  let world: World
  let us: ApprovalWorld

  beforeAll(async () => {
    world = await createWorld(database)
    us = await createApprovalWorld(world)
    for (let count = 0; count < 40; count++) {
      ok(await world.post(`/simulations/customers/${us.partyId}/transfers/deposit`, { amount: 100_000 }))
    }
  })
  afterAll(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const now = () => world.system.now()
  /** Advances the sandbox clock. The app's codes stay the same, because they depend on the real clock. */
  const advance = (seconds: number) => world.post('/simulations/clock/advance', { seconds })

  test('a user needs a second factor to approve more than USD 500.00; a party key never needs it', async () => {
    const user = await us.approver()
    ok(await user.approve((await us.review(50_000)).approvalId))
    const { paymentId, approvalId } = await us.review(50_001)
    expectRefusal(await user.approve(approvalId), 'mfa_required')
    expect(await us.self.status(paymentId)).toBe('IN_REVIEW')
    ok(await us.self.approve(approvalId, { key: world.apiKey }))
  })

  test('an approval is refused until the user enters a code, and then succeeds once', async () => {
    const user = await us.approver()
    const { paymentId, approvalId } = await us.review(60_000)
    const before = await us.self.balance()
    const refused = await user.approve(approvalId, 'first round')
    expectRefusal(refused, 'mfa_required')
    const url = addressIn(refused)
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:4010\/verify\/mfc_[0-9a-f]{32}_usr_[0-9a-f]{32}_[0-9a-f]{64}$/)
    const page = await us.open(url)
    expect(page.status).toBe(200)
    expect(page.text).toContain('Confirm that it is you')
    const { secret } = user
    expect(page.text).not.toMatch(/otpauth|[A-Z2-7]{32}/)
    const sent = await us.submit(url, codeAt(secret, now()))
    expect([sent.status, sent.headers.get('location')]).toStrictEqual([303, new URL(url).pathname])
    const verified = await us.open(url)
    expect(verified.text).toContain('You can approve again now.')
    expect(verified.text).not.toMatch(/<main[\s\S]*<form/)
    expect(verified.text).not.toContain(secret)
    // With the same idempotency key, the service replays the recorded refusal. A new key makes a new attempt.
    const replayed = await user.approve(approvalId, 'first round')
    expect([replayed.text, replayed.headers.get('x-idempotency-replayed')]).toStrictEqual([refused.text, 'true'])
    ok(await user.approve(approvalId, 'second round'))
    expect(await us.self.status(paymentId)).toBe('COMPLETED')
    const again = await user.approve(approvalId, 'second round')
    expect([again.status, again.headers.get('x-idempotency-replayed')]).toStrictEqual([200, 'true'])
    expectRefusal(await user.approve(approvalId), 'conflict')
    expect((await us.self.balance()).total).toBe(before.total - 60_000)
  })

  test('after a correct code, a user needs no further code for 10 minutes by the sandbox clock', async () => {
    const user = await us.approver()
    const url = await user.challenge()
    const secret = await us.secretAt(url)
    expect((await us.submit(url, codeAt(secret, now()))).status).toBe(303)
    ok(await advance(600))
    ok(await user.approve((await us.review(50_001)).approvalId))
    ok(await advance(1))
    expectRefusal(await user.approve((await us.review(50_001)).approvalId), 'mfa_required')
  })

  test('the codes of the previous and the next time step are accepted, but no older or newer ones', async () => {
    for (const [offMs, status] of [
      [-30_000, 303],
      [30_000, 303],
      [-60_000, 422],
      [60_000, 422],
    ] as const) {
      const user = await us.approver()
      const url = await user.challenge()
      const { status: receivedStatus, text } = await us.submit(url, codeAt(await us.secretAt(url), now() + offMs))
      expect([offMs, receivedStatus]).toStrictEqual([offMs, status])
      if (offMs === -60_000) expect(text).toContain('This code has expired.')
    }
  })

  test('a code is accepted only once, and no earlier code is accepted after it', async () => {
    const user = await us.approver()
    const [url, second] = [await user.challenge(), await user.challenge()]
    const code = codeAt(await us.secretAt(url), now())
    for (const shown of [url, second]) expect((await us.open(shown)).status).toBe(200)
    const answers = await Promise.all([us.submit(url, code), us.submit(url, code), us.submit(second, code)])
    expect(answers.map(({ status }) => status).sort()).toStrictEqual([303, 422, 422])
    ok(await advance(601))
    const third = await user.challenge()
    const earlier = codeAt(await us.secretAt(third), now() - 30_000)
    for (const used of [code, earlier]) {
      const { status, text } = await us.submit(third, used)
      expect(status).toBe(422)
      expect(text).toContain('already been used')
      expect(text).toMatch(/<main[\s\S]*<form/)
    }
    expectRefusal(await user.approve((await us.review(50_001)).approvalId), 'mfa_required')
    world.system.pass(30_000)
    expect((await us.submit(third, codeAt(await us.secretAt(third), now()))).status).toBe(303)
  })

  test('a wrong code is reported next to the field; a malformed code does not count as an attempt', async () => {
    const user = await us.approver()
    const url = await user.challenge()
    const secret = await us.secretAt(url)
    for (const typed of ['', '12345', '1234567', 'abcdef', '１２３４５６', '12345６', '0x1234']) {
      const { status, text } = await us.submit(url, typed)
      expect(status).toBe(422)
      expect(text).toContain('Enter the 6 digits')
    }
    const wrong = await us.submit(url, wrongCode(secret, now()))
    expect(wrong.status).toBe(422)
    expect(wrong.text).toMatch(/<input [^>]*aria-describedby="problem" aria-invalid="true" autofocus>/)
    expect(wrong.text).toContain('<p class="problem" id="problem">This code is wrong.')
    expect(wrong.text).toContain('<title>Error: ')
    const code = codeAt(secret, now())
    expect((await us.submit(url, ` ${code.slice(0, 3)} ${code.slice(3)} `)).status).toBe(303)
  })

  test('after five wrong codes within 15 minutes by the real clock, all codes are refused', async () => {
    const user = await us.approver()
    const url = await user.challenge()
    const secret = await us.secretAt(url)
    const wrong = wrongCode(secret, now())
    expect((await us.submit(url, wrong)).status).toBe(422)
    world.system.pass(minute)
    const raced = await Promise.all(Array.from({ length: 8 }, () => us.submit(url, wrong)))
    expect(raced.filter(({ status }) => status === 422)).toHaveLength(4)
    const blocked = raced.find(({ status }) => status === 429)
    expect(blocked?.headers.get('retry-after')).toBe(String(14 * 60))
    expect(blocked?.text).toContain('Too many codes were refused (5 in 15 minutes). Try again in 14 minutes.')
    expect((await us.submit(url, codeAt(secret, now()))).status).toBe(429)
    // Neither advancing the sandbox clock nor a new verification page allows more attempts.
    ok(await advance(15 * 60))
    const later = await user.challenge()
    expect((await us.submit(later, codeAt(secret, now()))).status).toBe(429)
    world.system.pass(14 * minute)
    const last = await user.challenge()
    expect((await us.submit(last, wrongCode(secret, now()))).status).toBe(422)
    expect((await us.submit(last, codeAt(secret, now()))).status).toBe(429)
    world.system.pass(minute)
    expect((await us.submit(last, codeAt(secret, now()))).status).toBe(303)
  })

  test('the verification page works for 10 minutes by the sandbox clock', async () => {
    const user = await us.approver()
    const url = await user.challenge()
    const secret = await us.secretAt(url)
    ok(await advance(599))
    expect((await us.open(url)).status).toBe(200)
    ok(await advance(1))
    for (const page of [await us.open(url), await us.submit(url, codeAt(secret, now()))]) {
      expect(page.status).toBe(410)
      expect(page.text).toContain('Approve again to get a new one.')
      expect(page.text).not.toMatch(/<main[\s\S]*<form/)
      expect(page.text).not.toContain(secret)
    }
    expectRefusal(await user.approve((await us.review(50_001)).approvalId), 'mfa_required')
  })

  test('wrong codes from a visitor who knows the page’s address do not lock the user out', async () => {
    const user = await us.approver()
    const url = await user.challenge()
    for (let count = 0; count < 8; count++) {
      const { status, headers } = await us.send(url, { code: wrongCode(user.secret, now()) }, { userId: null })
      expect([status, headers.get('location')?.startsWith('/sign-in?')]).toStrictEqual([303, true])
    }
    expect((await us.submit(url, codeAt(user.secret, now()))).status).toBe(303)
    ok(await user.approve((await us.review(50_001)).approvalId))
  })

  test('a user without an authenticator app sets one up, sees its secret once, and can then approve', async () => {
    const { userId, key } = await us.newcomer()
    const refused = await us.self.approve((await us.review(50_001)).approvalId, { key })
    const url = addressIn(refused)
    const redirect = await us.open(url)
    const page = new URL(redirect.headers.get('location') ?? '', url).href
    expect([redirect.status, new URL(page).pathname]).toStrictEqual([303, '/second-factor'])
    expect((await us.send(url, { code: '123456' })).status).toBe(403)
    const shown = await us.send(page, { step: 'begin' }, { userId })
    const secret = secretIn(shown)
    expect(shown.text).toMatch(new RegExp(`otpauth://totp/[^<]*secret=${secret}[^<]*period=30`))
    expect((await us.open(page, userId)).text).not.toContain(secret)
    // Until the user confirms the app with a code, starting the setup again replaces the secret.
    const another = secretIn(await us.send(page, { step: 'begin' }, { userId }))
    expect(another).not.toBe(secret)
    const wrong = await us.send(page, { code: wrongCode(another, now()) }, { userId })
    expect([wrong.status, wrong.text.includes(another)]).toStrictEqual([422, false])
    const confirmed = await us.send(page, { code: codeAt(another, now()) }, { userId })
    expect([confirmed.status, confirmed.headers.get('location')]).toStrictEqual([303, new URL(url).pathname])
    // After the app is confirmed, starting the setup again shows no new secret, and the confirmed app stays valid.
    const again = await us.send(page, { step: 'begin' }, { userId })
    expect(again.text).not.toMatch(/otpauth|<code>/)
    expectRefusal(await us.self.approve((await us.review(50_001)).approvalId, { key }), 'mfa_required')
    world.system.pass(30_000)
    expect((await us.submit(url, codeAt(another, now()))).status).toBe(303)
    ok(await us.self.approve((await us.review(50_001)).approvalId, { key }))
  })

  test('a code that one user enters does not count for another user', async () => {
    const [ada, bob] = [await us.approver(), await us.approver()]
    const [adaUrl, bobUrl] = [await ada.challenge(), await bob.challenge()]
    const [adaSecret, bobSecret] = [await us.secretAt(adaUrl), await us.secretAt(bobUrl)]
    expect(adaSecret).not.toBe(bobSecret)
    expect((await us.submit(bobUrl, codeAt(adaSecret, now()))).status).toBe(422)
    expect((await us.submit(adaUrl, codeAt(adaSecret, now()))).status).toBe(303)
    expectRefusal(await bob.approve((await us.review(50_001)).approvalId), 'mfa_required')
    // Other users and signed-out visitors cannot open Ada's verification page or enter a code there.
    for (const userId of [bob.userId, null]) {
      const { status, headers } = await us.open(adaUrl, userId)
      expect([status, headers.get('location')]).toStrictEqual(
        userId === null ? [303, `/sign-in?next=${encodeURIComponent(new URL(adaUrl).pathname)}`] : [404, null],
      )
      for (let count = 0; count < 6; count++) await us.send(adaUrl, { code: wrongCode(adaSecret, now()) }, { userId })
    }
    const forged = adaUrl.replace(/usr_[0-9a-f]+/, bob.userId)
    const random = adaUrl.replace(/mfc_[0-9a-f]{12}/, 'mfc_ffffffffffff')
    for (const url of [forged, random, `${adaUrl}0`, adaUrl.slice(0, -1), `${new URL(adaUrl).origin}/verify/x`]) {
      expect((await us.open(url, bob.userId)).status).toBe(404)
      const sent = await us.send(url, { code: codeAt(bobSecret, now()) }, { userId: bob.userId })
      expect(sent.status).toBe(403)
    }
    // The wrong codes of the others did not count against Ada.
    ok(await advance(601))
    world.system.pass(30_000)
    expect((await us.submit(await ada.challenge(), codeAt(adaSecret, now()))).status).toBe(303)
  })

  test('the app’s secret and its codes do not appear in the database, the logs or the refusal', async () => {
    const user = await us.approver()
    const refused = await user.approve((await us.review(50_001)).approvalId)
    const url = addressIn(refused)
    const secret = await us.secretAt(url)
    const codes = [wrongCode(secret, now()), codeAt(secret, now())]
    for (const code of codes) await us.submit(url, code)
    const rows = await world.store.transaction(async ({ db }) => {
      const tables = ['users', 'secondFactors', 'idempotencyRecords', 'activity', 'credentials', 'rootKeys'] as const
      return Promise.all(tables.map((table) => db.selectFrom(table).selectAll().execute()))
    })
    const storedText = JSON.stringify(rows) + world.logged.join('\n') + refused.text
    const hex = decodeBase32(secret).toString('hex')
    for (const text of [secret, hex, ...codes.map((code) => `"${code}"`)]) expect(storedText).not.toContain(text)
    expect(world.logged.join('\n')).not.toContain('mfc_')
  })

  test('the key that signs the URLs of verification pages is stored even though the approval is refused', async () => {
    const newWorld = await createWorld(database)
    try {
      const newApprovals = await createApprovalWorld(newWorld)
      const url = await (await newApprovals.approver()).challenge()
      expect((await newApprovals.open(url)).status).toBe(200)
    } finally {
      await newWorld.drop()
    }
  })
})
