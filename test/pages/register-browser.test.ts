import { afterAll, beforeAll, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { trust } from '../credentials/requests.ts'
import { sqlite } from '../support/databases.ts'
import { axeLooks, axeViolations } from './axe.ts'
import { arrive, expectFocus, openTab, shoot, startBrowser, type TestBrowser } from './browser.ts'
import { createPersonSite, type PersonSite } from './person-site.ts'

let browser: TestBrowser
let site: PersonSite
let listener: Listener

const log = { debug() {}, info() {}, warn() {}, error() {} }

beforeAll(async () => {
  browser = await startBrowser()
  site = await createPersonSite(sqlite)
  // Adds a second agent, so that the forms require the person to choose an agent.
  await site.world.post('/agents', { name: 'Night buyer' }, { key: site.world.apiKey })
  const { fetch } = site.world.service
  listener = await listen({ fetch, host: '127.0.0.1', port: 0, system: realSystem, log })
})
afterAll(async () => {
  await browser.close()
  await listener.close()
  await site.world.drop()
})

async function visit(path: string, options = {}) {
  const context = await browser.newContext(options)
  const session = await site.sessionOf(site.owner)
  await context.addCookies([{ name: 'payments_session', value: session, url: listener.url }])
  return { context, ...(await openTab(context, listener.url + path)) }
}

test('without JavaScript, the first invalid field of the application form has the focus, and Enter submits the form', async () => {
  const { page, complaints, context } = await visit('/connections', { javaScriptEnabled: false })
  await page.getByRole('link', { name: 'Register an application' }).click()
  await arrive(page, 'Register an application')
  const key = page.getByLabel('Public key')
  await expect.poll(() => key.isVisible()).toBe(false)
  await page.getByRole('radio', { name: 'A key pair' }).check()
  await key.fill('not a key')
  await page.getByRole('button', { name: 'Register' }).click()
  await page.getByRole('alert').getByText('Check the marked fields').waitFor()
  await page.waitForLoadState()
  const name = page.getByLabel('Name', { exact: true })
  await expectFocus(name)
  await expect.poll(() => key.inputValue()).toBe('not a key')
  await page.getByRole('radio', { name: 'A secret' }).check()
  await page.getByLabel('Agent that the application acts as').selectOption('Night buyer')
  await name.fill('Nightly orders')
  await name.press('Enter')
  await arrive(page, 'Application registered')
  await page.getByText(/^cs_ntl_sandbox_[\w-]{43}$/).waitFor()
  await page.getByRole('link', { name: 'open your connected applications' }).click()
  await page.getByRole('heading', { name: 'Nightly orders' }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('without JavaScript, adding a rule to the provider form keeps the input, and Enter submits the form', async () => {
  const { page, complaints, context } = await visit('/connections/new/identity-provider', { javaScriptEnabled: false })
  await page.getByLabel('Name of the AI host').fill(trust.name)
  await page.getByLabel('Issuer').fill(trust.issuer)
  await page.getByLabel('Address of the provider’s public keys').fill(trust.jwksUri)
  await page.getByLabel('Value').fill('ada@example.com')
  await page.getByLabel('Agent').selectOption('Night buyer')
  await page.getByRole('button', { name: 'Add another rule' }).click()
  const second = page.getByRole('group', { name: 'Rule 2' })
  await second.waitFor()
  await page.waitForLoadState()
  await expectFocus(second.getByLabel('Claim'))
  await second.getByLabel('Claim').fill('groups')
  await second.getByLabel('Value').fill('buyers')
  await second.getByLabel('Agent').selectOption('Sandbox shopper')
  await second.getByLabel('Value').press('Enter')
  await arrive(page, 'Identity provider trusted')
  const { json } = await site.world.get('/trusted-issuers', { key: site.world.apiKey })
  expect(json.data).toMatchObject([
    { attributes: { ...trust, agents: [{ value: 'ada@example.com' }, { claim: 'groups', value: 'buyers' }] } },
  ])
  expect(complaints).toEqual([])
  await context.close()
})

test.each(axeLooks)(
  'axe finds nothing wrong with forms that show errors, or with the pages that follow them: $name',
  async ({ name, options }) => {
    const found: string[] = []
    const check = async (page: Awaited<ReturnType<typeof visit>>['page'], state: string) => {
      await page.waitForLoadState()
      found.push(...(await axeViolations(page)).map((text) => `${state}: ${text}`))
      const overflow = (await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number
      if (overflow > 0) found.push(`${state}: scrolls sideways by ${overflow} pixels`)
      await shoot(page, `${name} ${state}`)
    }
    const { page, context } = await visit('/connections/new/application', options)
    await page.getByRole('radio', { name: 'A key pair' }).check()
    await page.getByRole('button', { name: 'Register' }).click()
    await page.getByRole('alert').waitFor()
    await check(page, 'application with problems')
    await page.getByLabel('Name', { exact: true }).fill('Nightly orders')
    await page.getByLabel('Agent that the application acts as').selectOption('Night buyer')
    await page.getByRole('radio', { name: 'A secret' }).check()
    await page.getByRole('button', { name: 'Register' }).click()
    await arrive(page, 'Application registered')
    await check(page, 'application registered')
    await page.goto(`${listener.url}/connections/new/identity-provider`)
    await page.getByRole('button', { name: 'Add another rule' }).click()
    await page.getByRole('group', { name: 'Rule 2' }).waitFor()
    await page.getByRole('button', { name: 'Trust the provider' }).click()
    await page.getByRole('alert').waitFor()
    await check(page, 'provider with problems')
    await page.getByLabel('Name of the AI host').fill(trust.name)
    await page.getByLabel('Issuer').fill(trust.issuer)
    await page.getByLabel('Address of the provider’s public keys').fill(trust.jwksUri)
    const first = page.getByRole('group', { name: 'Rule 1' })
    await first.getByLabel('Value').fill('ada@example.com')
    await first.getByLabel('Agent').selectOption('Night buyer')
    await page.getByRole('button', { name: 'Trust the provider' }).click()
    await arrive(page, 'Identity provider trusted')
    await check(page, 'provider trusted')
    await page.goto(`${listener.url}/connections`)
    await check(page, 'connections')
    expect(found).toEqual([])
    await context.close()
  },
)
