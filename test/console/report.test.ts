import { afterAll, beforeAll, expect, test } from 'vitest'
import { runReport } from '../../src/service/operations/steps/run-report.ts'
import { verifyReport } from '../../src/service/pages/console/report/verify-report.ts'
import { missingParts } from '../../src/service/pages/console/report/words.ts'
import { runIdOf } from '../../src/service/request/run-log.ts'
import type { RunReport } from '../../src/service/rules/run-report.ts'
import { findRun } from '../../src/service/store/runs.ts'
import { clearFaults, setFault } from '../faults/rules.ts'
import { createPersonSite, type PersonSite } from '../pages/person-site.ts'
import { created, ok, payer } from '../payments/payer.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addDelegation, addParty } from '../support/world.ts'

async function* linesIn(text: string) {
  yield* text.split('\n')
}
const verify = (text: string) => verifyReport(linesIn(text))

const hostile = 'Evil | `x` [a](http://evil.test) <script>alert(1)</script> \u202e# **b**'

onEachDatabase('run reports', (database) => {
  let site: PersonSite
  let path: string
  const instanceId = 'run | <b>`of` the\u0020report'

  beforeAll(async () => {
    site = await createPersonSite(database)
    const { world } = site
    const sent = { instanceId }
    const books = await world.issueCard({}, sent)
    const purchase = (await world.authorize(books, 3000, sent)).json.data.id
    await world.post(`/simulations/card-transactions/${purchase}/capture`, { amount: 2000, currency: 'USD' }, sent)
    await world.post(`/simulations/card-transactions/${purchase}/refund`, { amount: 500, currency: 'USD' }, sent)
    const other = await world.issueCard({ merchant: { name: hostile } }, sent)
    await world.authorize(other, 6000, sent)
    const repeat = { ...sent, idempotencyKey: 'once' }
    const card = { merchant: { name: 'Books' }, maximumAmount: 700, currency: 'USD' }
    await world.post('/agent-cards', card, repeat)
    await world.post('/agent-cards', card, repeat)
    expect((await world.get('/agent-cards/pcd_missing', sent)).status).toBe(404)
    await setFault(world, { id: 'wrong', operation: 'get_agent_card', fault: 'error', code: 'bad_gateway' })
    expect((await world.get('/agent-cards/pcd_missing', sent)).status).toBe(502)
    await clearFaults(world)
    await world.issueCard({}, { instanceId: 'another run' })
    await world.service.runLog.flush()
    path = `/console/runs/${runIdOf(site.owner.partyId, instanceId)}/report`
  })
  afterAll(() => site.world.drop())

  const open = async (query = '') => (await site.visitor(site.owner)).open(`${path}${query}`)
  const reportIn = async () => (JSON.parse((await open('?format=json')).text) as { report: RunReport }).report

  test('neither a report nor another page of the console shows a card number in the name of a merchant', async () => {
    const number = '4242424242424242'
    const { world } = site
    const sent = { instanceId: 'named after a card' }
    const cardId = await world.issueCard({ merchant: { name: `Shop${number}` } }, sent)
    const purchase = { amount: 400, currency: 'USD', merchant: { name: `Shop${number}` } }
    const bought = await world.post(`/simulations/agent-cards/${cardId}/authorize`, purchase, sent)
    expect(bought.json.data.attributes).toMatchObject({ status: 'authorized', merchant: { name: `Shop${number}` } })
    await world.service.runLog.flush()
    const visitor = await site.visitor(site.owner)
    const runPath = `/console/runs/${runIdOf(site.owner.partyId, sent.instanceId)}`
    const addresses = ['', '?format=json', '?format=md', '?format=html'].map((query) => `${runPath}/report${query}`)
    for (const address of [...addresses, runPath, '/console/money', '/console/sandbox']) {
      const { status, text } = await visitor.open(address)
      expect(status).toBe(200)
      expect(text, address).toContain('Shop[masked number]')
      expect(text, address).not.toContain(number)
    }
    const { text } = await visitor.open(`${runPath}/report?format=json`)
    expect(await verify(text)).toMatchObject({ result: 'verified' })
    expect((JSON.parse(text) as { report: RunReport }).report.cards).toMatchObject([{ differences: [] }])
  })

  test('a report shows the intended amounts and the results, and is the same when it is made again', async () => {
    const report = await reportIn()
    expect(report).toMatchObject({
      instanceId,
      environment: 'sandbox',
      totals: {
        intendedCents: 10_700,
        authorizedCents: 3000,
        heldCents: 0,
        capturedCents: 2000,
        refundedCents: 500,
      },
      repeats: [{ what: 'replayed', operation: 'issue_agent_card', count: 1 }],
      postings: { count: 3, sumCents: 0, unbalanced: 0 },
      evaluated: { complete: true, calls: 10 },
    })
    expect(report.cards).toHaveLength(3)
    expect(report.declines).toMatchObject([{ amountCents: 6000, against: ['merchant', 'maximum'] }])
    expect(report.faults).toStrictEqual([{ what: 'error', operation: 'get_agent_card', count: 1 }])
    expect(report.refusals).toContainEqual({ what: 'not_found', operation: 'get_agent_card', count: 1 })
    expect(report.wallets.reduce((sum, one) => sum + one.availableCents + one.heldCents, 0)).toBe(-1500)
    expect(await reportIn()).toStrictEqual(report)
  })

  test("a report's page links to each record, and the report's file has the id of each record without a link", async () => {
    const { cards, declines, wallets } = await reportIn()
    const ids = [...cards, ...declines].map(({ id }) => id).concat(wallets.map(({ walletId }) => walletId))
    const [page, file] = [(await open()).text, (await open('?format=html')).text]
    expect(ids.length).toBeGreaterThan(4)
    for (const id of ids) {
      expect(page).toContain(`<a href="/console/records/${id}">${id}</a>`)
      expect(file).toContain(`<bdi>${id}</bdi>`)
    }
    expect(file).not.toContain('href="/')
  })

  test('a report counts the requests that its run made in a customer’s account, and no others in that account', async () => {
    const { world, owner } = site
    const [mine, another] = [{ instanceId: 'a run for somebody' }, { instanceId: 'a run before' }]
    const customerPartyId = await world.customerPartyId()
    const stranger = await addParty(world)
    await addDelegation(world, { customerPartyId, agentPartyId: stranger.partyId, agentId: stranger.agentId })
    const theirs = await world.issueCard({ customerPartyId, maximumAmount: 9 }, { ...mine, key: stranger.agentKey })
    const before = await world.issueCard({ customerPartyId, maximumAmount: 90 }, another)
    await world.issueCard({ customerPartyId, maximumAmount: 700 }, mine)
    const counterparty = { type: 'party_id', value: stranger.partyId }
    const paid = await world.post('/payments', { amount: 300, counterparty, customerPartyId, description: 'x' }, mine)
    expect(paid.status, paid.text).toBe(201)
    for (const [id, status] of [
      [before, 200],
      [theirs, 404],
    ] as const)
      expect((await world.post(`/agent-cards/${id}/freeze`, { customerPartyId }, mine)).status).toBe(status)
    await world.service.runLog.flush()
    const visitor = await site.visitor(owner)
    const address = `/console/runs/${runIdOf(owner.partyId, mine.instanceId)}/report?format=json`
    const { report } = JSON.parse((await visitor.open(address)).text) as { report: RunReport }
    expect(report.customers).toStrictEqual([
      {
        ...{ partyId: customerPartyId, done: 3, refused: 1 },
        ...{ cards: 1, intendedCents: 700, payments: 1, askedCents: 300 },
      },
    ])
    // The cards and payments are the customer's, so they are not among the party's own.
    expect(report).toMatchObject({ cards: [], payments: [], wallets: [], totals: { intendedCents: 0 } })
  })

  test('a report shows payments, their approvals and who decided', async () => {
    const { world, owner } = site
    const self = payer(world)
    const sent = { instanceId: 'a run that pays' }
    await self.setLimits('agents', String((await world.whoami()).agentId), { perTransaction: 1000 })
    const to = { type: 'party_id', value: await world.customerPartyId() }
    const description = 'for 4242 4242 4242 4242 | <b>'
    const ids: string[] = []
    for (const by of ['page', 'api'] as const) {
      const paymentId = created(await self.pay(1001, to, { description }, sent))
      ids.push(paymentId)
      const { id } = await self.approvalOf(paymentId)
      if (by === 'page') await world.service.actAs(owner, 'approveApproval', { params: { approvalId: id } })
      else expect((await world.post(`/approvals/${id}/deny`, {}, { key: world.apiKey })).status).toBe(200)
    }
    await world.service.runLog.flush()
    const visitor = await site.visitor(owner)
    const address = `/console/runs/${runIdOf(owner.partyId, sent.instanceId)}/report?format=json`
    const { text } = await visitor.open(address)
    expect(text).not.toContain('4242 4242')
    const { report } = JSON.parse(text) as { report: RunReport }
    expect(report.payments).toMatchObject(ids.toSorted().map((id) => ({ id, kind: 'payment', amountCents: 1001 })))
    const [approved, denied] = ids.map((id) => report.approvals.find(({ paymentId }) => paymentId === id))
    expect(approved).toMatchObject({ paymentId: ids[0], status: 'approved', decidedBy: owner.name, by: 'page' })
    expect(denied).toMatchObject({ paymentId: ids[1], status: 'denied', by: 'api', decidedAt: expect.any(String) })
  })

  test('a report lists the payment request of another run if the reported run acted on it, but does not count its amount', async () => {
    const { world, owner } = site
    const key = world.apiKey
    const requestFields = { amount: 400, payer: { type: 'party_id', value: await world.customerPartyId() } }
    const id = created(await world.post('/payment-requests', requestFields, { key, instanceId: 'asks' }))
    expect((await world.send('POST', `/simulations/payment-requests/${id}/fulfill`, { key })).status).toBe(200)
    const ended = await world.send('POST', `/payment-requests/${id}/cancel`, { key, instanceId: 'ends' })
    expect(ended.status).toBe(409)
    await world.service.runLog.flush()
    const visitor = await site.visitor(owner)
    const reports = []
    for (const run of ['asks', 'ends']) {
      const { text } = await visitor.open(`/console/runs/${runIdOf(owner.partyId, run)}/report?format=json`)
      const { requests, wallets } = (JSON.parse(text) as { report: RunReport }).report
      reports.push({ requests: requests.map(({ isOwn, status }) => [isOwn, status]), wallets })
    }
    expect(reports).toStrictEqual([
      {
        requests: [[true, 'COMPLETED']],
        wallets: [{ walletId: expect.any(String), availableCents: 400, heldCents: 0 }],
      },
      { requests: [[false, 'COMPLETED']], wallets: [] },
    ])
  })

  test('a report can be verified in each format; verification fails if a figure, a row or the visible text was changed', async () => {
    for (const format of ['json', 'md', 'html']) {
      const { text } = await open(`?format=${format}`)
      expect(await verify(text)).toMatchObject({ result: 'verified', entries: expect.any(Number) })
      expect(await verify(text.replaceAll('\n', '\r\n'))).toMatchObject({ result: 'verified' })
      const captured = text.replace('"capturedCents": 2000', '"capturedCents": 2001')
      expect(await verify(captured)).toMatchObject({
        result: 'broken',
        what: expect.stringContaining('capturedCents'),
      })
      const rows = [...text.matchAll(/^,?\["act_.*$/gm)]
      expect(rows.length).toBeGreaterThan(5)
      for (const [row] of rows) {
        const at = Math.floor(row.length / 2)
        const changed = `${row.slice(0, at)}${row[at] === '1' ? '2' : '1'}${row.slice(at + 1)}`
        expect(await verify(text.replace(row, () => changed))).toMatchObject({
          result: 'broken',
          what: expect.stringContaining('of the chain'),
        })
      }
      if (format === 'json') continue
      expect(await verify(text.replace('$20.00', '$21.00'))).toMatchObject({
        result: 'broken',
        what: expect.stringMatching(/the visible text does not match the data, at line \d+: .*\$21\.00/),
      })
    }
    expect(await verify('hello\nworld\n')).toStrictEqual({ result: 'no report' })
  })

  test('verification reports the figure or the line of the data that was changed', async () => {
    const { text } = await open('?format=json')
    const lines = text.split('\n')
    const [from, to] = [lines.indexOf('"report":{'), lines.indexOf('"chain":[')]
    expect(to - from).toBeGreaterThan(100)
    expect(await verify(text.replace('\n "calls": 10,', ''))).toStrictEqual({
      ...{ result: 'broken', what: 'the figure calls is missing' },
    })
    expect(await verify(text.replace(/^"digest":"./m, '"digest":"x'))).toMatchObject({
      ...{ result: 'broken', what: expect.stringContaining('line 3 of the data was changed') },
    })
    for (let at = from + 1; at < to; at++) {
      const line = lines[at] ?? ''
      const changed = line.replace(/[0-9a-z](?=[^0-9a-z]*$)/i, (last) => (last === '7' ? '8' : '7'))
      if (changed === line) continue
      const verdict = await verify(lines.with(at, changed).join('\n'))
      expect(verdict, line).toMatchObject({
        result: 'broken',
        what: expect.stringMatching(/figure|line \d+ of the data/),
      })
    }
  })

  test('verification of any input ends with a result, and the reason for a failure is one line of plain ASCII', async () => {
    const { text } = await open('?format=json')
    const changed = (from: string | RegExp, to: string) => text.replace(from, () => to)
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
    const rows = text.split('\n').filter((line) => line.startsWith('["act_'))
    const [first = '', second = '', third = ''] = rows
    const last = rows.at(-1) ?? ''
    const cases: [text: string, result: string][] = [
      [`\uFEFF${text}`, 'verified'],
      ['', 'no report'],
      ['\0'.repeat(1000), 'no report'],
      [`${`${'x'.repeat(1_000_000)}\n`.repeat(70)}${text}`, 'no report'],
      [changed('"calls": 10', '"calls": 1e999'), 'broken'],
      [changed('"calls": 10', '"calls": 10,\n  "calls": 10'), 'broken'],
      [changed('"calls": 10', '"calls": 10.0'), 'broken'],
      [changed('"calls": 10', `"calls": ${deep}`), 'broken'],
      [changed('"calls": 10', '"calls": \0'), 'broken'],
      [changed('"calls": 10', '"\u001b[31m\u202e": 10'), 'broken'],
      [changed(/"report":\{[\s\S]*?\n\},/, '"report":null,'), 'broken'],
      [changed(first, `${deep},`), 'broken'],
      [changed(/^\["act_\w+",/m, '[{"toString":1},'), 'broken'],
      [changed(/^\["act/m, '["act\0'), 'broken'],
      [changed(/^\["act/m, '[ "act'), 'broken'],
      [changed(first, first.slice(0, -1)), 'broken'],
      [changed(last, `${last},`), 'broken'],
      [changed(`${second}\n`, ''), 'broken'],
      [changed(`${first}\n`, ''), 'broken'],
      [changed(`,\n${last}`, ''), 'broken'],
      [changed(second, `${second}\n${second}`), 'broken'],
      [changed(`${second}\n${third}`, `${third}\n${second}`), 'broken'],
      [`${text}\u001b[2Jmore`, 'broken'],
      [text.slice(0, text.indexOf('"chain":[')), 'broken'],
      [text.slice(0, text.lastIndexOf(']}')), 'broken'],
    ]
    for (const [at, [input, result]] of cases.entries()) {
      const verdict = await verify(input)
      expect(verdict, `case ${at}`).toMatchObject({ result })
      if (verdict.result === 'broken') expect(verdict.what).toMatch(/^[\x20-\x7e]+$/)
    }
  })

  test('a report states which entries and calls it leaves out', async () => {
    const { store } = site.world
    const { partyId } = site.owner
    const run = await store.read((tx) => findRun(tx, partyId, runIdOf(partyId, instanceId)))
    if (run === undefined) throw new Error('There is no run.')
    const reportWithin = async (entries: number, changes: number) => {
      const bounds = { entries, changes }
      return runReport(store, run, { bounds, nowMs: site.world.system.now(), environment: 'sandbox' })
    }
    const whole = await reportWithin(1000, 1000)
    const { entries, changes } = whole.evaluated
    expect(await reportWithin(entries, changes)).toStrictEqual(whole)
    expect(missingParts(whole)).toStrictEqual([])
    for (const [limits, evaluated] of [
      [[entries - 1, changes], { entries: entries - 1, changes, complete: false }],
      [[entries, changes - 1], { entries, changes: changes - 1, complete: false }],
    ] as const) {
      const part = await reportWithin(...limits)
      expect(part.evaluated).toMatchObject(evaluated)
      expect(missingParts(part)).toStrictEqual([expect.stringContaining(`first ${evaluated.entries} entries`)])
    }
    const cutReport = { ...whole, evaluated: { ...whole.evaluated, calls: 4 } }
    expect(missingParts(cutReport)).toStrictEqual([
      expect.stringContaining('The entries of 6 of 10 calls were deleted'),
    ])
  })

  test('a name that contains markup stays plain text in every format of a report', async () => {
    const [html, md, page] = [(await open('?format=html')).text, (await open('?format=md')).text, (await open()).text]
    for (const text of [html, page]) expect(text).not.toContain('<script>alert')
    for (const text of [html, md, page]) expect(text).not.toContain('\u202e')
    expect(md).toContain('Evil \\| \\`x\\` \\[a\\]\\(http\\:\\/\\/evil\\.test\\)')
  })

  test('an HTML report runs no scripts and loads nothing, and its content security policy forbids both', async () => {
    const { text } = await open('?format=html')
    const allowed =
      /"default-src 'none'; style-src 'sha256-[\w+/]{43}='; img-src data:; base-uri 'none'; form-action 'none'"/
    expect(/<meta http-equiv="Content-Security-Policy" content=(".*?")>/.exec(text)?.[1]).toMatch(allowed)
    expect(text.indexOf('Content-Security-Policy')).toBeLessThan(text.indexOf('<style>'))
    expect(text.match(/<script[^>]*>/g)).toStrictEqual(['<script type="application/json" id="run-report">'])
    expect(
      text.match(/<link[^>]*href="(?!data:)|<(?:img|iframe|object|base|form)\b|<[^>]*\s(?:on\w+|style)=/g),
    ).toBeNull()
  })

  test('a report includes due effects, even if no request was sent after they became due', async () => {
    const { world } = site
    const sent = { instanceId: 'held for long' }
    ok(await world.authorize(await world.issueCard({ maximumAmount: 900 }, sent), 700, sent))
    await world.service.runLog.flush()
    const address = `/console/runs/${runIdOf(site.owner.partyId, sent.instanceId)}/report?format=json`
    const shownReport = async () => {
      const { text } = await (await site.visitor(site.owner)).open(address)
      const { totals, postings } = (JSON.parse(text) as { report: RunReport }).report
      return [totals.heldCents, postings.count]
    }
    expect(await shownReport()).toEqual([700, 1])
    world.system.pass(30 * 86_400_000)
    expect(await shownReport()).toEqual([0, 2])
  })

  test('a report is not shown to other parties', async () => {
    const stranger = await site.addUser({ partyId: await site.world.customerPartyId() })
    const visitor = await site.visitor(stranger)
    for (const query of ['', '?format=json']) expect((await visitor.open(`${path}${query}`)).status).toBe(404)
  })
})
