import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type CardEntry,
  type Checkout,
  createCheckout,
  type PaymentResult,
} from '../../src/service/pages/checkout/checkout.ts'
import { testCards } from '../../src/service/rules/test-cards.ts'
import { readAllRows } from '../ledger/books.ts'
import { onEachDatabase, type TestDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { type Merchant, merchant, monthly, ok, proveCharges, termsOfParts } from './merchant.ts'

const visa: CardEntry = { number: '4242424242424242', expiry: '12/30', cvv: '123' }
const numberWith = (behavior: string) =>
  Object.entries(testCards).find(([, cardBehavior]) => cardBehavior === behavior)?.[0] ?? ''

let world: World
let shop: Merchant
let page: Checkout

async function begin(database: TestDatabase): Promise<void> {
  world = await createWorld(database)
  shop = merchant(world)
  page = createCheckout(world)
}

async function end(): Promise<void> {
  await proveCharges(world)
  await world.drop()
}

async function openCheckout(attributes: Record<string, unknown> = monthly) {
  const id = await shop.create(attributes)
  const { clientSecret, checkoutUrl } = await shop.read(id)
  return { id, secret: String(clientSecret), token: String(checkoutUrl).split('/').at(-1) ?? '' }
}

onEachDatabase('a card in a checkout', (database) => {
  beforeAll(() => begin(database))
  afterAll(end)

  test.each(Object.entries(testCards))('the test card %s has the behavior %s', async (number, behavior) => {
    const { id, secret } = await openCheckout()
    const spaced = { ...visa, number: number.replaceAll(/(\d{4})(?=\d)/g, '$1 ') }
    const result = behavior === 'approves' ? 'paid' : behavior === 'agreement_fails' ? 'agreement_failed' : 'declined'
    expect((await page.pay(secret, spaced)).result).toBe(result)
    const status = { paid: 'active', agreement_failed: 'canceled', declined: 'pending' }[result]
    expect(await shop.read(id)).toMatchObject({ status })
    if (behavior === 'declines_once') expect((await page.pay(secret, spaced)).result).toBe('paid')
    if (behavior === 'agreement_fails') await expect(page.pay(secret, visa)).rejects.toMatchObject({ code: 'conflict' })
  })

  const wrongEntries: [string, Partial<CardEntry>, string][] = [
    ['no number', { number: '' }, 'number'],
    ['letters in the number', { number: '4242 4242 4242 424x' }, 'number'],
    ['a wrong check digit', { number: '4242424242424243' }, 'number'],
    ['a valid number that belongs to no test card', { number: '4111111111111111' }, 'number'],
    ['too many digits in the number', { number: '4'.repeat(20) }, 'number'],
    ['no expiration', { expiry: '' }, 'expiry'],
    ['the expiration month 13', { expiry: '13/30' }, 'expiry'],
    ['the expiration month 0', { expiry: '00/30' }, 'expiry'],
    ['a one-digit expiration month', { expiry: '1/2026' }, 'expiry'],
    ['an expiration in the previous month', { expiry: '12/25' }, 'expiry'],
    ['a four-digit expiration year in the past', { expiry: '12/2025' }, 'expiry'],
    ['no security code', { cvv: '' }, 'cvv'],
    ['a security code of 2 digits', { cvv: '12' }, 'cvv'],
    ['a security code of 5 digits', { cvv: '12345' }, 'cvv'],
    ['letters in the security code', { cvv: 'abc' }, 'cvv'],
  ]
  test.each(wrongEntries)(
    'card details with %s are refused, and the error points to the field without repeating its value',
    async (_, entry, field) => {
      const { id, secret } = await openCheckout()
      const refusal = await page.pay(secret, { ...visa, ...entry }).catch((error: unknown) => error)
      expect(refusal).toMatchObject({
        code: 'invalid_value',
        status: 422,
        source: { pointer: expect.stringMatching(new RegExp(`/${field}$`)) },
      })
      for (const typed of Object.values(entry)) {
        if (typed.length > 5) expect(String((refusal as Error).message)).not.toContain(typed)
      }
      expect((await shop.read(id)).updatedAt).toBe((await shop.read(id)).createdAt)
      expect((await page.pay(secret, visa)).result).toBe('paid')
    },
  )

  test.each(['01/26', '01 / 26', ' 01/2026 '])('a card that expires this month is accepted as "%s"', async (expiry) => {
    const { secret } = await openCheckout()
    expect((await page.pay(secret, { ...visa, expiry })).result).toBe('paid')
  })
})

onEachDatabase("the payer's side of a checkout", (database) => {
  beforeEach(() => begin(database))
  afterEach(end)

  const manageTokenOf = ({ manageToken }: PaymentResult) => String(manageToken)

  test('a checkout shows the merchant, the terms, the amount, the expiration and, once paid, the next due day', async () => {
    const { id, secret, token } = await openCheckout({ ...termsOfParts(3, 1000), taxAmount: 100 })
    const session = {
      status: 'pending',
      merchant: 'Sandbox Organization',
      terms: (await shop.read(id)).terms,
      amount: 334,
      taxAmount: 34,
      currency: 'USD',
      expiresAt: '2026-01-16T12:00:00.000Z',
      nextDueAt: null,
    }
    expect(await page.session({ clientSecret: secret })).toEqual(session)
    expect(await page.open(id, token)).toEqual({ session, clientSecret: secret })
    expect(await page.open(`sub_${'0'.repeat(32)}`, token)).toBeUndefined()
    const manageToken = manageTokenOf(await page.pay(secret, visa))
    const paid = await page.session({ clientSecret: secret })
    expect(await page.manage(manageToken)).toEqual(paid)
    expect(await page.session({ manageToken })).toEqual(paid)
    expect(paid).toEqual({
      ...session,
      status: 'active',
      expiresAt: null,
      nextDueAt: '2026-02-15T00:00:00.000Z',
    })
  })

  test('a checkout is opened only by its own secret', async () => {
    const { id, secret } = await openCheckout()
    const other = await openCheckout()
    const { data } = (await shop.get(id)).json.data.relationships.paymentIntent
    const swapped = `${data.id}_secret_${other.secret.split('_secret_')[1]}`
    const wrongSecrets = [
      '',
      'x',
      id,
      data.id,
      `${data.id}_secret_`,
      swapped,
      secret.slice(0, -1),
      `${secret}0`,
      secret.toUpperCase(),
      ` ${secret}`,
      `${secret.slice(0, -1)}${secret.endsWith('0') ? '1' : '0'}`,
    ]
    for (const wrongSecret of wrongSecrets) {
      const calls = [
        () => page.session({ clientSecret: wrongSecret }),
        () => page.session({ manageToken: wrongSecret }),
        () => page.pay(wrongSecret, visa),
        () => page.stop(wrongSecret),
      ]
      expect(await page.open(id, wrongSecret)).toBeUndefined()
      expect(await page.manage(wrongSecret)).toBeUndefined()
      for (const call of calls) {
        await expect(call(), wrongSecret).rejects.toMatchObject({ code: 'not_found', status: 404 })
      }
    }
    expect((await shop.read(id)).status).toBe('pending')
    await page.pay(other.secret, visa)
    expect((await shop.read(id)).status).toBe('pending')
    expect((await shop.read(other.id)).status).toBe('active')
  })

  test('paying in the checkout makes payment 1 and creates the mandate, and paying again charges nothing', async () => {
    const { id, secret } = await openCheckout()
    expect(await page.pay(secret, visa)).toMatchObject({
      result: 'paid',
      detail: expect.stringMatching(/\S/),
      session: { status: 'active' },
    })
    const read = await shop.read(id)
    expect(read).toMatchObject({
      status: 'active',
      mandateId: expect.stringMatching(/^mdt_/),
      clientSecret: null,
      checkoutUrl: null,
    })
    expect(await page.pay(secret, { ...visa, number: numberWith('declines') })).toMatchObject({ result: 'paid' })
    expect(await shop.read(id)).toEqual(read)
    expect(await shop.charged(id)).toHaveLength(1)
    await shop.to('2026-02-15')
    expect(await shop.charged(id)).toHaveLength(2)
    expect((await page.pay(secret, visa)).result).toBe('paid')
    expect(await shop.charged(id)).toHaveLength(2)
  })

  test('a payer can try again after each decline, until a card is charged', async () => {
    const { id, secret } = await openCheckout()
    for (const behavior of ['declines', 'blocked']) {
      const answer = await page.pay(secret, { ...visa, number: numberWith(behavior) })
      expect(answer).toMatchObject({
        result: 'declined',
        detail: expect.stringMatching(/another card/i),
        session: { status: 'pending' },
      })
    }
    expect(await shop.read(id)).toMatchObject({ status: 'pending', mandateId: null, clientSecret: secret })
    expect(await shop.charged(id)).toEqual([])
    expect((await page.pay(secret, visa)).result).toBe('paid')
    expect(await shop.charged(id)).toHaveLength(1)
    await shop.to('2026-02-15')
    expect(await shop.charged(id)).toHaveLength(2)
  })

  test('a mistyped card number and a number that is not a test card get different errors', async () => {
    const { secret } = await openCheckout()
    const typo = page.pay(secret, { ...visa, number: '4242424242424243' })
    await expect(typo).rejects.toMatchObject({ message: expect.stringMatching(/check its digits/) })
    const real = page.pay(secret, { ...visa, number: '4111111111111111' })
    await expect(real).rejects.toMatchObject({ message: expect.stringMatching(/test cards/) })
  })

  test('simultaneous attempts to pay, as after a double click, charge payment 1 once', async () => {
    const { id, secret } = await openCheckout()
    const results = await Promise.all(Array.from({ length: 20 }, () => page.pay(secret, visa)))
    expect(new Set(results.map(({ result }) => result))).toEqual(new Set(['paid']))
    expect(await shop.charged(id)).toHaveLength(1)
  })

  test('the checkout ends when the merchant cancels the subscription, and its page then shows the cancellation', async () => {
    const { id, secret, token } = await openCheckout()
    ok(await shop.cancel(id))
    expect(await page.session({ clientSecret: secret })).toMatchObject({
      status: 'canceled',
      expiresAt: null,
      nextDueAt: null,
    })
    await expect(page.pay(secret, visa)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/canceled/),
    })
    expect(await page.open(id, token)).toMatchObject({ session: { status: 'canceled' }, clientSecret: null })
  })

  test('an expired checkout cannot be paid', async () => {
    const { id, secret } = await openCheckout()
    world.system.pass(86_400_000)
    await expect(page.pay(secret, visa)).rejects.toMatchObject({ code: 'conflict' })
    expect(await page.session({ clientSecret: secret })).toMatchObject({ status: 'canceled' })
    expect(await shop.charged(id)).toEqual([])
  })

  test('paying again is refused if the subscription was canceled after payment 1', async () => {
    const { id, secret } = await openCheckout()
    await page.pay(secret, visa)
    ok(await shop.cancel(id))
    await expect(page.pay(secret, visa)).rejects.toMatchObject({ code: 'conflict' })
    expect(await shop.charged(id)).toHaveLength(1)
  })

  test('the payer can stop the payments of an active subscription; stopping a completed one is a conflict', async () => {
    const [active, completed] = [await openCheckout(), await openCheckout(termsOfParts(2))]
    const activeToken = manageTokenOf(await page.pay(active.secret, visa))
    const completedToken = manageTokenOf(await page.pay(completed.secret, visa))
    ok(await shop.markPaid(completed.id, 2))
    for (const wrongToken of [active.secret, active.token, active.id, activeToken.replace(active.id, completed.id)]) {
      await expect(page.stop(wrongToken), wrongToken).rejects.toMatchObject({ code: 'not_found' })
    }
    expect(await page.stop(activeToken)).toMatchObject({ status: 'canceled', nextDueAt: null })
    expect((await page.stop(activeToken)).status).toBe('canceled')
    await expect(page.stop(completedToken)).rejects.toMatchObject({ code: 'conflict' })
    await shop.pass(100)
    expect(await shop.charged(active.id)).toHaveLength(1)
    expect((await shop.read(active.id)).status).toBe('canceled')
  })

  test('only the payer’s browser gets the token to stop the payments; paying again without the browser’s payer key returns none', async () => {
    const { secret, token, id } = await openCheckout()
    const first = await page.pay(secret, visa, 'made up')
    expect(first.manageToken).toMatch(/^sub_[0-9a-f]{32}_manage_/)
    expect(await page.pay(secret, visa, 'made up')).toMatchObject({ result: 'paid', manageToken: first.manageToken })
    for (const payerKey of [undefined, '', 'made up otherwise']) {
      expect(await page.pay(secret, visa, payerKey)).toMatchObject({ result: 'paid', manageToken: null })
    }
    expect(await page.open(id, token)).toMatchObject({ session: { status: 'active' }, clientSecret: null })
    const other = await openCheckout()
    const declined = { ...visa, number: numberWith('declines') }
    expect(await page.pay(other.secret, declined, 'made up')).toMatchObject({ manageToken: null })
  })

  test('the secret of a checkout is the same at every read, and each checkout has a different one', async () => {
    const { id, secret, token } = await openCheckout()
    expect((await shop.read(id)).clientSecret).toBe(secret)
    expect((await page.open(id, token))?.clientSecret).toBe(secret)
    const many = await Promise.all(Array.from({ length: 20 }, () => openCheckout()))
    expect(new Set([secret, ...many.map((one) => one.secret)]).size).toBe(21)
  })
})

onEachDatabase('stored and logged data of a checkout', (database) => {
  let world: World
  let stored: string
  const secrets: string[] = []

  beforeAll(async () => {
    world = await createWorld(database)
    const shop = merchant(world)
    const page = createCheckout(world)
    for (const behavior of ['approves', 'declines', 'agreement_fails']) {
      const id = await shop.create()
      const secret = String((await shop.read(id)).clientSecret)
      secrets.push(secret)
      await shop.checkout(id, 'declines')
      await page.pay(secret, { ...visa, number: numberWith(behavior), cvv: '987' })
      await page.pay(secret, { ...visa, number: '4111 1111 1111 1111', cvv: '987' }).catch(() => {})
      await page.pay(secret, { ...visa, cvv: '987' }).catch(() => {})
      await shop.get(id)
    }
    stored = JSON.stringify(await readAllRows(world.store))
  })
  afterAll(() => world.drop())

  test('no card number is stored or logged, and no security code is stored', () => {
    for (const number of [...Object.keys(testCards), '4111111111111111']) {
      for (const text of [stored, world.logged.join('\n')]) {
        expect(text).not.toContain(number)
        expect(text).not.toContain(number.replaceAll(/(\d{4})(?=\d)/g, '$1 '))
      }
    }
    expect(stored).not.toMatch(/\b987\b/)
  })

  test('no client secret is logged', () => {
    for (const secret of secrets) expect(world.logged.join('\n')).not.toContain(secret.split('_secret_')[1])
  })

  test('no client secret is stored in any table', async () => {
    const rows = await readAllRows(world.store)
    const leaks = rows.filter((row) => secrets.some((secret) => JSON.stringify(row).includes(secret.slice(-64))))
    expect(leaks.map((row) => Object.keys(row).join(' '))).toEqual([])
  })
})
