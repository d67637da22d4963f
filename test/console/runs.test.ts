import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { curlOf } from '../../src/service/pages/frame/curl.ts'
import { insertRunEntries, maxScanned } from '../../src/service/store/runs.ts'
import { clearFaults, setFault } from '../faults/rules.ts'
import { decoded } from '../pages/decoded.ts'
import type { Visitor } from '../pages/oauth-site.ts'
import { ok, payer } from '../payments/payer.ts'
import { entriesOf } from '../runs/stored-entries.ts'
import { cardFor, pay, startCheckout } from '../shops/shopping.ts'
import { anyCharacter } from '../support/any-character.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty } from '../support/world.ts'
import { type ConsoleSite, createConsoleSite } from './console-site.ts'

onEachDatabase('runs in the console', (database) => {
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
  const entriesIn = (text: string) => [...text.matchAll(/id="(ent_[0-9a-f]{32})" data-entry/g)].map(([, id]) => id)

  test('the list shows all runs, newest first, in pages of 50', async () => {
    expect(await textAt('/console')).toContain('No runs yet')
    for (let count = 0; count < 52; count++) await site.world.get('/wallets', { instanceId: `run ${count}` })
    await site.world.service.runLog.flush()
    const first = await textAt('/console')
    expect(first.indexOf('run 51')).toBeGreaterThan(0)
    expect(first.indexOf('run 51')).toBeLessThan(first.indexOf('run 50'))
    const [, older = ''] = /<a href="([^"]*)">Older runs/.exec(first) ?? []
    const second = await textAt(decoded(older))
    expect([...second.matchAll(/<tr id="row-/g)]).toHaveLength(2)
    expect(second).not.toContain('Older runs')
  })

  test('a row of a timeline names the action, the merchant, the amount, and the reason for a decline', async () => {
    const { world } = site
    const instanceId = 'buying a desk'
    const { typed } = await cardFor(world, 'Plain Goods', { maximumAmount: 100 })
    const checkout = await startCheckout(
      world,
      'plain-goods',
      { items: [{ productId: 'stoneware-mug' }] },
      { instanceId },
    )
    await pay(world, checkout.id, typed, 1800, { instanceId })
    const bought = await world.authorize(await world.issueCard({ maximumAmount: 100 }), 200, { instanceId })
    await world.get(`/card-transactions/${bought.json.data.id}`, { instanceId })
    await setFault(world, { id: 'lost', operation: 'issue_agent_card', fault: 'effect_then_lost' })
    await expect(world.issueCard({ maximumAmount: 4200 }, { instanceId })).rejects.toThrow('cut')
    await clearFaults(world)
    expect((await world.post('/agent-cards', { maximumAmount: -1 }, { instanceId })).status).toBe(422)
    const rowsAt = async (query = '') => {
      const text = await textAt(`${site.runPath(instanceId)}${query}`)
      const cells = [
        ...text.matchAll(
          /<span class="tool">(.*?)<\/span><span class="number amount">.*?<span class="state[^>]*>(.*?)<\/span><span/g,
        ),
      ]
      return cells.map((cell) =>
        cell.slice(1).map((html) =>
          html
            .replace(/<[^>]*>/g, '')
            .replaceAll('&#39;', "'")
            .trim(),
        ),
      )
    }
    await site.entries(instanceId)
    const declined = ["Paid $18.00 at Plain Goods: declined, over the card's maximum pay_shop_checkout", '✕ Declined']
    expect(await rowsAt('?order=oldest')).toEqual([
      ['Started a checkout of $18.00 at Plain Goods start_shop_checkout', '✓ Done'],
      declined,
      ["Authorized $2.00 at Books: declined, over the card's maximum simulate_card_authorization", '✕ Declined'],
      ['Read a card transaction get_card_transaction', '✓ Done'],
      [
        'Issued a card of up to $42.00 for Books issue_agent_card fault: effect_then_lost',
        '! Done, answer lost (fault)',
      ],
      ['Issue a card issue_agent_card invalid_value', '✕ Refused'],
    ])
    expect(await rowsAt('?outcome=declined&tool=pay_shop_checkout')).toEqual([declined])
    expect(await textAt(`${site.runPath(instanceId)}?part=facts`)).toContain('6, <span class="problem">4 failed')
    const paid = (await site.entries(instanceId)).find(({ operation }) => operation === 'pay_shop_checkout')
    if (paid === undefined) throw new Error('The payment has no entry.')
    expect(await textAt(site.entryPath(paid))).toContain(
      '<h2>Declined <code>single_use_amount_over_maximum</code></h2>',
    )
  })

  test('the list of runs can be filtered by agent and by host program', async () => {
    const { agentId } = await site.world.whoami()
    await site.world.get('/wallets', { key: site.world.apiKey, instanceId: 'by a key' })
    await site.world.get('/wallets', {
      ...{ instanceId: 'by a program', headers: { 'User-Agent': 'payments-mcp/1.0.0 (Claude%20Desktop/4.5)' } },
    })
    await site.world.service.runLog.flush()
    const byAgent = await textAt(`/console?agent=${agentId}`)
    expect(byAgent).toContain('by a program')
    expect(byAgent).not.toContain('by a key')
    const byProgram = await textAt(`/console?${new URLSearchParams({ host: 'Claude Desktop 4.5' })}`)
    expect(byProgram).toContain('by a program')
    expect([...byProgram.matchAll(/<tr id="row-/g)]).toHaveLength(1)
    expect(await textAt('/console?agent=nobody')).toContain('No runs match')
  })

  test('the pages of a timeline have no gap between them, and can be filtered by tool, outcome and agent', async () => {
    const instanceId = 'a long one'
    for (let count = 0; count < 103; count++) await site.world.get('/wallets', { instanceId })
    expect((await site.world.post('/agent-cards', { maximumAmount: -1 }, { instanceId })).status).toBe(422)
    const all = (await site.entries(instanceId)).map(({ id }) => id).reverse()
    const path = site.runPath(instanceId)
    const first = await textAt(path)
    const [, older = ''] = /<a href="([^"]*)" data-more/.exec(first) ?? []
    const second = await textAt(decoded(older))
    expect([...entriesIn(first), ...entriesIn(second)]).toEqual(all)
    expect(second).not.toContain('data-more')
    expect(entriesIn(await textAt(`${path}?outcome=refused`))).toEqual(all.slice(0, 1))
    expect(entriesIn(await textAt(`${path}?tool=issue_agent_card`))).toEqual(all.slice(0, 1))
    expect(entriesIn(await textAt(`${path}?tool=issue_agent_card&outcome=done`))).toEqual([])
    const oldest = await textAt(`${path}?order=oldest`)
    const [, newer = ''] = /<a href="([^"]*)" data-more>Newer/.exec(oldest) ?? []
    const newest = await textAt(decoded(newer))
    expect([...entriesIn(oldest), ...entriesIn(newest)]).toEqual(all.toReversed())
    expect(newest).not.toContain('data-more')
    // The script of the page adds new entries at the top. If the oldest entries come first, the top is the wrong end,
    // so the page gives the script no address for new entries.
    expect(oldest).not.toContain('data-newer')
    const { agentId } = await site.world.whoami()
    expect(entriesIn(await textAt(`${path}?agent=${agentId}&before=${all[90]}`))).toEqual(all.slice(91))
    // Every page after the first links back to the first page, in the same order and with the same filter.
    expect([first, oldest].filter((text) => /(?:New|Old)est entries/.test(text))).toEqual([])
    const back = (text: string) => decoded(/<a href="([^"]*)">(?:New|Old)est entries/.exec(text)?.[1] ?? '')
    expect(back(second)).toBe(path)
    expect(back(newest)).toBe(`${path}?order=oldest`)
    expect(back(await textAt(`${path}?agent=${agentId}&before=${all[90]}`))).toBe(`${path}?agent=${agentId}`)
    // A fragment without a position begins with the newest entry.
    expect(entriesIn(await textAt(`${path}?fragment=1`))[0]).toBe(all[0])
  })

  test('a page of a filtered timeline searches a limited number of entries, in either order', async () => {
    const { world } = site
    const instanceId = 'a run that goes on and on'
    expect((await world.get('/wallets/none', { instanceId })).status).toBe(400)
    const [first] = await site.entries(instanceId)
    if (first === undefined) throw new Error('There is no entry.')
    const { agentId } = await world.whoami()
    const between = Array.from({ length: maxScanned }, (_, count) => {
      const id = `${first.id.slice(0, -5)}${count.toString(16).padStart(5, '0')}`
      return {
        ...first,
        id: `${id.slice(0, 4)}f${id.slice(5)}`,
        outcome: 'done' as const,
        supportId: null,
        agentId: null,
      }
    })
    await world.store.transaction((tx) =>
      insertRunEntries(
        tx,
        between.map(({ recordedAtMs: _, detail, ...row }) => ({
          ...{ row: { ...row, detail: JSON.stringify(detail) }, instanceId, host: null, spentCents: 0 },
        })),
      ),
    )
    const path = site.runPath(instanceId)
    for (const query of [`agent=${agentId}`, `tool=${first.operation}&outcome=${first.outcome}&agent=${agentId}`]) {
      const found: (string | undefined)[] = []
      let pages = 0
      for (let next: string | undefined = `${path}?${query}`; next !== undefined; pages++) {
        const text: string = await textAt(next)
        found.push(...entriesIn(text))
        const [, more] = /<a href="([^"]*)" data-more/.exec(text) ?? []
        next = more === undefined ? undefined : decoded(more)
      }
      expect(found).toEqual([first.id])
      expect(pages).toBe(query.includes('outcome') ? 1 : 2)
    }
    // A fragment ends with a link to the omitted entries (`data-gap`) only if it is full. Here, the search reached its
    // own limit before the fragment was full.
    expect(await textAt(`${path}?agent=${agentId}&newest=1&fragment=1`)).not.toContain('data-gap')
    expect(entriesIn(await textAt(`${path}?order=oldest&agent=${agentId}`))).toEqual([first.id])
  })

  test('a timeline marks each new day and each move of the sandbox clock, in either order', async () => {
    const { world } = site
    const instanceId = 'over days'
    await world.authorize(await world.issueCard({}, { instanceId }), 1200, { instanceId })
    const sent = { key: world.apiKey, instanceId }
    // Moving the clock makes the hold expire, at a time between the old and the new time of the clock.
    await world.post('/simulations/clock/advance', { seconds: 40 * 86_400 }, sent)
    await world.service.runLog.flush()
    await world.get('/wallets', sent)
    await world.service.runLog.flush()
    // The normal passage of time is not marked as a move of the clock.
    world.system.pass(600_000)
    await world.get('/wallets', sent)
    const entries = await site.entries(instanceId)
    expect(entries.map(({ kind }) => kind)).toEqual(['call', 'call', 'call', 'happened', 'call', 'call'])
    const [, , moveDay, expiryDay, lastDay] = entries.map(({ atMs }) => dayOf(atMs))
    const between = async (query: string) => {
      const text = await textAt(`${site.runPath(instanceId)}${query}`)
      return [...text.matchAll(/<p class="between">([^<]*)/g)].map(([, gapText]) => gapText)
    }
    const jump = ' · the clock was moved by 40 days'
    expect(await between('')).toEqual([`${expiryDay}${jump}`, moveDay])
    expect(await between('?order=oldest')).toEqual([expiryDay, `${lastDay}${jump}`])
  })

  test('a truncated address redirects to the list of runs, and the page for an unknown address links to the list', async () => {
    for (const path of ['/console/', '/console/runs', '/console/runs/'])
      expect(await owner.open(path)).toMatchObject({ status: 303, location: '/console' })
    for (const path of ['/console/nothing', '/console/runs/run_1/entries', '/console/money/', '/console/%00']) {
      const { status, text } = await owner.open(path)
      expect(status, path).toBe(404)
      expect(text, path).toMatch(/<nav aria-label="Pages">[\s\S]*Not found[\s\S]*<a href="\/console">All runs/)
    }
  })

  test('the entry of a decision on a payment links to the payment and does not attribute the decision to an agent', async () => {
    const { world } = site
    const { setLimits, pay } = payer(world)
    const { agentId } = await world.whoami()
    await setLimits('agents', String(agentId), { perTransaction: 100 })
    const instanceId = 'to be decided'
    const paid = ok(await pay(5000, { type: 'email', value: 'payee@example.com' }, {}, { instanceId }))
    const [approval] = (await world.get('/approvals', { key: world.apiKey })).json.data
    ok(await world.send('POST', `/approvals/${approval.id}/approve`, { key: world.apiKey }))
    await setLimits('agents', String(agentId), null)
    const entries = await site.entries(instanceId)
    const [questionEntry] = entries
    const decided = entries.find(({ kind }) => kind === 'decision')
    if (questionEntry === undefined || decided === undefined) throw new Error('An entry is missing.')
    const [call, decision] = await Promise.all([questionEntry, decided].map((entry) => textAt(site.entryPath(entry))))
    expect(call).toMatch(/<dt>By<\/dt>/)
    expect(decision).toContain('<dt>Decision</dt>')
    expect(decision).not.toMatch(/<dt>By<\/dt>/)
    for (const text of [call, decision]) expect(text).toMatch(new RegExp(`<dt>Records</dt><dd>.*${paid.json.data.id}`))
  })

  test('the page of an entry shows its ledger postings, error and support id, and can be found by the support id', async () => {
    const instanceId = 'opened'
    const cardId = await site.world.issueCard({ maximumAmount: 700 }, { instanceId })
    await site.world.authorize(cardId, 400, { instanceId })
    const refused = await site.world.post('/agent-cards', { maximumAmount: -1 }, { instanceId })
    const supportId = refused.json.errors[0].meta.supportId
    const [issued, bought, wrong] = await site.entries(instanceId)
    if (issued === undefined || bought === undefined || wrong === undefined) throw new Error('An entry is missing.')
    const page = await textAt(site.entryPath(bought))
    expect(page).toContain('$4.00')
    expect(page).toMatch(/Sum<\/th><td class="number">\$0\.00/)
    expect(page).toMatch(/href="\/console\/money\/wallets\/wal_/)
    expect(page).toContain(`href="${site.entryPath(issued)}" rel="prev"`)
    expect(page).toContain(`href="${site.entryPath(wrong)}" rel="next"`)
    const error = await textAt(site.entryPath(wrong))
    expect(error).toContain('invalid_value')
    expect(error).toContain(supportId)
    for (const path of [`/console/requests/${supportId}`, `/console/find?id=${supportId}`]) {
      expect(await owner.open(path)).toMatchObject({ status: 303, location: site.entryPath(wrong) })
    }
    expect(await owner.open(`/console/find?id=${encodeURIComponent(instanceId)}`)).toMatchObject({
      location: site.runPath(instanceId),
    })
    const missed = await owner.open('/console/requests/req_00000000000000000000000000000000')
    expect([missed.status, missed.text]).toEqual([404, expect.stringContaining('Nothing was found for')])
  })

  test('the page of a repeated call links to the first call', async () => {
    const sent = { instanceId: 'again', idempotencyKey: 'again' }
    await site.world.issueCard({}, sent)
    await site.world.issueCard({}, sent)
    await site.entries('again')
    const [first, replayed] = await site.entries('again')
    if (first === undefined || replayed === undefined) throw new Error('An entry is missing.')
    expect(await textAt(site.entryPath(replayed))).toContain(`<a href="${site.entryPath(first)}">the first call</a>`)
  })

  test('no page contains a card number or a key', async () => {
    const instanceId = 'secretive'
    const cardId = await site.world.issueCard({}, { instanceId })
    const details = await site.world.get(`/agent-cards/${cardId}/details`, { instanceId })
    const { number } = details.json.data.attributes
    const entries = await site.entries(instanceId)
    const pages = [await textAt('/console'), await textAt(site.runPath(instanceId))]
    for (const entry of entries) {
      pages.push(await textAt(site.entryPath(entry)), await textAt(`${site.entryPath(entry)}?fragment=1`))
    }
    for (const page of pages) {
      expect(page).not.toContain(number)
      expect(page).not.toContain(site.world.agentKey)
      expect(page).not.toContain(site.world.apiKey)
    }
  })

  test('pages escape or remove markup and direction characters in untrusted text, even if it has 10,000 characters', async () => {
    const instanceId = '<img src=x onerror=alert(1)>'
    const name = `\u202eevil</pre><script>alert(1)</script>\u0007${'W'.repeat(10_000)}`
    const answer = await site.world.post('/agent-cards', { merchant: { name }, maximumAmount: 1 }, { instanceId })
    expect(answer.status).toBeGreaterThan(0)
    const [entry] = await site.entries(instanceId)
    if (entry === undefined) throw new Error('There is no entry.')
    for (const path of ['/console', site.runPath(instanceId), site.entryPath(entry)]) {
      const page = await textAt(path)
      expect([path, page.includes('<img src=x'), page.includes('<script>alert')]).toEqual([path, false, false])
      expect([path, page.includes('\u202e'), page.includes('\u0007')]).toEqual([path, false, false])
    }
    expect(await textAt(site.entryPath(entry))).toContain('\\u202e')
  })

  test("another party's run, entry, stream and request are not found, and neither are malformed ids", async () => {
    const { partyId, agentKey } = await addParty(site.world)
    const { headers } = await site.world.get('/wallets', { key: agentKey, instanceId: 'theirs' })
    await site.world.service.runLog.flush()
    const [entry] = await entriesOf(site.world, 'theirs', partyId)
    if (entry === undefined) throw new Error('There is no entry.')
    const paths = [
      `/console/runs/${entry.runId}`,
      `/console/runs/${entry.runId}?fragment=1`,
      site.entryPath(entry),
      `${site.entryPath(entry)}?fragment=1`,
      `/console/runs/${site.runPath('opened').split('/').at(-1)}/entries/${entry.id}`,
      `/console/requests/${headers.get('x-request-id')}`,
      `/console/stream?topic=run:${entry.runId}`,
      '/console/stream?topic=everything',
      ...['?agent=', '/find?id=', '/requests/', '/records/', '/search?text=', '/runs/', '/money/wallets/'].map(
        (prefix) => `/console${prefix}%00`,
      ),
    ]
    for (const path of paths) expect([path, (await owner.open(path)).status]).toEqual([path, 404])
    expect(await textAt('/console')).not.toContain('theirs')
  })

  test('pages and fragments allow no script but the console’s own', async () => {
    for (const path of ['/console', '/console?fragment=1', site.runPath('opened')]) {
      const { headers } = await owner.open(path)
      const policy = headers.get('content-security-policy')
      for (const rule of [
        "default-src 'none'",
        "script-src 'self'",
        'trusted-types console',
        "frame-ancestors 'none'",
      ]) {
        expect(policy).toContain(rule)
      }
      expect(headers.get('cache-control')).toBe('no-store')
    }
    expect((await owner.open('/console?fragment=1')).text).not.toMatch(/<html|formToken/)
    const stranger = await (await site.visitor()).open('/console')
    expect(stranger.status).toBe(200)
  })
})

test('the shell command shown for a request is a single curl call, whatever characters the request contains', async () => {
  const sh = promisify(execFile)
  const functions = `curl() { printf '%s\\0' "$@"; printf '\\036'; }; uuidgen() { printf new; }`
  const hostile = fc.constantFrom(...`'"$\`\\\n!;&|<>()#\u202e`)
  const shown = fc.string({ unit: fc.oneof(hostile, anyCharacter) })
  const requests = fc.sample(fc.tuple(shown, fc.webPath(), fc.string()), 60).map(([text, path, instanceId]) => {
    const request = { method: 'POST', path, body: JSON.stringify({ text }), hasKey: true }
    return { text, path, instanceId, command: curlOf(request, { publicUrl: 'http://here', instanceId }) }
  })
  const script = [functions, ...requests.map(({ command }) => command)].join('\n')
  const { stdout } = await sh('sh', ['-c', script], { env: { PAYMENTS_KEY: 'secret' } })
  const calls = stdout.split('\u001e')
  expect(calls.pop(), script).toBe('')
  expect(calls.length, script).toBe(requests.length)
  for (const [at, { text, path, instanceId, command }] of requests.entries()) {
    const args = calls[at]?.split('\0') ?? []
    expect(args, command).toContain('Idempotency-Key: new')
    expect(args, command).toContain('Authorization: Bearer secret')
    expect(args, command).toContain(`http://here${path}`)
    expect(args, command).toContain(`X-Instance-ID: ${instanceId}`)
    expect(JSON.parse(String(args[args.indexOf('--data-raw') + 1])), command).toEqual({ text })
    expect(command).not.toMatch(/[\u202a-\u202e]/)
  }
})

const dayOf = (ms: number) =>
  new Date(ms).toLocaleDateString('en-US', {
    ...({ weekday: 'short', month: 'short', day: 'numeric', year: 'numeric', timeZone: 'UTC' } as const),
  })
