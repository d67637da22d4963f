import { afterAll, beforeAll, expect, test } from 'vitest'
import { addParty } from '../support/world.ts'
import { arrive, type Site, shoot, startBrowser, startSite, type TestBrowser } from './browser.ts'

let site: Site
let browser: TestBrowser

beforeAll(async () => {
  ;[site, browser] = await Promise.all([startSite(), startBrowser()])
})
afterAll(async () => {
  await browser.close()
  await site.close()
})

/** Returns the URL on this test's server that has the same path as a link from the service. */
const onThisServer = (url: string) => `${site.listener.url}${new URL(url).pathname}`
const create = async (path: string, attributes: object) => {
  const answer = await site.world.post(path, attributes, { key: site.world.apiKey })
  expect(answer.status, answer.text).toBe(201)
  return answer.json.data
}
const requestPayment = async (more: object = {}) => {
  const payer = { type: 'email', value: 'a-rather-long-name@a-rather-long-host-name.example.com' }
  const { attributes } = await create('/payment-requests', { amount: 1250, payer, description: 'May rent', ...more })
  return onThisServer(attributes.paymentLinkUrl)
}

test('a payment request can be paid without JavaScript, on a screen 320 pixels wide', async () => {
  const context = await browser.newContext({ viewport: { width: 320, height: 700 }, javaScriptEnabled: false })
  const page = await context.newPage()
  const before = await site.balance()
  await page.goto(await requestPayment())
  await shoot(page, 'payment-request-phone')
  const { width } = (await page.locator('main').boundingBox()) ?? { width: 0 }
  expect(width).toBeLessThanOrEqual(320)
  const pay = async (number: string) => {
    await page.getByLabel('Card number').fill(number)
    await page.getByLabel('Expires').fill('12/34')
    await page.getByLabel('Security code').fill('123')
    await page.getByRole('button', { name: 'Pay $12.50' }).click()
  }
  await pay('1234')
  await page.getByText('Nothing was paid. Check the card details.').waitFor()
  await shoot(page, 'payment-request-wrong-phone')
  await pay('4000000000000002')
  await page.getByText('The card was declined.').waitFor()
  await shoot(page, 'payment-request-declined-phone')
  await pay('4242 4242 4242 4242')
  await arrive(page, 'Paid. Thank you.')
  await shoot(page, 'payment-request-paid-phone')
  await page.reload()
  expect(await site.balance()).toBe(before + 1250)
  await context.close()
})

test('a payment request can be declined', async () => {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(await requestPayment())
  await page.getByText('Test cards').click()
  await shoot(page, 'payment-request')
  await page.getByRole('button', { name: 'Decline' }).click()
  await arrive(page, 'Declined')
  await shoot(page, 'payment-request-declined')
  await context.close()
})

test('the payer signs in from the page of the payment request, returns to it, and pays from a wallet', async () => {
  const { world } = site
  const context = await browser.newContext()
  const page = await context.newPage()
  const paymentRequest = await world.post(
    '/payment-requests',
    { amount: 300, payer: { type: 'party_id', value: (await world.whoami()).partyId } },
    { key: (await addParty(world)).apiKey },
  )
  expect(paymentRequest.status, paymentRequest.text).toBe(201)
  await page.goto(onThisServer(paymentRequest.json.data.attributes.paymentLinkUrl))
  await page.getByRole('link', { name: 'sign in' }).click()
  const { email, password } = await world.service.seedPassword('a password of the owner')
  await page.getByLabel('Email').fill(String(email))
  await page.getByLabel('Password').fill(String(password))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await arrive(page, 'Pay from a wallet')
  await shoot(page, 'payment-request-wallet')
  const before = await site.balance()
  await page.getByRole('button', { name: 'Pay $3.00 from this wallet' }).click()
  await arrive(page, 'Paid. Thank you.')
  expect(await site.balance()).toBe(before - 300)
  await context.close()
})

test('a party invitation can be accepted by keyboard and without JavaScript', async () => {
  const context = await browser.newContext({ viewport: { width: 320, height: 700 }, javaScriptEnabled: false })
  const page = await context.newPage()
  const email = 'ada@example.com'
  const [{ attributes }] = await create('/party-invitations', { invitations: [{ email, role: 'ADMIN' }] })
  await page.goto(onThisServer(attributes.url))
  await shoot(page, 'party-invitation-phone')
  await page.getByLabel('Your name').focus()
  await page.keyboard.type('Ada Lovelace')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.type('short')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('at least 12 characters').waitFor()
  await shoot(page, 'party-invitation-wrong-phone')
  await expect.poll(() => page.getByLabel('Your name').inputValue()).toBe('Ada Lovelace')
  await page.getByLabel('Choose a password').fill('correct horse battery')
  await page.keyboard.press('Enter')
  await page.getByText('Ada Lovelace').waitFor()
  expect(new URL(page.url()).pathname).toBe('/connections')
  await page.goto(onThisServer(attributes.url))
  await arrive(page, 'You joined')
  await shoot(page, 'party-invitation-accepted')
  await context.close()
})
