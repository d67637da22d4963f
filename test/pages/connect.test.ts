import type { BrowserContextOptions } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { type InvitationFields, type Inviters, inviters } from '../customers/world.ts'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { openTab, startBrowser, type TestBrowser } from './browser.ts'
import { expectContrast } from './contrast.ts'

let browser: TestBrowser
let world: World
let invitations: Inviters
let listener: Listener

beforeAll(async () => {
  browser = await startBrowser()
  world = await createWorld(sqlite)
  invitations = await inviters(world)
  const line = (fields: object, message: string) => void world.logged.push(`${message} ${JSON.stringify(fields)}`)
  const log = { debug: line, info: line, warn: line, error: line }
  listener = await listen({ fetch: world.service.fetch, host: '127.0.0.1', port: 0, system: realSystem, log })
})

afterAll(async () => {
  await listener.close()
  await world.drop()
  await browser.close()
})

async function visit(fields: InvitationFields = {}, options: BrowserContextOptions = {}) {
  const { id, url } = await invitations.pending({ permissions: ['payments.create', 'cards.read'], ...fields })
  const context = await browser.newContext(options)
  const tab = await openTab(context, listener.url + new URL(url).pathname)
  return { id, context, ...tab }
}

test('the invited person reads the request and accepts', async () => {
  const { page, id, complaints, context } = await visit({ limits: { perTransaction: 2500 } })
  await page.getByRole('heading', { name: 'Sandbox Organization asks to connect' }).waitFor()
  await page.getByText('Sandbox shopper').waitFor()
  await page.getByRole('listitem').getByText('Send payments from your wallet').waitFor()
  await page.getByText('Up to $25.00 per payment').waitFor()
  await page.getByRole('button', { name: 'Accept' }).click()
  await page.getByRole('heading', { name: 'Connected' }).waitFor()
  await expect.poll(() => page.getByRole('button').count()).toBe(0)
  expect(await invitations.read(id)).toMatchObject({ status: 'ACCEPTED' })
  // After “Accept”, the browser is redirected to a GET request, so a reload does not submit the form again.
  await page.reload()
  await page.getByRole('heading', { name: 'Connected' }).waitFor()
  expect(complaints).toStrictEqual([])
  await context.close()
})

test('the invited person declines by keyboard, without JavaScript', async () => {
  const { page, id, complaints, context } = await visit({}, { javaScriptEnabled: false })
  const decline = page.getByRole('button', { name: 'Decline' })
  for (let presses = 0; presses < 5; presses++) {
    await page.keyboard.press('Tab')
    if (await decline.evaluate((element) => element.matches(':focus'))) break
  }
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Declined' }).waitFor()
  expect(await invitations.read(id)).toMatchObject({ status: 'DECLINED' })
  expect(complaints).toStrictEqual([])
  await context.close()
})

test('an invitation is answered only once, despite a double click or a second tab', async () => {
  const { page, id, context } = await visit()
  const second = await openTab(context, page.url())
  await page.getByRole('button', { name: 'Accept' }).dblclick()
  await page.getByRole('heading', { name: 'Connected' }).waitFor()
  await second.page.getByRole('button', { name: 'Decline' }).click()
  await second.page.getByRole('heading', { name: 'Connected' }).waitFor()
  expect(await invitations.read(id)).toMatchObject({ status: 'ACCEPTED' })
  await context.close()
})

test('an invitation that was revoked in the meantime cannot be accepted', async () => {
  const { page, id, context } = await visit()
  await world.send('DELETE', `/customers/invitations/${id}`, { key: world.apiKey })
  await page.getByRole('button', { name: 'Accept' }).click()
  await page.getByRole('heading', { name: 'No longer open' }).waitFor()
  await context.close()
})

test.each(['light', 'dark'] as const)(
  'the page fits a width of 320 px and has enough contrast in %s mode',
  async (colorScheme) => {
    const recipient = { type: 'email', value: `${'long'.repeat(15)}@${'example'.repeat(8)}.com` } as const
    const { page, context } = await visit({ recipient }, { colorScheme, viewport: { width: 320, height: 640 } })
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
    await expectContrast(page)
    await context.close()
  },
)

test('another site can neither frame the invitation page nor submit its form', async () => {
  const { page, id, context } = await visit()
  const [url, formToken] = [page.url(), await page.locator('[name=formToken]').getAttribute('value')]
  const foreign = await context.newPage()
  await foreign.setContent(`<form method="post" action="${url}"><input name="formToken" value="${formToken}">
    <button name="decision" value="accept">Win</button></form><iframe src="${url}"></iframe>`)
  await expect.poll(() => foreign.frameLocator('iframe').getByRole('button', { name: 'Accept' }).count()).toBe(0)
  const answered = foreign.waitForResponse((response) => response.request().method() === 'POST')
  await foreign.getByRole('button', { name: 'Win' }).click()
  expect((await answered).status()).toBe(403)
  expect(await invitations.read(id)).toMatchObject({ status: 'PENDING' })
  await context.close()
})
