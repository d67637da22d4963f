import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import { createConnections } from '../../src/service/oauth/connections.ts'
import { createConsent } from '../../src/service/oauth/consent.ts'
import { devicePages } from '../../src/service/pages/consent/device-view.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import { sqlite } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { addParty } from '../support/world.ts'
import { arrive, expectFocus, openTab, shoot, startBrowser, type TestBrowser } from './browser.ts'
import { expectContrast } from './contrast.ts'
import { createConsentRequest, createOAuthSite, type OAuthSite } from './oauth-site.ts'

let browser: TestBrowser
let site: OAuthSite
let listener: Listener
/** The site of the application that asks to connect. Its origin differs from the origin of the OAuth pages. */
let application: Listener
let count = 0

const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const html = { 'Content-Type': 'text/html' }

beforeAll(async () => {
  browser = await startBrowser()
  site = await createOAuthSite(sqlite)
  const app = site.app({ publicUrl: () => listener.url })
  app.get('/oauth/device', (c) => {
    const form = { action: '/oauth/device', token: 'token-1' }
    const pages = {
      enter: devicePages.enterCode(form, 'NotFoundError', undefined),
      confirm: devicePages.confirmCode(form, { name: 'Television' }, 'BCDF-GHJK'),
      done: devicePages.done({ name: 'Television' }),
      failed: devicePages.failed({ code: 'invalid_redirect_uri', description: 'redirect_uri is not registered' }),
    }
    return c.html(pages[c.req.query('page') as keyof typeof pages], 200, devicePages.headers)
  })
  const listenOptions = { host: '127.0.0.1', port: 0, system: realSystem, log }
  listener = await listen({ ...listenOptions, fetch: async (request) => app.fetch(request) })
  const answer = '<title>Application</title><h1>Back at the application</h1>'
  application = await listen({ ...listenOptions, fetch: async () => new Response(answer, { headers: html }) })
})

afterAll(async () => {
  await application.close()
  await listener.close()
  await site.world.drop()
  await browser.close()
})

beforeEach(() => {
  site.decisions.length = 0
  const redirectUri = `${application.url}/callback`
  site.consentRequest = createConsentRequest({ uid: `uid-${++count}`, client: { redirectUri } })
})

/** Opens a page as the given user, or signed out if `user` is null. By default, JavaScript is off. */
async function visit(path: string, user: UserRow | null = site.owner, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({ javaScriptEnabled: false, ...options })
  if (user !== null) {
    await context.addCookies([{ name: 'payments_session', value: await site.sessionOf(user), url: listener.url }])
  }
  return { context, ...(await openTab(context, listener.url + path)) }
}

const consentPath = () => `/oauth/consent/uid-${count}`

/** Presses Tab until the element with this role and name has the focus. */
async function tabTo(page: Page, role: 'button' | 'radio' | 'textbox' | 'checkbox', name: string): Promise<void> {
  const target = page.getByRole(role, { name })
  for (let presses = 0; presses < 20; presses++) {
    await page.keyboard.press('Tab')
    if (await target.evaluate((element) => element.matches(':focus'))) return
  }
  throw new Error(`Tab does not reach ${name}.`)
}

test('by keyboard and without JavaScript, a user can sign in, connect an application to a new agent, limit it, disconnect it and sign out', async () => {
  const { page, complaints, context } = await visit(consentPath(), null)
  const { email, password } = await site.signIn.seedPassword('a password of the owner')
  await tabTo(page, 'textbox', 'Email')
  await page.keyboard.type(String(email))
  await tabTo(page, 'textbox', 'Password')
  await page.keyboard.type(String(password))
  await page.keyboard.press('Enter')
  await arrive(page, 'Assistant asks to connect')
  await tabTo(page, 'radio', 'Sandbox shopper')
  await page.keyboard.press('ArrowDown')
  await tabTo(page, 'textbox', 'Name')
  await page.keyboard.type(`Books ${count}`)
  await tabTo(page, 'textbox', 'Description')
  await page.keyboard.type('Buys books')
  await tabTo(page, 'button', 'Allow')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Back at the application' }).waitFor()
  expect(page.url()).toBe(`${application.url}/callback?code=1`)
  expect(site.decisions).toHaveLength(1)
  await page.goto(`${listener.url}/connections`)
  const [connection] = await createConnections(site.world).list(site.owner)
  expect(connection).toMatchObject({ agentName: `Books ${count}` })
  await tabTo(page, 'checkbox', 'See wallets')
  await page.keyboard.press('Space')
  await tabTo(page, 'button', 'Save permissions of Assistant')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('The permissions are saved.').waitFor()
  await page.waitForLoadState()
  await expect.poll(() => page.getByRole('checkbox').count()).toBe(1)
  await tabTo(page, 'button', 'Disconnect Assistant')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('is disconnected').waitFor()
  await page.waitForLoadState()
  await tabTo(page, 'button', 'Sign out')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('if a field is invalid, the page shows an alert and focuses the field', async () => {
  const { page, context } = await visit(consentPath())
  await page.getByRole('radio', { name: 'Create a new agent' }).check()
  await page.getByRole('textbox', { name: 'Description' }).fill('Buys books')
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByRole('alert').getByText('Enter a name for the new agent.').waitFor()
  const name = page.getByRole('textbox', { name: 'Name' })
  await expectFocus(name)
  await expect.poll(() => page.getByRole('textbox', { name: 'Description' }).inputValue()).toBe('Buys books')
  await page.keyboard.type(`Mended ${count}`)
  // Enter presses the form's first button, which is Allow.
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Back at the application' }).waitFor()
  await context.close()
})

test('a screen reader announces the facts, choices and buttons of the consent page', async () => {
  const { partyId } = await addParty(site.world)
  const { page, context } = await visit(
    consentPath(),
    await site.addUser({ partyId, role: 'OWNER', email: 'max@example.com' }),
  )
  await expect.poll(() => page.locator('html').getAttribute('lang')).toBe('en')
  expect(await page.locator('main').ariaSnapshot()).toMatchInlineSnapshot(`
    "- main:
      - heading "Assistant asks to connect" [level=1]
      - term: Application
      - definition:
        - text: Verified as
        - strong: assistant.example
        - text: . The application chose the name above.
      - term: Returns to
      - definition: This computer
      - term: Signed in as
      - definition:
        - text: Max Member (max@example.com)
        - button "Not you?"
      - region "If you allow this, the application may":
        - heading "If you allow this, the application may" [level=2]
        - list:
          - listitem: See wallets, balances, payments, subscriptions and the activity
          - listitem: Issue cards for single purchases, and use them
      - group "The application acts as this agent":
        - text: The application acts as this agent
        - radio "Another agent" [checked]
        - text: Another agent
        - paragraph: It has no limits of its own. Its wallet has $1,000.00.
        - paragraph: Never used
        - radio "Create a new agent"
        - text: Create a new agent
      - paragraph:
        - text: You can revoke the access at any time under
        - link "connected applications":
          - /url: /connections
        - text: .
      - button "Allow"
      - button "Deny""
  `)
  await context.close()
})

test('the name field for a new agent appears when “Create a new agent” is chosen', async () => {
  const { page, context } = await visit(consentPath())
  const name = page.getByRole('textbox', { name: 'Name' })
  await expect.poll(() => name.isVisible()).toBe(false)
  await page.getByRole('radio', { name: 'Create a new agent' }).check()
  await expect.poll(() => name.isVisible()).toBe(true)
  await context.close()
})

test('neither a double click on Allow nor a second tab creates another connection', async () => {
  const user = await site.addUser({ role: 'ADMIN' })
  const { page, context } = await visit(consentPath(), user)
  const second = await openTab(context, page.url())
  await page.getByRole('radio', { name: 'Create a new agent' }).check()
  await page.getByRole('textbox', { name: 'Name' }).fill(`Twice ${count}`)
  await page.getByRole('button', { name: 'Allow' }).dblclick()
  await page.getByRole('heading', { name: 'Back at the application' }).waitFor()
  await second.page.getByRole('radio', { name: 'Sandbox shopper' }).check()
  await second.page.getByRole('button', { name: 'Allow' }).click()
  await second.page.getByRole('heading', { name: 'Back at the application' }).waitFor()
  const connections = await createConnections(site.world).list(user)
  expect(connections).toMatchObject([{ agentName: `Twice ${count}` }])
  await context.close()
})

test('after Deny, the browser returns to the application', async () => {
  const { page, complaints, context } = await visit(consentPath())
  await page.getByRole('button', { name: 'Deny' }).click()
  await page.getByRole('heading', { name: 'Back at the application' }).waitFor()
  expect(site.decisions).toEqual(['denied'])
  expect(complaints).toEqual([])
  await context.close()
})

test('a page from another origin can neither frame the consent page nor send its form', async () => {
  const { page, context } = await visit(consentPath(), site.owner, { javaScriptEnabled: true })
  const url = page.url()
  const formToken = await page.locator(`form[action="${consentPath()}"] [name=formToken]`).getAttribute('value')
  const foreign = await context.newPage()
  await foreign.goto(application.url)
  await foreign.setContent(`<form method="post" action="${url}"><input name="formToken" value="${formToken}">
    <button name="decision" value="allow">Win</button></form><iframe src="${url}"></iframe>`)
  await expect.poll(() => foreign.frameLocator('iframe').getByRole('button', { name: 'Allow' }).count()).toBe(0)
  const answered = foreign.waitForResponse((response) => response.request().method() === 'POST')
  await foreign.getByRole('button', { name: 'Win' }).click()
  expect((await answered).status()).toBe(403)
  expect(site.decisions).toEqual([])
  await context.close()
})

test('the browser blocks a redirect from the consent form to any address but the application’s', async () => {
  const { page, complaints, context } = await visit(consentPath())
  // Makes the server redirect to an address that the open page's Content-Security-Policy does not allow.
  if (site.consentRequest !== undefined)
    site.consentRequest.client.redirectUri = `http://localhost:${new URL(application.url).port}/`
  await page.getByRole('button', { name: 'Deny' }).click()
  await expect.poll(() => complaints.join()).toContain('form-action')
  expect(page.url()).toBe(listener.url + consentPath())
  await context.close()
})

test('if an application opens the consent page in a popup, the popup keeps its opener after the redirect', async () => {
  const { page, context } = await visit('/styles/parts.css', site.owner, { javaScriptEnabled: true })
  await page.goto(application.url)
  const opened = context.waitForEvent('page')
  await page.evaluate(`window.open(${JSON.stringify(listener.url + consentPath())})`)
  const popup = await opened
  await popup.getByRole('button', { name: 'Deny' }).click()
  await popup.getByRole('heading', { name: 'Back at the application' }).waitFor()
  await expect.poll(() => popup.evaluate('window.opener !== null')).toBe(true)
  await context.close()
})

const long = 'Long'.repeat(40)

describe.skipIf(!isDeep)('appearance', () => {
  async function checkLook(
    name: string,
    path: string,
    user: UserRow | null = site.owner,
    act?: (page: Page) => Promise<void>,
  ) {
    const { page, context } = await visit(path, user)
    await act?.(page)
    // Waits until the style sheets are loaded, even after a redirect.
    await page.waitForLoadState('load')
    for (const width of [320, 360, 1280]) {
      await page.setViewportSize({ width, height: 800 })
      await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await expectContrast(page)
        await shoot(page, `oauth-${name}-${colorScheme}-${width}`)
      }
    }
    await context.close()
  }

  test('the sign-in page has enough contrast and fits the screen', async () => {
    await checkLook('sign-in', '/sign-in', null)
    await checkLook('sign-in-problem', '/sign-in', null, async (page) => {
      await page.getByRole('textbox', { name: 'Email' }).fill('me@example.com')
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByRole('alert').waitFor()
    })
  })

  test('the consent page has enough contrast and fits the screen', async () => {
    await checkLook('consent', consentPath())
    site.consentRequest = createConsentRequest({
      uid: `uid-${count}`,
      client: { id: 'a', name: long, redirectUri: 'com.example.app:/' },
    })
    await checkLook('consent-problem', consentPath(), site.owner, async (page) => {
      await page.getByRole('radio', { name: 'Create a new agent' }).check()
      await page.getByRole('button', { name: 'Allow' }).click()
      await page.getByRole('alert').waitFor()
    })
    const partyId = await partyWithoutAgents()
    await checkLook('consent-new', consentPath(), await site.addUser({ partyId, role: 'OWNER' }))
    await checkLook('consent-user', consentPath(), await site.addUser({ partyId }))
  })

  test('the page that lists connected applications has enough contrast and fits the screen', async () => {
    const user = await site.addUser({ name: long, role: 'ADMIN' })
    await checkLook('connections-none', '/connections', user)
    const consent = createConsent(site.world)
    for (const [index, name] of ['Assistant', long].entries()) {
      const client = { id: `https://${name}.example/a`, name }
      const request = createConsentRequest({ uid: `${user.id} ${index}`, client })
      await consent.allow(user, request, { kind: 'new', name: `${name} ${index}`.slice(0, 100), description: null })
    }
    await checkLook('connections', '/connections?done=narrowed', user)
    await checkLook('connections-problem', '/connections?done=none_kept', user)
  })

  test('the pages for signing in on a device have enough contrast and fit the screen', async () => {
    for (const page of ['enter', 'confirm', 'done', 'failed'])
      await checkLook(`device-${page}`, `/oauth/device?page=${page}`)
  })
})

async function partyWithoutAgents(): Promise<string> {
  const { partyId, agentId } = await addParty(site.world)
  await site.deleteAgent(agentId)
  return partyId
}
