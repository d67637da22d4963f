import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { declines } from '../../tools/card-transactions.ts'
import { proveBooks } from '../ledger/books.ts'
import { startBrowser, type TestBrowser } from '../pages/browser.ts'
import { sqlite } from '../support/databases.ts'
import { keepEach } from '../support/keep-each.ts'
import { createWorld, type World } from '../support/world.ts'
import { openHost, type TestHost } from './host.ts'

let browser: TestBrowser
let world: World
let host: TestHost
/** Sends requests from the MCP server to the service. Tests replace this function to make requests fail. */
let fetch: World['service']['fetch']

beforeAll(async () => {
  browser = await startBrowser()
  world = await createWorld(sqlite)
  host = await openHost(browser, world, { fetch: async (request) => fetch(request) })
})
beforeEach(() => {
  fetch = world.service.fetch
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

/** Authorizes a purchase of $42.50, and shows it in the host. */
async function authorizePurchase({ merchant = 'Books', ...use }: { merchant?: string; capabilities?: object } = {}) {
  const cardId = await world.issueCard({ merchant: { name: merchant } })
  const input = { cardId, amount: 4250, currency: 'USD', merchant: { name: merchant } }
  const { structuredContent } = await host.use('simulate_card_authorization', input, use)
  const id = structuredContent?.data.id ?? ''
  await heading(merchant).waitFor()
  return { id, cardId }
}

const heading = (merchant = 'Books') => host.view.getByRole('heading', { level: 1, name: `$42.50 at ${merchant}` })
const button = (name: string | RegExp) => host.view.getByRole('button', { name })
/** Clicks a button. Then advances the page's clock past the time in which the view ignores further clicks. */
async function press(name: string) {
  await button(name).click()
  await host.page.clock.fastForward(500)
}
const field = (name: string | RegExp) => host.view.getByRole('textbox', { name })
const statusMessage = () => host.view.getByRole('status')
const alert = () => host.view.getByRole('alert')
const events = () => host.view.getByRole('listitem').locator('strong').allTextContents()
const simulationsFromView = () => host.calls.filter(({ name }) => name.startsWith('simulate_')).slice(1)
const read = async (id: string) => (await world.get(`/card-transactions/${id}`)).json.data.attributes
const simulate = (id: string, action: string, attributes = {}) =>
  world.post(`/simulations/card-transactions/${id}/${action}`, attributes)

const amounts = async () => {
  const [held, captured, refunded] = await host.view.locator('#amounts dd').allTextContents()
  return { held, captured, refunded }
}

/** Advances the page's clock far enough for several polls. */
async function letTimePass() {
  for (let count = 0; count < 5; count++) await host.page.clock.fastForward(10_000)
}

describe('the view of a purchase', () => {
  test('a purchase is captured in part and refunded in two parts by clicking', async () => {
    const { id } = await authorizePurchase()
    await expect.poll(amounts).toEqual({ held: '$42.50', captured: '$0.00', refunded: '$0.00' })

    await field('Amount to capture in USD').fill('30')
    await press('Capture part: $30.00')
    await statusMessage().getByText('Partly captured: held $0.00, captured $30.00, refunded $0.00.').waitFor()
    expect(await read(id)).toMatchObject({ status: 'partially_captured', captured: 3000 })
    await expect.poll(events).toEqual(['Card issued', 'Authorized: $42.50', 'Captured: $30.00'])
    await host.view.getByText('The rest of the hold, $12.50, was released.').waitFor()

    await button('Refund $30.00').waitFor()
    await field('Amount to refund in USD').fill('10.5')
    await press('Refund $10.50')
    await statusMessage().getByText('Partly refunded').waitFor()
    world.system.pass(1_000)
    await press('Refund $19.50')
    await statusMessage().getByText('Refunded: held $0.00, captured $30.00, refunded $30.00.').waitFor()
    await expect.poll(amounts).toEqual({ held: '$0.00', captured: '$30.00', refunded: '$30.00' })
    await expect.poll(async () => (await events()).slice(3)).toEqual(['Refunded: $10.50', 'Refunded: $19.50'])
    expect(await read(id)).toMatchObject({ refunded: 3000 })
    await host.view.getByText('No further changes.').waitFor()
    await expect.poll(() => host.view.getByRole('button').allTextContents()).toEqual(['Refresh'])
  })

  test('the timeline shows earlier events, with fewer details if the host forwards no calls', async () => {
    const { id } = await authorizePurchase()
    for (const [action, amount] of [
      ['capture', 3000],
      ['refund', 1050],
      ['refund', 50],
    ] as const) {
      // Events of the same millisecond would have no defined order.
      world.system.pass(1_000)
      await simulate(id, action, { amount, currency: 'USD' })
    }
    await host.use('get_card_transaction', { cardTransactionId: id })
    const before = ['Card issued', 'Authorized: $42.50', 'Captured: $30.00']
    await expect.poll(events).toEqual([...before, 'Refunded: $10.50', 'Refunded: $0.50'])
    await host.use('get_card_transaction', { cardTransactionId: id }, { capabilities: {} })
    await expect.poll(events).toEqual([...before.slice(1), 'Refunded: $11.00'])
  })

  test.each([
    ['Reverse', 'The merchant reversed the purchase.'],
    ['Expire', 'The authorization expired without a capture.'],
  ])('the button %s releases the hold', async (name, detail) => {
    const { id } = await authorizePurchase()
    await press(name)
    await host.view.getByText(detail).waitFor()
    expect(await read(id)).toMatchObject({ status: 'reversed', held: 0 })
    await expect.poll(events).toEqual(['Card issued', 'Authorized: $42.50', 'Hold released'])
    await host.view.getByText('No further changes.').waitFor()
  })

  test('a purchase is captured and refunded with the keyboard alone, and the focus is never lost', async () => {
    const { id } = await authorizePurchase()
    const { keyboard } = host.page
    const focused = () => host.view.locator(':focus').evaluate((element) => element.id)
    await button('Capture $42.50').waitFor()
    await keyboard.press('Tab')
    await expect.poll(focused).toBe('amount')
    await keyboard.press('ControlOrMeta+a')
    await keyboard.type('40')
    await keyboard.press('Tab')
    await expect.poll(focused).toBe('capture')
    await keyboard.press('Space')
    await button('Refund $40.00').waitFor()
    await expect.poll(focused).toBe('title')
    await keyboard.press('Tab')
    await expect.poll(focused).toBe('amount')
    await keyboard.press('Enter')
    await statusMessage().getByText('Refunded').waitFor()
    await expect.poll(focused).toBe('title')
    expect(await read(id)).toMatchObject({ captured: 4000, refunded: 4000 })
  })

  test('a screen reader can read the whole view', async () => {
    const { id, cardId } = await authorizePurchase()
    await button('Capture $42.50').waitFor()
    const { agentId } = await world.whoami()
    const snapshot = (await host.view.locator('main').ariaSnapshot())
      .replace(id, '(purchase)')
      .replace(cardId, '(card)')
      .replace(String(agentId), '(agent)')
    expect(snapshot).toMatchInlineSnapshot(`
      "- main:
        - paragraph: Card purchase
        - heading "$42.50 at Books" [level=1]
        - paragraph:
          - strong: Authorized
        - status
        - term: Held
        - definition: $42.50
        - term: Captured
        - definition: $0.00
        - term: Refunded
        - definition: $0.00
        - region "Timeline":
          - heading "Timeline" [level=2]
          - list:
            - listitem:
              - strong: Card issued
              - time: Jan 15, 2026, 12:00 PM
              - text: It allows one purchase at Books of at most $50.00.
            - listitem:
              - strong: "Authorized: $42.50"
              - time: Jan 15, 2026, 12:00 PM
              - text: "The amount was put on hold. Agent’s run: run-apps"
            - listitem:
              - strong: The hold expires
              - time: Jan 22, 2026, 12:00 PM
              - text: It expires then unless the purchase is captured or reversed first.
        - region "Act as the merchant":
          - heading "Act as the merchant" [level=2]
          - text: Amount to capture in USD
          - textbox "Amount to capture in USD": "42.50"
          - paragraph: Up to $42.50. A smaller amount captures part of the hold and releases the rest.
          - button "Capture $42.50"
          - button "Reverse"
          - button "Expire"
        - alert
        - region "Details":
          - heading "Details" [level=2]
          - term: Agent
          - definition: (agent)
          - term: Run
          - definition: run-apps
          - term: Purchase
          - definition: (purchase)
          - term: Card
          - definition: (card)
        - paragraph: Updates automatically.
        - button "Refresh""
    `)
  })

  keepEach(3)
})

describe('the view of a declined purchase', () => {
  test.each([
    [declines.single_use_amount_over_maximum, { maximumAmount: 4000, amount: 4250 }],
    [declines.insufficient_funds, { maximumAmount: 900_000, amount: 900_000 }],
  ])('the view offers no actions, does not poll, and gives the reason: %s', async (reason, { amount, ...card }) => {
    const cardId = await world.issueCard(card)
    const input = { cardId, amount, currency: 'USD', merchant: { name: 'Books' } }
    await host.use('simulate_card_authorization', input)
    await host.view.getByText(reason).waitFor()
    await host.view.getByText('No further changes.').waitFor()
    await expect.poll(() => host.view.getByRole('button').allTextContents()).toEqual(['Refresh'])
    const before = host.calls.length
    await letTimePass()
    expect(host.calls).toHaveLength(before)
  })

  keepEach(3)
})

describe('failures in the view of a purchase', () => {
  test('an invalid amount marks the field as invalid and shows a message, and no call is sent', async () => {
    await authorizePurchase()
    for (const typed of ['42.51', '0', '1,5', 'all', '']) {
      await field('Amount to capture in USD').fill(typed)
      await press('Capture')
      await alert().getByText('Enter an amount from $0.01 to $42.50, such as 42.50.').waitFor()
      await expect.poll(() => field('Amount to capture in USD').getAttribute('aria-invalid')).toBe('true')
    }
    expect(simulationsFromView()).toEqual([])
  })

  test('a double click on Capture captures only once', async () => {
    await authorizePurchase()
    await button('Capture $42.50').dblclick()
    await statusMessage().getByText('Captured').waitFor()
    expect(simulationsFromView()).toHaveLength(1)
  })

  test('if the purchase was changed elsewhere, the view says so and shows the current state', async () => {
    const { id } = await authorizePurchase()
    await button('Reverse').waitFor()
    await simulate(id, 'capture', { amount: 4250, currency: 'USD' })
    await press('Reverse')
    await alert().getByText('The state has changed in the meantime. You now see the current state.').waitFor()
    await button('Refund $42.50').waitFor()
    await expect.poll(async () => (await events()).at(-1)).toBe('Captured: $42.50')
  })

  test('a reversal that fails because the authorization has just expired is not announced as a success', async () => {
    const { id } = await authorizePurchase()
    await button('Reverse').waitFor()
    await simulate(id, 'expire')
    await press('Reverse')
    await host.view.getByText('The merchant reversed the purchase, or its authorization expired.').waitFor()
    await alert().getByText('The state has changed in the meantime').waitFor()
  })

  test('a retry after a failed call reuses its idempotency key; the next call gets a new key', async () => {
    let failures = 0
    const { id } = await authorizePurchase()
    fetch = async (request) => {
      if (failures-- > 0 && request.url.includes('/refund')) throw new TypeError('fetch failed')
      return world.service.fetch(request)
    }
    await press('Capture $42.50')
    await field('Amount to refund in USD').fill('10')
    failures = 100
    await press('Refund $10.00')
    await alert().getByText('Press the button again. Nothing will happen twice.').waitFor()
    failures = 0
    await press('Refund $10.00')
    await statusMessage().getByText('refunded $10.00').waitFor()
    await expect.poll(() => alert().textContent()).toBe('')
    await field('Amount to refund in USD').fill('10')
    await press('Refund $10.00')
    await statusMessage().getByText('refunded $20.00').waitFor()
    expect(await read(id)).toMatchObject({ refunded: 2000 })
    const [, first, repeated, next] = simulationsFromView().map((call) => call.arguments.idempotencyKey)
    expect(repeated).toBe(first)
    expect(next).not.toBe(first)
  })

  test('if an answer is lost but the change was made, the view shows no error', async () => {
    await authorizePurchase()
    fetch = async (request) => {
      const response = await world.service.fetch(request)
      if (request.url.includes('/capture')) throw new TypeError('fetch failed')
      return response
    }
    await press('Capture $42.50')
    await statusMessage().getByText('Captured').waitFor()
    await button('Refund $42.50').waitFor()
    await expect.poll(() => alert().textContent()).toBe('')
  })

  test('an error result and a canceled call are announced', async () => {
    await host.use('get_card_transaction', { cardTransactionId: 'cit_none' })
    await alert().getByText('There is no card transaction cit_none. It may belong to another account.').waitFor()
    await host.view.getByRole('heading', { name: 'Nothing to show' }).waitFor()
    await host.callHost('sendCancel', 'the person changed their mind')
    await alert().getByText('The call was canceled: the person changed their mind.').waitFor()
  })

  keepEach(3)
})

describe('updates of an open view', () => {
  test('the view follows changes made elsewhere, but does not poll while it is scrolled off the screen', async () => {
    const { id } = await authorizePurchase()
    await host.view.getByText('Updates automatically.').waitFor()
    await simulate(id, 'capture', { amount: 4250, currency: 'USD' })
    await host.page.clock.fastForward(3000)
    await statusMessage().getByText('Captured: held $0.00, captured $42.50').waitFor()

    const move = (top: string) => host.page.evaluate(`document.querySelector('iframe').style.marginTop = '${top}'`)
    const countCalls = async () => {
      const before = host.calls.length
      await letTimePass()
      return host.calls.length - before
    }
    await move('5000px')
    // The first count may include a poll that was already in progress, so two counts in a row must be zero.
    await expect.poll(async () => (await countCalls()) + (await countCalls())).toBe(0)
    await simulate(id, 'refund', { amount: 250, currency: 'USD' })
    expect(await countCalls()).toBe(0)
    await move('0')
    await expect.poll(countCalls).toBeGreaterThan(0)
    await host.view.getByText('Refunded: $2.50').waitFor()
  })

  test('the view shows new results from the host immediately, and stops polling when it is closed', async () => {
    const { id } = await authorizePurchase()
    await host.callHost('callToolForView', 'simulate_card_capture', {
      cardTransactionId: id,
      amount: 4250,
      currency: 'USD',
    })
    await statusMessage().getByText('Captured').waitFor()
    await host.callHost('callToolForView', 'simulate_card_refund', {
      cardTransactionId: id,
      amount: 100,
      currency: 'USD',
    })
    await host.view.getByText('Refunded: $1.00').waitFor()
    await heading().waitFor()
    await host.callHost('endView')
    const before = host.calls.length
    await letTimePass()
    expect(host.calls).toHaveLength(before)
  })

  keepEach(3)
})

describe('variants of the purchase view', () => {
  test('in a host that forwards no calls, the view shows the amounts but no buttons', async () => {
    await authorizePurchase({ capabilities: {} })
    await expect.poll(amounts).toEqual({ held: '$42.50', captured: '$0.00', refunded: '$0.00' })
    await expect.poll(() => host.view.getByRole('button').count()).toBe(0)
  })

  test('if the host passes on only the text of a result, the view shows that text', async () => {
    await authorizePurchase({ capabilities: {} })
    const text = 'cardTransaction cit_1 · status reversed · amount $42.50'
    await host.callHost('sendResult', { content: [{ type: 'text', text }] })
    await host.view.getByText(text).waitFor()
  })

  test('in production, the view offers no simulations', async () => {
    const { id } = await authorizePurchase()
    const live = await openHost(browser, world, { environment: 'production' })
    await live.use('get_card_transaction', { cardTransactionId: id })
    await live.view.getByText('Updates automatically.').waitFor()
    await expect.poll(() => live.view.getByRole('button').allTextContents()).toEqual(['Refresh'])
    await live.close()
  })

  test('all calls about a customer’s purchase contain the customer’s party id', async () => {
    const customerPartyId = await world.customerPartyId()
    const cardId = await world.issueCard({ customerPartyId })
    const input = { cardId, amount: 4250, currency: 'USD', merchant: { name: 'Books' }, customerPartyId }
    const { structuredContent } = await host.use('simulate_card_authorization', input)
    await press('Capture $42.50')
    await statusMessage().getByText('Captured').waitFor()
    // The view of the previous test may still have been polling. Its calls are left out.
    const ownIds = [cardId, structuredContent?.data.id]
    const calls = host.calls.filter(({ arguments: args }) =>
      ownIds.includes(String(args.cardTransactionId ?? args.cardId)),
    )
    expect(calls.map(({ name }) => name)).toEqual(expect.arrayContaining(['get_card_transaction', 'get_agent_card']))
    expect(calls.map(({ arguments: args }) => args.customerPartyId)).toEqual(calls.map(() => customerPartyId))
  })

  test('markup in the merchant’s name is shown as text', async () => {
    const merchant = '<img src=x onerror=alert(1)></script><script>alert(2)</script>&lt;'
    await authorizePurchase({ merchant })
    await expect.poll(() => heading(merchant).locator('*').count()).toBe(0)
    await host.view.getByText(`It allows one purchase at ${merchant}`).waitFor()
    await expect.poll(() => host.view.locator('img, script').count()).toBe(1)
  })

  keepEach(3)
})
