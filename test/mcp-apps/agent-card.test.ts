import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { declines } from '../../tools/card-transactions.ts'
import { proveBooks } from '../ledger/books.ts'
import { startBrowser, type TestBrowser } from '../pages/browser.ts'
import { sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { openHost, type TestHost } from './host.ts'

let browser: TestBrowser
let world: World
let host: TestHost

beforeAll(async () => {
  browser = await startBrowser()
  world = await createWorld(sqlite)
  host = await openHost(browser, world)
})
beforeEach(() => {
  host.calls.length = 0
})
afterEach(() => {
  expect(host.complaints).toEqual([])
  expect(host.strayRequests).toEqual([])
})
afterAll(async () => {
  await host.close()
  await browser.close()
  await proveBooks(world.store)
  await world.drop()
})

const issue = { merchant: { name: 'Books' }, maximumAmount: 5000, currency: 'USD' }
const button = (name: string | RegExp) => host.view.getByRole('button', { name })
const field = () => host.view.getByRole('textbox', { name: 'Amount in USD' })
const news = () => host.view.getByRole('status')
const facts = async () => (await host.view.locator('#facts dd').allTextContents()).slice(0, 3)
const purchases = () => host.view.getByRole('listitem').allTextContents()

test('a view does not change the result of its tool', async () => {
  const result = await host.use('issue_agent_card', issue)
  const { structuredContent, content, ...rest } = result
  expect(content).toEqual([
    { type: 'text', text: expect.stringContaining(`agentCard ${structuredContent?.data.id} · `) },
  ])
  expect(rest).toEqual({ _meta: { 'payments-mcp/idempotencyKey': expect.any(String) } })
})

test('the view of a new card hides the card number, and a click authorizes a purchase', async () => {
  const { structuredContent } = await host.use('issue_agent_card', issue)
  const cardId = structuredContent?.data.id ?? ''
  await host.view.getByRole('heading', { level: 1, name: 'Books' }).waitFor()
  await expect.poll(facts).toEqual(['$50.00', 'Jan 15, 2026, 1:00 PM', 'Jan 15, 2026, 12:00 PM'])
  await field().fill('42.50')
  await button('Authorize $42.50').click()
  await news().getByText('Authorized. $42.50 held.').waitFor()
  await host.view.getByText('Used', { exact: true }).waitFor()
  await expect.poll(() => host.view.getByRole('button').allTextContents()).toEqual(['Refresh'])
  await expect.poll(purchases).toEqual(['$42.50 at BooksJan 15, 2026, 12:00 PMAuthorized. $42.50 held.'])

  const details = (await world.get(`/agent-cards/${cardId}/details`)).json.data.attributes
  const { view } = host
  expect((await view.locator('html').innerHTML()).includes(details.number)).toBe(false)
  expect(host.calls.map(({ name }) => name)).not.toContain('get_agent_card_details')
})

test('the view explains a decline, and a smaller amount can then be authorized', async () => {
  await host.use('issue_agent_card', issue)
  await field().fill('50.01')
  await field().press('Enter')
  await news().getByText(`Declined. ${declines.single_use_amount_over_maximum}`).waitFor()
  await field().fill('50')
  await button('Authorize $50.00').waitFor()
  await field().press('Enter')
  await news().getByText('Authorized. $50.00 held.').waitFor()
  await expect.poll(purchases).toHaveLength(2)
})

test('an authorization without an immediate result creates only one purchase', async () => {
  const merchant = { name: 'Sandbox Unresolved' }
  const { structuredContent } = await host.use('issue_agent_card', { ...issue, merchant })
  await button('Authorize $50.00').click()
  await news().getByText('Authorized. $50.00 held.').waitFor()
  const query = `cardId=${structuredContent?.data.id}`
  expect((await world.get(`/card-transactions?${query}`)).json.data).toHaveLength(1)
})

test('the view of a frozen card offers no purchase until the card is unfrozen', async () => {
  const { structuredContent } = await host.use('issue_agent_card', issue)
  const card = `/agent-cards/${structuredContent?.data.id}`
  await button('Authorize $50.00').waitFor()
  await world.send('POST', `${card}/freeze`)
  await host.page.clock.fastForward(5000)
  await news().getByText('The card is frozen.').waitFor()
  await host.view.getByText('Frozen', { exact: true }).waitFor()
  await expect.poll(() => host.view.getByRole('button').allTextContents()).toEqual(['Refresh'])
  await world.send('POST', `${card}/unfreeze`)
  await host.page.clock.fastForward(15_000)
  await news().getByText('The card is active.').waitFor()
  await button('Authorize $50.00').waitFor()
})

test("the view shows new states of the card's purchase, and that a card has expired", async () => {
  const { structuredContent } = await host.use('issue_agent_card', issue)
  const cardId = structuredContent?.data.id ?? ''
  await host.view.getByText('Updates automatically.').waitFor()
  const { json } = await world.authorize(cardId, 2000)
  await host.page.clock.fastForward(5000)
  await news().getByText('Authorized. $20.00 held.').waitFor()
  await world.post(`/simulations/card-transactions/${json.data.id}/reverse`, {})
  await host.page.clock.fastForward(5000)
  await news().getByText('Released.').waitFor()

  const expiredCardId = await world.issueCard({ expiresInMinutes: 5 })
  await world.post('/simulations/clock/advance', { seconds: 600 })
  await host.use('get_agent_card', { cardId: expiredCardId })
  await host.view.getByText('No further changes.').waitFor()
  await expect.poll(() => host.view.locator('#state').textContent()).toBe('Expired')
  await expect.poll(() => host.view.getByRole('button').allTextContents()).toEqual(['Refresh'])
})

test('a screen reader can read the whole view', async () => {
  const { structuredContent } = await host.use('issue_agent_card', issue)
  await host.view.getByText('Updates automatically.').waitFor()
  const { agentId } = await world.whoami()
  const snapshot = (await host.view.locator('main').ariaSnapshot())
    .replace(structuredContent?.data.id ?? '', '(card)')
    .replace(String(agentId), '(agent)')
  expect(snapshot).toMatchInlineSnapshot(`
    "- main:
      - paragraph: Card for one purchase
      - heading "Books" [level=1]
      - paragraph:
        - strong: Active
      - status
      - region "The card":
        - term: Maximum
        - definition: $50.00
        - term: Expires
        - definition: Jan 15, 2026, 1:10 PM
        - term: Issued
        - definition: Jan 15, 2026, 12:10 PM
        - term: Agent
        - definition: (agent)
        - term: Run
        - definition: run-apps
        - term: Card
        - definition: (card)
      - region "Act as the merchant":
        - heading "Act as the merchant" [level=2]
        - text: Amount in USD
        - textbox "Amount in USD": "50.00"
        - paragraph: The card allows at most $50.00.
        - button "Authorize $50.00"
      - alert
      - paragraph: Updates automatically.
      - button "Refresh""
  `)
})
