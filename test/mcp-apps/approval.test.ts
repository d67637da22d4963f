import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { proveBooks } from '../ledger/books.ts'
import { startBrowser, type TestBrowser } from '../pages/browser.ts'
import { created, type Payer, payer } from '../payments/payer.ts'
import { sqlite } from '../support/databases.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { openHost, type Question, type TestHost } from './host.ts'

let browser: TestBrowser
let world: World
let self: Payer
let other: OtherParty
/** A host that is connected with the party's API key, not the agent's key. */
let host: TestHost

beforeAll(async () => {
  browser = await startBrowser()
  world = await createWorld(sqlite)
  self = payer(world)
  other = await addParty(world)
  await self.setLimits('agents', (await world.whoami()).agentId ?? '', { perTransaction: 1000, perDay: 1500 })
  host = await openHost(browser, world, { key: world.apiKey })
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

/** Makes the agent request a payment of $20.00 that needs approval, and shows the approval in the host. */
async function openReview(testHost: TestHost = host) {
  const paymentId = created(
    await self.pay(2000, { type: 'party_id', value: other.partyId }, { description: '<b>Desk</b>' }),
  )
  const { id } = await self.approvalOf(paymentId)
  await testHost.use('get_approval', { approvalId: id })
  await testHost.view.getByRole('button', { name: 'Approve $20.00' }).waitFor()
  return { paymentId, id }
}

const button = (name: string | RegExp) => host.view.getByRole('button', { name })
const statusMessage = () => host.view.getByRole('status')

test('an approval shows the amount, the payee, the requester and the reason', async () => {
  const { paymentId, id } = await openReview()
  await host.view.getByText(other.partyId).waitFor()
  const snapshot = (await host.view.locator('main').ariaSnapshot())
    .replace(paymentId, '(payment)')
    .replace(id, '(approval)')
    .replace(other.partyId, '(payee)')
  expect(snapshot).toMatchInlineSnapshot(`
    "- main:
      - paragraph: Payment in review
      - heading "Payment of $20.00" [level=1]
      - paragraph:
        - strong: Pending
      - status
      - region "The payment":
        - term: To
        - definition: (payee)
        - term: For
        - definition: <b>Desk</b>
        - term: Requested by
        - definition: The agent Sandbox shopper of Sandbox Organization
        - term: Requested
        - definition: Jan 15, 2026, 12:00 PM
        - term: Payment
        - definition: (payment)
        - term: Approval
        - definition: (approval)
      - region "Why it needs approval":
        - heading "Why it needs approval" [level=2]
        - list:
          - listitem: The limit for one payment is $10.00; the amount that counts against it is $20.00.
          - listitem: The limit for a day is $15.00; the amount that counts against it is $20.00.
      - region "Decide":
        - heading "Decide" [level=2]
        - text: Reason for denying (optional)
        - textbox "Reason for denying (optional)"
        - button "Approve $20.00"
        - button "Deny"
      - alert
      - paragraph: Updates automatically.
      - button "Refresh""
  `)
})

test('a double click on Approve approves the payment only once', async () => {
  const { paymentId, id } = await openReview()
  await button('Approve $20.00').dblclick()
  await statusMessage().getByText('Approved.').waitFor()
  expect(await self.status(paymentId)).toBe('COMPLETED')
  await host.view.getByText('No further changes.').waitFor()
  await expect.poll(() => host.view.getByRole('button').allTextContents()).toEqual(['Refresh'])
  const decisions = host.calls.filter(({ name }) => name === 'approve_approval')
  expect(decisions.map((call) => call.arguments)).toEqual([
    { approvalId: id, idempotencyKey: expect.stringMatching(/^view_[0-9a-f]{32}$/) },
  ])
})

test('a payment can be denied with the keyboard alone, with a reason', async () => {
  const { paymentId } = await openReview()
  const { keyboard } = host.page
  await keyboard.press('Tab')
  await host.view.locator('#reason:focus').waitFor()
  await keyboard.type('Not this year')
  for (const key of ['Tab', 'Tab', 'Enter']) await keyboard.press(key)
  await statusMessage().getByText('Denied.').waitFor()
  await host.view.getByText('Not this year').waitFor()
  expect(await self.status(paymentId)).toBe('APPROVAL_DENIED')
  await expect.poll(() => host.view.locator(':focus').evaluate((element) => element.id)).toBe('title')
})

test('a decision made elsewhere appears in the view, and the view cannot override it', async () => {
  const { id } = await openReview()
  await self.deny(id, { reason: 'Too late' }, { key: world.apiKey })
  await button('Approve $20.00').click()
  await host.view
    .getByRole('alert')
    .getByText('The state has changed in the meantime. You now see the current state.')
    .waitFor()
  await host.view.getByText('Too late').waitFor()

  const next = await openReview()
  await self.deny(next.id, undefined, { key: world.apiKey })
  await host.page.clock.fastForward(5000)
  await statusMessage().getByText('Denied.').waitFor()
})

test("in a host with the agent's key, the view shows why the agent cannot approve its own payment", async () => {
  const agentHost = await openHost(browser, world)
  const { paymentId } = await openReview(agentHost)
  await agentHost.view.getByRole('button', { name: 'Approve $20.00' }).click()
  await agentHost.view.getByRole('alert').getByText("An agent cannot approve an agent's request.").waitFor()
  expect(await self.status(paymentId)).toBe('IN_REVIEW')
  await agentHost.close()
})

test('if the server asks the person to confirm, the payment is approved only after the person agrees', async () => {
  const questions: string[] = []
  let confirm = false
  const answer = ({ message }: Question) => {
    questions.push(message)
    world.system.pass(1_000)
    return confirm ? { action: 'accept' as const, content: { confirm } } : { action: 'decline' as const }
  }
  const askingHost = await openHost(browser, world, { key: world.apiKey, answer })
  const { paymentId } = await openReview(askingHost)
  const approve = askingHost.view.getByRole('button', { name: 'Approve $20.00' })
  await approve.click()
  const alert = () => askingHost.view.getByRole('alert').textContent()
  await expect.poll(alert).toBe('The person did not agree. Nothing was done.')
  expect(await self.status(paymentId)).toBe('IN_REVIEW')

  confirm = true
  await approve.click()
  await askingHost.view.getByRole('status').getByText('Approved.').waitFor()
  expect(await self.status(paymentId)).toBe('COMPLETED')
  expect(questions).toEqual(Array(2).fill(expect.stringContaining(`Approve a payment of $20.00`)))
  await askingHost.close()
})
