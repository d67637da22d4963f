import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { spentCents } from '../../src/service/rules/runs.ts'
import { deleteRunMinutes } from '../../src/service/store/run-minutes.ts'
import { readAllTables } from '../ledger/books.ts'
import { decoded } from '../pages/decoded.ts'
import type { Visitor } from '../pages/oauth-site.ts'
import { ok, payer } from '../payments/payer.ts'
import { entriesOf, runOf } from '../runs/stored-entries.ts'
import { onEachDatabase } from '../support/databases.ts'
import { type ConsoleSite, createConsoleSite } from './console-site.ts'

const [minute, hour] = [60_000, 3_600_000]

onEachDatabase('the list of runs', (database) => {
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
    return decoded(text)
  }
  /** Returns the text of each cell in a run's row, by column name. */
  const rowOf = (text: string, instanceId: string) => {
    const row = text.split('<tr id="row-').find((one) => one.includes(`<bdi>${instanceId}</bdi>`)) ?? ''
    const cells = [...row.matchAll(/<td data-label="([^"]*)"[^>]*>(.*?)<\/td>/gs)]
    return Object.fromEntries(cells.map(([, name, cell = '']) => [name, plain(cell)]))
  }
  const plain = (cell: string) => cell.replace(/<br>/g, ' · ').replace(/<[^>]*>/g, '')
  const runsIn = (text: string) =>
    [...text.matchAll(/<a id="link-run_[^"]*"[^>]*><bdi>([^<]*)/g)].map(([, name]) => name)

  test('a row shows the amount spent, the duration, the time since the last call, and what went wrong', async () => {
    const { world } = site
    const instanceId = 'buying books'
    const sent = { instanceId, headers: { 'User-Agent': 'payments-mcp/1.0.0 (Claude%20Desktop/4.5)' } }
    const cardId = await world.issueCard({ maximumAmount: 5000 }, sent)
    const bought = ok(await world.authorize(cardId, 4000, sent)).json.data.id
    world.system.pass(90_000)
    const captured = { amount: 3000, currency: 'USD' }
    ok(await world.post(`/simulations/card-transactions/${bought}/capture`, captured, sent))
    const row = async () => {
      await world.service.runLog.flush()
      return rowOf(await textAt('/console'), instanceId)
    }
    expect(await row()).toMatchObject({
      ...{ Agent: 'Sandbox shopper · Claude Desktop 4.5', Calls: '3', Spent: '$30.00' },
      ...{ Duration: '1 min 30 s', Last: 'just now', 'What went wrong': 'Nothing' },
    })
    ok(await world.post(`/simulations/card-transactions/${bought}/refund`, { amount: 1000, currency: 'USD' }, sent))
    await world.authorize(cardId, 100, sent)
    world.system.pass(2 * minute)
    expect(await row()).toMatchObject({ Spent: '$20.00', Last: '2 min ago' })
    expect((await row())['What went wrong']).toMatch(/^1 failed · Authorized \$1\.00 at Books: declined, /)
    const [, problem = ''] = /<a class="wrong" href="([^"]*)"/.exec(await textAt('/console')) ?? []
    expect(await textAt(problem)).toContain('Declined')
    expect((await world.post('/agent-cards', { maximumAmount: -1 }, sent)).status).toBe(422)
    expect((await row())['What went wrong']).toBe('2 failed · Issue a card: refused, invalid_value')
  })

  test('showing a page again creates no date formatters, whose memory the garbage collector does not count', async () => {
    await site.world.get('/wallets', { instanceId: 'looking' })
    await site.world.service.runLog.flush()
    const path = site.runPath('looking')
    const shown = [await textAt('/console'), await textAt(path)]
    const created = vi.spyOn(Intl, 'DateTimeFormat')
    expect([await textAt('/console'), await textAt(path)].map((text) => text.length)).toEqual(
      shown.map((text) => text.length),
    )
    expect(created.mock.calls).toEqual([])
    created.mockRestore()
  })

  test('an amount on hold counts as spent until its release, but a payment counts permanently', async () => {
    const { world } = site
    const instanceId = 'spending'
    const cardId = await world.issueCard({ maximumAmount: 5000 }, { instanceId })
    ok(await world.authorize(cardId, 4000, { instanceId }))
    const { pay } = payer(world)
    ok(await pay(700, { type: 'email', value: 'payee@example.com' }, {}, { instanceId }))
    expect(await runOf(world, instanceId)).toMatchObject({ spentCents: 4700 })
    // The hold expires within the 40 days by which the clock is advanced.
    await world.post('/simulations/clock/advance', { seconds: 40 * 86_400 }, { key: world.apiKey, instanceId: null })
    await world.get('/wallets', { key: world.apiKey, instanceId: 'afterwards' })
    const [released] = (await entriesOf(world, instanceId)).filter(({ operation }) => operation === 'released')
    expect(released?.amountCents).toBe(4000)
    expect((await runOf(world, instanceId)).spentCents).toBe(700)
  })

  test('a run is listed if it was active in the time range, and the chart covers only that range', async () => {
    const { world } = site
    const { now } = (await world.get('/simulations/clock', { key: world.apiKey })).json.data.attributes
    const beganMs = Math.ceil(Date.parse(now) / hour + 1) * hour
    const to = new Date(beganMs).toISOString()
    ok(await world.post('/simulations/clock/advance', { to }, { key: world.apiKey, instanceId: null }))
    await world.get('/wallets', { instanceId: 'early' })
    await world.get('/wallets', { instanceId: 'both' })
    world.system.pass(20 * minute)
    await world.get('/wallets', { instanceId: 'both' })
    expect((await world.post('/agent-cards', { maximumAmount: -1 }, { instanceId: 'late' })).status).toBe(422)
    await world.service.runLog.flush()
    const at = (minutes: number) => new Date(beganMs + minutes * minute).toISOString().slice(0, 19)
    const inRange = (from: number, until: number) => textAt(`/console?from=${at(from)}&until=${at(until)}`)
    expect(runsIn(await inRange(-1, 5)).toSorted()).toEqual(expect.arrayContaining(['both', 'early']))
    expect(runsIn(await inRange(-1, 5))).not.toContain('late')
    const late = await inRange(15, 30)
    expect(runsIn(late)).toEqual(['late', 'both'])
    expect(late).toContain('Calls <strong>2</strong>')
    expect(late).toMatch(/Calls: 2, [^<]* to /)
    const [, table = ''] =
      /<caption class="unseen">Calls and dollars over time.*?<tbody>(.*?)<\/tbody>/s.exec(late) ?? []
    expect([...table.matchAll(/<td[^>]*>([^<]*)/g)].map(([, cell]) => cell)).toEqual(['2', '1', '$0.00'])
    const none = await textAt(`/console?from=${at(600)}`)
    expect(none).toContain('No runs match')
    const { status, text } = await owner.open('/console?from=yesterday&until=2026-02-30T00:00')
    expect([status, decoded(text).match(/is not a time/g)?.length]).toEqual([422, 2])
    const { agentId } = await world.whoami()
    expect(await textAt(`/console?agent=${agentId}&from=${at(15)}`)).toContain('Calls <strong>2</strong>')
    expect(await textAt(`/console?agent=nobody&from=${at(15)}`)).toContain('No runs match')
  })

  test('the oldest per-minute totals of runs can be deleted, and a reset deletes all such totals', async () => {
    const { world } = site
    const minutes = async () => (await readAllTables(world.store)).get('runMinutes') ?? []
    await world.service.runLog.flush()
    const storedMinutes = await minutes()
    expect(storedMinutes.length).toBeGreaterThan(3)
    expect(new Set(storedMinutes.map(({ partyId }) => partyId)).size).toBe(1)
    const byMs = Math.min(...storedMinutes.map(({ recordedAtMs }) => Number(recordedAtMs)))
    const deleted = await world.store.transaction((tx) => deleteRunMinutes(tx, { byMs, limit: 1 }))
    expect([deleted, (await minutes()).length]).toEqual([1, storedMinutes.length - 1])
    ok(await world.post('/simulations/reset', {}, { key: world.apiKey, instanceId: null }))
    await world.service.runLog.flush()
    expect((await minutes()).length).toBeLessThanOrEqual(1)
  })
})

test.each([
  [
    'a hold counts as spent',
    [
      ['authorized', -500, 'available'],
      ['authorized', 500, 'held'],
    ],
    500,
  ],
  ['income does not count as spent', [['funded', 900, 'available']], 0],
])('%s', (_, moves, spent) => {
  const postings = (moves as [string, number, string][]).map(([reason, amountCents, account]) => ({
    ...{ reason, entries: [{ account, walletId: 'wal_1', amountCents }] },
  }))
  expect(spentCents(postings)).toBe(spent)
})

test('a payment to another wallet counts as spent, but a transfer between the wallets of one party does not', () => {
  const entries = [
    { account: 'available', walletId: 'wal_1', amountCents: -300 },
    { account: 'available', walletId: 'wal_2', amountCents: 300 },
  ]
  expect(spentCents([{ reason: 'paid', entries }])).toBe(300)
  expect(spentCents([{ reason: 'transferred', entries }])).toBe(0)
})
