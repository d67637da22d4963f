import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { balancePlot, stepsOf, type WalletEntry } from '../../src/service/pages/console/money/plot.ts'
import { decoded } from '../pages/decoded.ts'
import type { Visitor } from '../pages/oauth-site.ts'
import { ok, payer } from '../payments/payer.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty } from '../support/world.ts'
import { type ConsoleSite, createConsoleSite } from './console-site.ts'

onEachDatabase('the money pages of the console', (database) => {
  let site: ConsoleSite
  let owner: Visitor
  beforeAll(async () => {
    site = await createConsoleSite(database)
    owner = await site.visitor()
  })
  afterAll(() => site.world.drop())

  const textAt = async (path: string) => {
    const { status, text } = await owner.open(path)
    expect(status, text).toBe(200)
    return text
  }
  const purchase = async (merchant: string, amount: number) => {
    const card = await site.world.issueCard({ merchant: { name: merchant }, maximumAmount: amount })
    return ok(await site.world.authorize(card, amount, { instanceId: 'shopping' })).json.data.id as string
  }

  test('wallets show their transactions, and the same available and held amounts as the API', async () => {
    const id = await purchase('Blue Bottle', 1234)
    await purchase('Held Books', 400)
    ok(await site.world.post(`/simulations/card-transactions/${id}/capture`, { amount: 1000, currency: 'USD' }))
    const [wallet] = ok(await site.world.get('/wallets')).json.data
    expect(wallet.attributes.balance).toMatchObject({ available: 250_000 - 1000 - 400, total: 250_000 - 1000 })
    const text = await textAt('/console/money')
    expect(text).toMatch(/Available<\/dt><dd><strong>\$2,486\.00</)
    expect(text).toMatch(/Held<\/dt><dd>\$4\.00</)
    expect(text).toContain('>Main wallet over time: $2,486.00 available and $4.00 held now</title>')
    const opened = await textAt(`/console/money/wallets/${wallet.id}`)
    for (const words of ['Captured', 'Hold placed', 'Funded', id, '-$12.34', '$2,500.00'])
      expect(opened).toContain(words)
    expect(opened).toContain(`href="${site.runPath('shopping')}"`)
  })

  test('a due effect that failed is shown until it succeeds', async () => {
    const { store, system } = site.world
    const id = await purchase('Ill', 100)
    const move = (walletId: string) =>
      store.transaction(({ db }) => db.updateTable('cardTransactions').set({ walletId }).where('id', '=', id).execute())
    const { walletId } = await store.read(({ db }) =>
      db.selectFrom('cardTransactions').select('walletId').where('id', '=', id).executeTakeFirstOrThrow(),
    )
    await move('wal_gone')
    system.pass(8 * 86_400_000)
    owner = await site.visitor()
    ok(await site.world.get('/wallets'))
    const text = await textAt('/console/money')
    expect(text).toContain(`Purchase hold expires: <a href="/console/records/${id}"><code>${id}</code></a>`)
    expect(text).toContain('failed once, next attempt')
    await move(walletId)
    system.pass(120_000)
    ok(await site.world.get('/wallets'))
    expect(await textAt('/console/money')).not.toContain('id="failed"')
  })

  test('cards and purchases show their status and a link to their run, but no card number or security code', async () => {
    const card = await site.world.issueCard({ merchant: { name: 'Once' }, maximumAmount: 100 })
    ok(await site.world.authorize(card, 100, { instanceId: 'twice' }))
    ok(await site.world.authorize(card, 100, { instanceId: 'twice' }))
    const { number, cvv } = ok(await site.world.get(`/agent-cards/${card}/details`)).json.data.attributes
    const text = await textAt('/console/money')
    expect(text).toContain('•••• •••• •••• ••••')
    expect(text).toMatch(/class="card used[^"]*" id="pcd_\w+"><p><strong><a [^>]*><bdi>Once</)
    expect(text).toContain('The card already made its one purchase.')
    expect(text).toContain(`href="${site.runPath('twice')}"`)
    for (const secret of [number, number.replace(/(\d{4})(?=\d)/g, '$1 '), `"${cvv}"`])
      expect(text).not.toContain(secret)
  })

  test('a payment that needs approval is shown, with a form for the decision, until it is decided', async () => {
    const { setLimits, approvalOf } = payer(site.world)
    const { agentId } = await site.world.whoami()
    await setLimits('agents', String(agentId), { perTransaction: 100 })
    const counterparty = { type: 'email', value: 'payee@example.com' }
    const { id } = ok(await site.world.post('/payments', { amount: 5000, counterparty, description: '\u202eRent <b>' }))
      .json.data
    await setLimits('agents', String(agentId), null)
    const approval = await approvalOf(id)
    const text = await textAt('/console/money')
    expect(text).toContain('Pending decisions')
    expect(text).toContain(`action="/approvals/${approval.id}/review"`)
    expect(text).not.toContain('Rent <b>')
    expect(text).not.toContain('\u202e')
    const denied = await owner.send(`/approvals/${approval.id}/review`, { decision: 'deny', reason: '' })
    expect(denied.status).toBe(303)
    expect(await textAt('/console/money')).not.toContain('Pending decisions')
    expect(ok(await site.world.get(`/payments/${id}`)).json.data.attributes.status).not.toBe('COMPLETED')
  })

  test('a subscription has a calendar of its paid and scheduled payments', async () => {
    const terms = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 2000, taxAmount: 150 }
    const { id } = (await site.world.post('/subscriptions', terms)).json.data
    ok(await site.world.post(`/simulations/subscriptions/${id}/checkout`, { card: 'approves' }))
    const text = await textAt('/console/money')
    expect(text).toMatch(/<h3><a [^>]*><bdi>Gym<\/bdi><\/a><\/h3>/)
    expect(text).toMatch(/class="sheet box good">[\s\S]*?Jan 2026[\s\S]*?\$20\.00[\s\S]*?paid/)
    expect(text).toMatch(/class="sheet box open">[\s\S]*?Feb 2026[\s\S]*?scheduled/)
  })

  test('the list of cards continues on a second page, and starts over if the cursor is invalid', async () => {
    for (let count = 0; count < 21; count++) await site.world.issueCard({ merchant: { name: `Shop ${count}` } })
    const first = await textAt('/console/money')
    const [, older = ''] = /<a href="([^"#]*)#cards">Older cards/.exec(first) ?? []
    const idsIn = (text: string) => [...text.matchAll(/class="card [^"]*" id="(pcd_\w+)"/g)].map(([, id]) => id)
    const shown = [...idsIn(first), ...idsIn(await textAt(decoded(older)))]
    expect(idsIn(first)).toHaveLength(20)
    const all = ok(await site.world.get('/agent-cards?limit=100')).json.data.map(({ id }: { id: string }) => id)
    expect(shown.toSorted()).toEqual(all.toSorted())
    expect(idsIn(await textAt('/console/money?list=cards&cursor=made-up'))).toHaveLength(20)
  })

  test("a customer's page has no link to the run in which another party's agent issued the customer's card", async () => {
    const customerPartyId = await site.world.customerPartyId()
    const cardId = await site.world.issueCard({ merchant: { name: 'For a customer' }, customerPartyId })
    const bought = { amount: 100, currency: 'USD', merchant: { name: 'For a customer' }, customerPartyId }
    const purchase = ok(await site.world.post(`/simulations/agent-cards/${cardId}/authorize`, bought)).json.data
    const customer = await site.visitor(await site.addUser({ partyId: customerPartyId }))
    const { text } = await customer.open('/console/money')
    expect(text).toContain('For a customer')
    expect(text).toContain('another party’s agent')
    expect(text).not.toContain('/console/runs/')
    expect(text).not.toContain(await agentName())
    const [wallet = ''] = /\/console\/money\/wallets\/wal_[0-9a-f]+/.exec(text) ?? []
    const movements = (await customer.open(wallet)).text
    expect(movements).toContain(purchase.id)
    expect(movements).not.toContain('/console/runs/')
  })

  const agentName = async () =>
    (await site.world.get('/agents', { key: site.world.apiKey })).json.data[0].attributes.name as string
  const createSavingsWallet = async () =>
    ok(await site.world.post('/wallets', { displayName: 'Savings' }, { key: site.world.apiKey })).json.data.id as string

  test('each card, purchase, transfer and payment request shows its agent, if it has one, and links to its run', async () => {
    const { world } = site
    // The lists begin with the newest records. The clock is advanced, so that the records created below are on the
    // first page.
    ok(await world.post('/simulations/clock/advance', { seconds: 60 }))
    const [wallet] = ok(await world.get('/wallets')).json.data
    const move = { amount: 1200, sourceWalletId: wallet.id, destWalletId: await createSavingsWallet() }
    const description = '\u202ePut <i>aside'
    ok(await world.post('/transfers/internal', { ...move, description }, { key: world.apiKey, instanceId: 'moving' }))
    const payer = { type: 'email', value: 'payer@example.com' }
    const request = { amount: 3100, payer, description: 'Lunch <b>', payerName: 'Pat <b>' }
    expect((await world.post('/payment-requests', request, { instanceId: 'asking' })).status).toBe(201)
    const card = await world.issueCard({ merchant: { name: 'Named' }, maximumAmount: 100 }, { instanceId: 'naming' })
    ok(await world.authorize(card, 100, { instanceId: 'naming' }))
    const text = await textAt('/console/money')
    const rowsWith = (words: string) =>
      [...text.matchAll(/<tr id[\s\S]*?<\/tr>|<li class="card[\s\S]*?<\/li>/g)]
        .map(String)
        .filter((row) => row.includes(words))
    const name = await agentName()
    for (const [words, run, agent] of [
      [site.runPath('naming'), 'naming', name],
      ['Lunch &lt;b&gt;', 'asking', name],
      ['Put &lt;i&gt;aside', 'moving', 'No agent'],
    ] as const) {
      const rows = rowsWith(words)
      expect(rows.length, words).toBe(run === 'naming' ? 2 : 1)
      for (const row of rows) {
        expect(row).toContain(`href="${site.runPath(run)}"`)
        expect(row).toContain(agent)
      }
    }
    expect(rowsWith('Put &lt;i&gt;aside').join()).toContain('between wallets')
    expect(rowsWith('Lunch &lt;b&gt;').join()).toContain('Pat &lt;b&gt;')
    expect(text).not.toContain('\u202e')
  })

  test('payment requests that the party received have their own list', async () => {
    const other = await addParty(site.world)
    const payer = { type: 'email', value: site.owner.email }
    const request = { amount: 4321, payer, description: 'Their bill' }
    expect((await site.world.post('/payment-requests', request, { key: other.apiKey })).status).toBe(201)
    const [, askedSection = ''] = /<h2 id="asked">([\s\S]*?)<\/section>/.exec(await textAt('/console/money')) ?? []
    expect(askedSection).toContain('Their bill')
    expect(askedSection).toContain('$43.21')
    expect(askedSection).not.toContain('/console/runs/')
  })

  test('the lists of transfers and payment requests continue on a second page', async () => {
    const { world } = site
    const [wallet] = ok(await world.get('/wallets')).json.data
    const move = { amount: 1, sourceWalletId: wallet.id, destWalletId: await createSavingsWallet() }
    const payer = { type: 'email', value: 'payer@example.com' }
    for (let count = 0; count < 21; count++) {
      ok(await world.post('/transfers/internal', move, { key: world.apiKey }))
      expect((await world.post('/payment-requests', { amount: 100 + count, payer })).status).toBe(201)
    }
    const first = await textAt('/console/money')
    for (const [list, id] of [
      ['transfers', 'tfr'],
      ['requests', 'prq'],
    ]) {
      const idsIn = (text: string) =>
        new RegExp(`<h2 id="${list}">[\\s\\S]*?</section>`)
          .exec(text)?.[0]
          .match(new RegExp(`(?<=<tr id=")${id}_\\w+`, 'g')) ?? []
      const [, older = ''] = new RegExp(`<a href="([^"#]*)#${list}">Older`).exec(first) ?? []
      expect(idsIn(first)).toHaveLength(20)
      expect(new Set([...idsIn(first), ...idsIn(await textAt(decoded(older)))]).size).toBeGreaterThan(20)
    }
  })

  test("the live update of a wallet's page contains only the live part, and keeps the selected page of the transactions", async () => {
    const [wallet] = ok(await site.world.get('/wallets')).json.data
    const path = `/console/money/wallets/${wallet.id}`
    const opened = await textAt(path)
    const [, source = ''] = /data-live="money" data-source="([^"]*)"/.exec(opened) ?? []
    const part = await textAt(decoded(source))
    expect(part).not.toContain('<html')
    expect(opened).toContain(part)
    const [, older = ''] = /<a href="([^"]*)">Older transactions/.exec(opened) ?? []
    const [, olderSource = ''] = /data-source="([^"]*)"/.exec(await textAt(decoded(older))) ?? []
    expect(await textAt(decoded(older))).toContain(await textAt(decoded(olderSource)))
  })

  test('a wallet whose only transaction is its funding has a plot', async () => {
    const newSite = await createConsoleSite(database)
    const { text } = await (await newSite.visitor()).open('/console/money')
    expect(text).toMatch(/class="solid" d="M\d+ \d+H/)
    expect(text).not.toContain('NaN')
    await newSite.world.drop()
  })

  test('the wallet of another party is not found, and the money page does not show it', async () => {
    const other = await addParty(site.world)
    expect((await owner.open(`/console/money/wallets/${other.walletId}`)).status).toBe(404)
    expect(await textAt('/console/money')).not.toContain(other.walletId)
  })
})

const entry = fc.record({
  account: fc.constantFrom('available', 'held'),
  amountCents: fc.integer({ min: -100_000, max: 100_000 }),
  createdAtMs: fc.integer({ min: 1, max: 50 }),
})

test('a plot has one step for each point in time with entries, and the last step is the present balance', () => {
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 60 }),
      fc.integer(),
      fc.integer(),
      (unsorted, availableCents, heldCents) => {
        const entries: WalletEntry[] = unsorted.toSorted((a, b) => b.createdAtMs - a.createdAtMs)
        const steps = stepsOf({ availableCents, heldCents }, entries)
        expect(String(balancePlot({ id: 'wal_1', name: 'Wallet', steps, isCut: false }, 50))).not.toMatch(
          /NaN|Infinity/,
        )
        expect(steps.map(({ atMs }) => atMs)).toEqual([...new Set(entries.map((one) => one.createdAtMs))].reverse())
        if (steps.length > 0) expect(steps.at(-1)).toMatchObject({ availableCents, heldCents })
        for (const [at, step] of steps.entries()) {
          const before = steps[at - 1]
          if (before === undefined) continue
          const sum = (account: string) =>
            entries
              .filter((one) => one.createdAtMs === step.atMs && one.account === account)
              .reduce((total, { amountCents }) => total + amountCents, 0)
          expect(step.availableCents - before.availableCents).toBe(sum('available'))
          expect(step.heldCents - before.heldCents).toBe(sum('held'))
        }
      },
    ),
  )
})

test.each([50, 51, 1_000_000])(
  'at %i ms, the plot of a single entry from 50 ms is a line across its full width, and its title states the amount',
  (nowMs) => {
    const steps = stepsOf({ availableCents: 250_000, heldCents: 0 }, [
      { account: 'available', amountCents: 250_000, createdAtMs: 50 },
    ])
    const text = String(balancePlot({ id: 'wal_1', name: 'Wallet', steps, isCut: false }, nowMs))
    expect(text).toMatch(/path class="solid" d="M0 (\d+)(H\d+V\1)*H1000"/)
    expect(text).toContain('Wallet over time: $2,500.00 available')
  },
)

test('a plot has at most 200 steps, and always includes the newest', () => {
  const entries = Array.from({ length: 1000 }, (_, at) => ({
    account: 'available',
    amountCents: 1,
    createdAtMs: 1000 - at,
  }))
  const steps = stepsOf({ availableCents: 1000, heldCents: 0 }, entries)
  expect(steps.length).toBeLessThanOrEqual(200)
  expect(steps.at(-1)).toEqual({ atMs: 1000, availableCents: 1000, heldCents: 0 })
})
