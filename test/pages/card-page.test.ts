import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { realSystem, sha256, timestamp } from '../../src/core/system.ts'
import { type Listener, listen } from '../../src/service/listen.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { addDelegation, addParty, addUserToken, type Sent } from '../support/world.ts'
import { arrive, openTab, shoot, startBrowser, type TestBrowser, toContent } from './browser.ts'
import { expectContrast } from './contrast.ts'
import { address } from './oauth-site.ts'
import { createPersonSite, type PersonSite, withoutTokens } from './person-site.ts'

const number = '4242 4242 4242 4242'
const minutes = 60

let site: PersonSite

/** Creates a page that shows the number of the given card, or of a new card. */
async function createPage(attributes: Record<string, unknown> = {}, { card, ...sent }: Sent & { card?: string } = {}) {
  const cardId = card ?? (await site.world.issueCard(attributes, sent))
  const { customerPartyId } = attributes
  const body = customerPartyId === undefined ? {} : { customerPartyId }
  const { status, json, text } = await site.world.post(`/agent-cards/${cardId}/details-page`, body, sent)
  expect(status, text).toBe(200)
  const { url, expiresAt } = json.data.attributes
  expect(json.data).toMatchObject({ type: 'agentCardDetailsPage', id: cardId })
  return { cardId, path: url.slice(address.length) as string, url: url as string, expiresAt }
}

const advance = async (seconds: number) =>
  expect(await site.world.post('/simulations/clock/advance', { seconds })).toMatchObject({ status: 200 })

/** Opens the page and sends its form. The response to the form shows the number. */
async function viewNumber(path: string, user: UserRow = site.owner) {
  const visitor = await site.visitor(user)
  const page = await visitor.open(path)
  return { visitor, page, shown: await visitor.send(path) }
}

onEachDatabase('the card number page', (database) => {
  beforeAll(async () => {
    site = await createPersonSite(database)
  })
  afterAll(() => site.world.drop())

  test('the card number page shows the number once, after the person signs in and asks for it', async () => {
    const { path, cardId, url, expiresAt } = await createPage({ merchant: { name: 'Books & Co' } })
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:4010\/cards\/[\w-]{43}$/)
    expect(expiresAt).toBe(timestamp(site.world.system.now() + 10 * minutes * 1000))
    const visitor = await site.visitor()
    const next = `/sign-in?next=${encodeURIComponent(path)}`
    expect(await visitor.open(path)).toMatchObject({ status: 303, location: next, text: '' })
    await visitor.open(next)
    expect(await visitor.send('/sign-in', await site.signInFields())).toMatchObject({ status: 303, location: path })

    const page = await visitor.open(path)
    expect(page.status).toBe(200)
    for (const words of ['<bdi>Books &amp; Co</bdi>', '$50.00', '<dd>Active</dd>', '<bdi>Sandbox shopper</bdi>']) {
      expect(page.text).toContain(words)
    }
    expect(page.text).toContain('Show the number')
    expect(page.text).not.toMatch(/4242/)

    const cardView = await visitor.send(path)
    expect(cardView).toMatchObject({ status: 200, location: null })
    const { json } = await site.world.get(`/agent-cards/${cardId}/details`)
    const { expirationMonth, expirationYear, cvv } = json.data.attributes
    const month = String(expirationMonth).padStart(2, '0')
    for (const text of [number, `${month} / ${expirationYear}`, cvv]) expect(cardView.text).toContain(`>${text}<`)
    expect(cardView.text).not.toMatch(/<main[\s\S]*<form/)
    for (const { headers, text } of [page, cardView]) {
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self';/,
      )
      expect(text).not.toContain('<script')
    }

    for (const later of [await visitor.open(path), await visitor.post(path, fieldsOf(page.text))]) {
      expect(later.status).toBe(410)
      expect(later.text).toContain('ask your agent for a new link')
      expect(later.text).not.toMatch(/4242|<button type="submit">Show/)
    }
  })

  test('a double click or a second tab does not show the card number again', async () => {
    const { path } = await createPage()
    const visitors = await Promise.all(Array.from({ length: 4 }, () => site.visitor(site.owner)))
    for (const visitor of visitors) await visitor.open(path)
    const answers = await Promise.all(visitors.map((visitor) => visitor.send(path)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410, 410, 410])
    expect(answers.filter(({ text }) => text.includes(number))).toHaveLength(1)
  })

  test('the card number page works for 10 minutes by the sandbox clock, and then suggests a new link', async () => {
    const [early, late] = [await createPage(), await createPage()]
    const visitor = await site.visitor(site.owner)
    const { text } = await visitor.open(late.path)
    await advance(10 * minutes - 1)
    expect((await viewNumber(early.path)).shown.text).toContain(number)
    await advance(1)
    for (const expired of [await visitor.open(late.path), await visitor.post(late.path, fieldsOf(text))]) {
      expect(expired.status).toBe(410)
      expect(expired.text).toContain('This page has expired')
      expect(expired.text).toContain('ask your agent for a new link')
      expect(expired.text).not.toContain('4242')
    }
    // A day later, the page is deleted from the database.
    await advance(24 * 60 * minutes)
    await site.world.service.upkeep.once()
    expect(await visitor.open(late.path)).toMatchObject({ status: 404 })
  })

  test('only users of the card’s party or of its agent’s party can open the page; others get the same 404 as for a missing page', async () => {
    const customer = await addParty(site.world)
    const { partyId, agentId } = await site.world.whoami()
    const grant = { customerPartyId: customer.partyId, agentPartyId: partyId, agentId: String(agentId) }
    await addDelegation(site.world, grant)
    const stranger = await site.addUser({ partyId: (await addParty(site.world)).partyId })
    const customersUser = await site.addUser({ partyId: customer.partyId })
    const ours = await createPage()
    expect((await viewNumber(ours.path, await site.addUser())).shown.text).toContain(number)

    const attributes = { customerPartyId: customer.partyId }
    for (const user of [customersUser, site.owner]) {
      expect((await viewNumber((await createPage(attributes)).path, user)).shown.text).toContain(number)
    }
    const unknown = `/cards/${'x'.repeat(43)}`
    const otherPage = await createPage()
    for (const user of [customersUser, stranger]) {
      const visitor = await site.visitor(user)
      const opened = await visitor.open(otherPage.path)
      expect(opened.status).toBe(404)
      const missing = await visitor.open(unknown)
      expect(missing.status).toBe(404)
      expect(withoutTokens(opened.text, otherPage.path)).toBe(withoutTokens(missing.text, unknown))
      expect(await visitor.open('/cards/short')).toMatchObject({ status: 404 })
    }
    expect((await viewNumber(otherPage.path)).shown.text).toContain(number)
  })

  test('the card number is shown only if the person who opened the page sends the form of that page', async () => {
    const { path } = await createPage()
    const visitor = await site.visitor(site.owner)
    const fields = fieldsOf((await visitor.open(path)).text)
    const other = await site.visitor(await site.addUser())
    const elsewhere = await createPage()
    const answers = [
      await visitor.post(path, fields, { Origin: 'https://evil.example' }),
      await visitor.post(path, fields, { 'Sec-Fetch-Site': 'cross-site' }),
      await visitor.post(path, {}),
      await visitor.post(path, fieldsOf((await visitor.open(elsewhere.path)).text)),
      await other.post(path, fields),
    ]
    for (const { status, text } of answers) {
      expect(status).toBe(403)
      expect(text).not.toContain('4242')
    }
    expect(await (await site.visitor()).post(path, fields)).toMatchObject({ status: 303, text: '' })
    expect((await visitor.post(path, fields)).text).toContain(number)
  })

  test('neither the card number nor the page’s address is logged; the activity lists the new page', async () => {
    const { path, cardId } = await createPage()
    const token = path.slice('/cards/'.length)
    expect((await viewNumber(path)).shown.text).toContain(number)
    expect(site.world.logged.join()).toContain(`"cardId":"${cardId}"`)
    expect(site.world.logged.join()).not.toMatch(/4242 ?4242/)
    expect(site.world.logged.join()).not.toContain(token)
    const rows = await site.world.store.transaction(({ db }) => db.selectFrom('cardPages').selectAll().execute())
    expect(rows.find(({ tokenHash }) => tokenHash === sha256(token))).toMatchObject({ cardId })
    expect(JSON.stringify(rows)).not.toContain(token)
    const { json, text } = await site.world.get(`/activity?resourceId=${cardId}`)
    expect(json.data[0].attributes).toMatchObject({
      operation: 'create_agent_card_details_page',
      resourceIds: [cardId],
    })
    expect(text).not.toContain(token)
  })

  test('agents can create the page for their own cards; API keys and users, for all cards of their party', async () => {
    const cardId = await site.world.issueCard()
    const other = await addParty(site.world)
    const { token } = await addUserToken(site.world, site.owner.partyId)
    const make = (key: string) => site.world.send('POST', `/agent-cards/${cardId}/details-page`, { key })
    expect(await make(other.agentKey)).toMatchObject({ status: 404 })
    expect(await make(other.apiKey)).toMatchObject({ status: 404 })
    for (const key of [site.world.apiKey, token]) expect(await make(key)).toMatchObject({ status: 200 })
  })

  test('the card number page shows the card’s status, and markup in the merchant’s name as plain text', async () => {
    const planted = '<img src=x onerror=alert(1)>\u202e"\'</bdi>'
    const { path, cardId } = await createPage({ merchant: { name: planted } })
    await site.world.authorize(cardId, 100)
    const { page, shown } = await viewNumber(path)
    expect(page.text).toContain('Used for its only purchase')
    for (const { text } of [page, shown]) {
      expect(text).toContain('<bdi>&lt;img src=x onerror=alert(1)&gt;\ufffd&quot;&#39;&lt;/bdi&gt;</bdi>')
      expect(text).not.toMatch(/<img|\u202e/)
    }
    const expiring = await site.world.issueCard({ expiresInMinutes: 5 })
    await advance(5 * minutes)
    const late = await createPage({}, { card: expiring })
    expect((await viewNumber(late.path)).page.text).toContain('Expired')
  })
})

describe.runIf(isDeep)('the card number page at 320 pixels, without JavaScript', () => {
  let browser: TestBrowser
  let listener: Listener
  beforeAll(async () => {
    browser = await startBrowser()
    site = await createPersonSite(sqlite)
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

  test.each(['light', 'dark'] as const)('a person views the number by keyboard in %s mode', async (colorScheme) => {
    const { path } = await createPage({ merchant: { name: 'A bookshop with a name of some length' } })
    const viewport = { width: 320, height: 720 }
    const context = await browser.newContext({ javaScriptEnabled: false, colorScheme, viewport })
    const { page, complaints } = await openTab(context, listener.url + path)
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    const { email, password } = await site.signInFields()
    await toContent(page)
    await press('Tab')
    await page.keyboard.type(email)
    await press('Tab')
    await page.keyboard.type(password)
    await press('Enter')
    await arrive(page, 'Your card’s number')
    expect(await page.locator('main').ariaSnapshot()).toMatchInlineSnapshot(`
      "- main:
        - heading "Your card’s number" [level=1]
        - paragraph: You can view it once, until January 15, 2026 at 12:10 PM UTC. Open the merchant’s payment form first.
        - term: Merchant
        - definition: A bookshop with a name of some length
        - term: Maximum amount
        - definition: $50.00
        - term: Status
        - definition: Active
        - term: Agent
        - definition: Sandbox shopper
        - term: Usable until
        - definition: January 15, 2026 at 1:00 PM UTC
        - button "Show the number""
    `)
    await expectContrast(page)
    await shoot(page, `person-card-before-${colorScheme}`)
    await toContent(page)
    await press('Tab', 'Enter')
    await page.getByText(number).waitFor()
    await page.waitForLoadState()
    expect(page.url()).toBe(listener.url + path)
    expect(await page.locator('main').ariaSnapshot()).toMatchInlineSnapshot(`
      "- main:
        - heading "Your card’s number" [level=1]
        - status: "Shown once: the number disappears when you reload or leave this page."
        - term: Card number
        - definition: 4242 4242 4242 4242
        - term: Expires (month / year)
        - definition: 01 / 2026
        - term: Security code
        - definition: "123"
        - paragraph: Enter these details into the payment form of A bookshop with a name of some length yourself. Don’t share them with anyone else, and don’t write them in a conversation with an agent.
        - region "The card":
          - heading "The card" [level=2]
          - term: Merchant
          - definition: A bookshop with a name of some length
          - term: Maximum amount
          - definition: $50.00
          - term: Status
          - definition: Active
          - term: Agent
          - definition: Sandbox shopper
          - term: Usable until
          - definition: January 15, 2026 at 1:00 PM UTC"
    `)
    await expectContrast(page)
    await expect.poll(() => page.evaluate('document.documentElement.scrollWidth <= 320')).toBe(true)
    await shoot(page, `person-card-shown-${colorScheme}`)
    await page.goto(listener.url + path)
    await expect.poll(() => page.getByRole('status').textContent()).toContain('shows the number only once')
    await expect.poll(() => page.content()).not.toContain('4242')
    await shoot(page, `person-card-after-${colorScheme}`)
    expect(complaints.filter((text) => !text.includes('410'))).toEqual([])
    await context.close()
  })
})

function fieldsOf(page: string): Record<string, string> {
  const hidden = [...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)]
  return Object.fromEntries(hidden.map(([, name, value]) => [String(name), String(value)]))
}
