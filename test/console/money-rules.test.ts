import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  cardsSection,
  incomingRequestsSection,
  type PaymentAttributes,
  type PurchaseAttributes,
  paymentsSection,
  purchasesSection,
  type TransferAttributes,
  transfersSection,
} from '../../src/service/pages/console/money/lists-view.ts'
import { balancePlot, balanceTable, type Step } from '../../src/service/pages/console/money/plot.ts'
import type { Resource } from '../../src/service/pages/console/money/read-money.ts'
import { subscriptionsSection } from '../../src/service/pages/console/money/subscriptions-view.ts'
import { waitingPart, walletPart, walletsPart } from '../../src/service/pages/console/money/view.ts'
import { toneOf } from '../../src/service/pages/console/money/words.ts'
import { decoded } from '../pages/decoded.ts'
import { ok } from '../payments/payer.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type ConsoleSite, createConsoleSite } from './console-site.ts'

const createdAt = '2026-01-15T12:00:00.000Z'
const cause = { agentId: 'agt_1', instanceId: 'a run', createdAt }
const owners = { partyId: 'pty_1', agents: new Map([['agt_1', 'Shopper']]), payments: new Map() }
const resource = <Attributes>(attributes: Attributes, sender = ''): Resource<Attributes> => ({
  ...{ id: 'row_1', attributes },
  relationships: { sender: { data: { id: sender } } },
})
const list = <Attributes>(...rows: Resource<Attributes>[]) => ({ rows, next: null })
/** Returns the table rows that have an id, each as a list of the texts in its cells. */
const rowsOf = (text: unknown) =>
  [...String(text).matchAll(/<tr id[\s\S]*?<\/tr>/g)].map(([row]) =>
    [...row.matchAll(/<t[hd][^>]*>([\s\S]*?)<\/t[hd]>/g)].map(([, cell = '']) => cell.replace(/<[^>]*>/g, '').trim()),
  )

const steps: Step[] = [
  { atMs: 0, availableCents: 1000, heldCents: 0 },
  { atMs: 50, availableCents: 200, heldCents: 600 },
]

const plotOf = (steps: readonly Step[], nowMs: number, isCut = false) =>
  String(balancePlot({ id: 'wal_1', name: 'Main', steps, isCut }, nowMs))

test('a plot draws the available amount as a solid line, and the total with held money as a dashed line', () => {
  const text = plotOf(steps, 100)
  const path = (name: string) => new RegExp(`path class="${name}" d="([^"]*)"`).exec(text)?.[1]
  expect(path('solid')).toBe('M0 0H500V800H1000')
  expect(path('dashed')).toBe('M0 0H500V200H1000')
  expect(text).toContain('<title id="wal_1-plot">Main over time: $2.00 available and $6.00 held now</title>')
  for (const label of ['>$0<', '>$10<', '>now<']) expect(text).toContain(label)
})

test('the amount axis of a plot does not start at $0 if the amount hardly changes', () => {
  const text = plotOf([{ atMs: 0, availableCents: 1000, heldCents: 100 }], 100)
  expect(text).not.toContain('>$0<')
  expect(text).toMatch(/path class="solid" d="M0 333H1000"/)
})

test('an empty plot says “No transactions yet.”, or “No recent transactions.” if older ones exist', () => {
  expect(plotOf([], 1)).toContain('No transactions yet.')
  expect(plotOf([], 1, true)).toContain('No recent transactions.')
})

test('the table of a plot has the same figures as the plot', () => {
  const text = String(balanceTable(steps)).replaceAll('<tr>', '<tr id>')
  expect(
    rowsOf(text)
      .slice(1)
      .map((row) => row.slice(1)),
  ).toEqual([
    ['$10.00', '$0.00', '$10.00'],
    ['$2.00', '$6.00', '$8.00'],
  ])
})

const wallet = {
  id: 'wal_1',
  displayName: 'Main',
  status: 'active',
  isDefault: 0,
  availableCents: 500,
  heldCents: 300,
} as const
const seen = { ...wallet, steps, isCut: false }

test('a wallet shows its amounts, and whether it is the default or frozen; a note says if there are more wallets', () => {
  const text = String(walletsPart({ wallets: [seen], failed: [], nowMs: 100, hasMore: false }))
  expect(text).toMatch(/Available<\/dt><dd><strong>\$5\.00[\s\S]*Held<\/dt><dd>\$3\.00[\s\S]*Total<\/dt><dd>\$8\.00/)
  for (const words of ['(default)', 'state bad', 'list_wallets']) expect(text).not.toContain(words)
  const frozen = { ...seen, isDefault: 1, status: 'frozen' } as const
  const other = String(walletsPart({ wallets: [frozen], failed: [], nowMs: 100, hasMore: true }))
  for (const words of ['(default)', '<span class="state bad">frozen', 'Showing the newest 1.'])
    expect(other).toContain(words)
})

test("a wallet transaction has a signed amount, and links to its run only if the run is the party's own; a note says if older entries are not shown", () => {
  const entry = { id: 'led_1', reason: 'hold', account: 'available', createdAtMs: 0, sourceId: 'txn_1' }
  const entries = [
    { ...entry, amountCents: -250, instanceId: 'a run', name: 'Books' },
    { ...entry, amountCents: 250, instanceId: undefined, name: null },
  ] as never
  const walletHtml = (more: object) =>
    String(walletPart({ ...seen, entries, next: null, ...more }, { partyId: 'pty_1', nowMs: 100 }))
  const [ours = [], others = []] = rowsOf(walletHtml({}))
  expect([ours[2], others[2]]).toEqual(['-$2.50', '$2.50'])
  expect([ours[4], others[4]]).toEqual(['Books …txn_1', 'txn_1'])
  expect(ours[5]).toContain('View run')
  expect(others[5]).toBe('–')
  expect(walletHtml({})).not.toContain('Older entries')
  expect(walletHtml({ isCut: true })).toContain('Based on the newest 1000 ledger entries. Older entries are not shown.')
  expect(walletHtml({ entries: [] })).toContain('No transactions yet.')
  expect(walletHtml({ entries: [], next: 'led_9' })).toMatch(/No transactions among the newest[\s\S]*\?before=led_9"/)
})

test('a purchase shows held, captured and refunded money, and the reason for a decline', () => {
  const purchase = (change: Partial<PurchaseAttributes>) =>
    resource<PurchaseAttributes>({
      ...{ ...cause, kind: 'purchase', status: 'captured', amount: 900, merchant: { name: 'Books' } },
      ...{ held: 0, captured: 0, refunded: 0, decline: null, ...change },
    })
  const shown = (change: Partial<PurchaseAttributes>) =>
    rowsOf(purchasesSection(list(purchase(change)), owners))[0]?.slice(0, 6)
  expect(shown({ held: 1, captured: 2, refunded: 3 })).toEqual([
    'Books',
    'captured',
    '$9.00',
    '$0.01',
    '$0.02',
    '$0.03',
  ])
  expect(shown({})).toEqual(['Books', 'captured', '$9.00', '–', '–', '–'])
  expect(shown({ kind: 'refund' })?.[0]).toBe('Books (refund)')
  expect(shown({ decline: { code: 'c', detail: 'Too late.' } })?.[1]).toBe('capturedToo late.')
})

test('the list of payments marks each payment “out” or “in”, and only outgoing payments link to a run', () => {
  const payment: PaymentAttributes = { ...cause, amount: 100, status: 'COMPLETED', description: 'Rent' }
  const [outgoing = [], incoming = []] = rowsOf(
    paymentsSection(list(resource(payment, 'pty_1'), resource(payment, 'pty_2')), owners),
  )
  expect([outgoing[3], incoming[3]]).toEqual(['out', 'in'])
  expect(outgoing[5]).toContain('Shopper')
  expect(incoming[5]).toBe('–')
  const unnamed = resource({ ...payment, description: null }, 'pty_1')
  const payments = new Map([[unnamed.id, 'payee@example.com']])
  expect(rowsOf(paymentsSection(list(unnamed), { ...owners, payments }))[0]?.[0]).toBe('payee@example.com')
  expect(rowsOf(paymentsSection(list(unnamed), owners))[0]?.[0]).toBe('Without a description')
})

test('a transfer shows its kind and why it failed or was returned', () => {
  const transfer = (change: Partial<TransferAttributes>) =>
    resource<TransferAttributes>({
      ...{ ...cause, amount: 100, status: 'FAILED', description: null, type: 'deposit', failure: null, return: null },
      ...change,
    })
  const failed = transfer({ failure: { reason: 'No money.' } })
  const returned = transfer({ type: 'withdrawal', return: { reason: 'Closed.' }, failure: { reason: 'No money.' } })
  expect(rowsOf(transfersSection(list(failed, returned), owners)).map((row) => [row[1], row[3]])).toEqual([
    ['failedNo money.', 'deposit'],
    ['failedClosed.', 'withdrawal'],
  ])
})

test('usable cards come first, each with its limit; the empty list “Requested from you” is omitted', () => {
  const card = (name: string, status: string) =>
    resource({ ...cause, status, merchant: { name }, maximumAmount: 4321, expiresAt: createdAt })
  const text = String(cardsSection(list(card('Gone', 'used'), card('Usable', 'active')), owners))
  expect(text.indexOf('Usable')).toBeLessThan(text.indexOf('Gone'))
  expect(text).toContain('up to $43.21')
  expect(String(incomingRequestsSection(list()))).toBe('')
})

test('a subscription shows its interval, next payment, problems and calendar; a note says if there are more subscriptions', () => {
  const terms = { description: 'Gym', every: { unit: 'month', count: 2 } }
  const nextPayment = { paymentNumber: 2, dueDate: '2026-03-01', amount: 2000 }
  const subscription = {
    subscription: resource({ status: 'active', terms, nextPayment, attention: { reason: 'past_due' } }),
  }
  const payment = (paymentNumber: number, dueDate: string | null) =>
    resource({ paymentNumber, dueDate, status: 'scheduled', amount: 2000 })
  const payments = [payment(3, '2026-03-01'), payment(2, null), payment(1, '2026-01-31')]
  const text = String(subscriptionsSection([{ ...subscription, payments }], true))
  for (const words of ['every 2 months; next due $20.00 on 2026-03-01', '>past due<', 'Showing the newest 1.'])
    expect(text).toContain(words)
  const sheets = [...text.matchAll(/class="aside">([^<]*)<\/span><span class="day">([^<]*)</g)]
  expect(sheets.map(([, month, day]) => `${day} ${month}`)).toEqual(['31 Jan 2026', '1 Mar 2026'])
})

test.each([
  ['good', ['active', 'captured', 'COMPLETED', 'paid', 'marked_paid', 'approved']],
  ['open', ['authorized', 'OPEN', 'PENDING', 'pending_claim', 'PROCESSING', 'in_review', 'scheduled', 'frozen']],
  ['bad', ['declined', 'FAILED', 'missed', 'past_due', 'returned', 'denied', 'suspended']],
  ['over', ['used', 'canceled', 'expired', 'inactive']],
])('the tone “%s” applies to the statuses %j', (tone, statuses) => {
  expect(statuses.map(toneOf)).toEqual(statuses.map(() => tone))
})

test('a session that may not approve gets no “yes” button, and is asked to sign in with a password', () => {
  const words = { facts: [], effect: '', isPending: false, expiresAt: '', outcome: [], yes: 'Pay it' } as never
  const shown = (mayAgree: boolean) =>
    String(waitingPart({ approvals: [], decisions: [{ id: 'dec_1', words, token: 't' }], mayAgree }))
  expect(shown(true)).toContain('value="yes"')
  expect(shown(false)).not.toContain('value="yes"')
  expect(shown(false)).toMatch(/Sign in with your password<[\s\S]*value="no"/)
})

onEachDatabase('the money pages', (database) => {
  let site: ConsoleSite
  beforeAll(async () => {
    site = await createConsoleSite(database)
  })
  afterAll(() => site.world.drop())

  test('only the newest of many wallets and subscriptions are shown, and each transaction is listed under its own wallet', async () => {
    const { world } = site
    const owner = await site.visitor()
    const [{ id: sourceWalletId }] = ok(await world.get('/wallets')).json.data
    for (let count = 0; count < 20; count++)
      ok(await world.post('/wallets', { displayName: `Wallet ${count}` }, { key: world.apiKey }))
    const [{ id: destWalletId }] = ok(await world.get('/wallets', { key: world.apiKey })).json.data
    const move = { amount: 7, sourceWalletId, destWalletId }
    for (let count = 0; count < 51; count++) ok(await world.post('/transfers/internal', move, { key: world.apiKey }))
    const terms = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 2000, taxAmount: 0 }
    for (let count = 0; count < 7; count++) ok(await world.post('/subscriptions', terms))
    const { text } = await owner.open('/console/money')
    expect(text).toContain('Showing the newest 20. The tool list_wallets')
    expect(text).toContain('Showing the newest 6. The tool list_subscriptions')
    const moved = [sourceWalletId, destWalletId].filter((id) => text.includes(`id="${id}"`))
    expect(text.match(/No transactions yet\./g)).toHaveLength(20 - moved.length)
    const first = await owner.open(`/console/money/wallets/${destWalletId}`)
    const [, older = ''] = /<a href="([^"]*)">Older transactions/.exec(first.text) ?? []
    const idsOf = (page: string) => page.match(/(?<=<tr id=")[^"]*/g) ?? []
    const all = [...idsOf(first.text), ...idsOf((await owner.open(decoded(older))).text)]
    expect(idsOf(first.text)).toHaveLength(50)
    expect(new Set(all).size).toBe(51)
  })

  test('a canceled payment request stays in the list of payment requests', async () => {
    const { world } = site
    const request = { amount: 3100, payer: { type: 'email', value: 'payer@example.com' }, description: 'Withdrawn' }
    const paymentRequest = await world.post('/payment-requests', request)
    expect(paymentRequest.status).toBe(201)
    expect((await world.send('POST', `/payment-requests/${paymentRequest.json.data.id}/cancel`)).status).toBeLessThan(
      300,
    )
    const { text } = await (await site.visitor()).open('/console/money')
    expect(text).toMatch(/Withdrawn[\s\S]*?canceled/)
  })
})
