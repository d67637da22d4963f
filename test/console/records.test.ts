import { afterAll, beforeAll, expect, test } from 'vitest'
import { isId } from '../../src/service/pages/frame/ids.ts'
import { maxEntriesSearched } from '../../src/service/store/run-search.ts'
import { insertRunEntries } from '../../src/service/store/runs.ts'
import { decoded } from '../pages/decoded.ts'
import type { Visitor } from '../pages/oauth-site.ts'
import { ok } from '../payments/payer.ts'
import { cardFor, pay, startCheckout } from '../shops/shopping.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty } from '../support/world.ts'
import { type ConsoleSite, createConsoleSite } from './console-site.ts'

onEachDatabase('records in the console', (database) => {
  let site: ConsoleSite
  let owner: Visitor
  const instanceId = 'a day of shopping'
  /** The id of one record of each kind, by kind. */
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    site = await createConsoleSite(database)
    owner = await site.visitor()
    const { world } = site
    ids.card = await world.issueCard({ maximumAmount: 700 }, { instanceId })
    ids.purchase = ok(await world.authorize(ids.card, 400, { instanceId })).json.data.id
    ids.payment = ok(
      await world.post(
        '/payments',
        { amount: 300, counterparty: { type: 'email', value: 'sam@example.com' }, description: 'Rent' },
        { instanceId },
      ),
    ).json.data.id
    const sent = { instanceId }
    const asked = { amount: 200, payer: { type: 'email', value: 'sam@example.com' }, description: 'Lunch' }
    ids.request = ok(await world.post('/payment-requests', asked, sent)).json.data.id
    const terms = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 900, taxAmount: 0 }
    ids.subscription = ok(await world.post('/subscriptions', terms, sent)).json.data.id
    const byKey = { key: world.apiKey, instanceId }
    const { agentId, partyId } = await world.whoami()
    const agents = [{ agentId, permissions: ['payments.read'] }]
    const invited = { recipients: [{ type: 'email', value: 'kim@example.com' }], agents }
    ids.invitation = ok(await world.post('/customers/invitations', invited, byKey)).json.data[0].id
    const key = (await world.post('/api-keys', { name: 'A key' }, byKey)).json.data
    ids.apiKey = key.id
    const { typed } = await cardFor(world, 'Plain Goods', { maximumAmount: 5000 })
    const checkout = await startCheckout(world, 'plain-goods', { items: [{ productId: 'stoneware-mug' }] }, sent)
    ids.checkout = checkout.id
    ids.order = ok(await pay(world, checkout.id, typed, 1800, sent)).json.data.attributes.orderId
    ids.agent = agentId ?? ''
    ids.party = partyId
    const first = async (path: string, key = world.apiKey) => ok(await world.get(path, { key })).json.data[0].id
    ids.wallet = await first('/wallets')
    ids.event = await first('/events')
    ids.activity = await first('/activity')
    const [entry] = await site.entries(instanceId)
    ids.entry = entry?.id ?? ''
    ids.call = entry?.supportId ?? ''
    ids.run = entry?.runId ?? ''
    const [posted] = await world.store.read(({ db }) => db.selectFrom('ledgerEntries').selectAll().limit(1).execute())
    ids.posting = posted?.postingId ?? ''
    ids.ledgerEntry = posted?.id ?? ''
  })
  afterAll(() => site.world.drop())

  const found = async (id: string) => {
    const { status, location } = await owner.open(`/console/find?id=${id}`)
    expect([id, status]).toEqual([id, 303])
    return await owner.open(location ?? '')
  }

  test('every id on a page of the console is a link, and `/console/find` leads from an id to the page of its record', async () => {
    for (const [kind, id] of Object.entries(ids)) {
      const { status, text } = await found(id)
      expect([kind, isId(id), status, text.includes(id)]).toEqual([kind, true, 200, true])
    }
    const pages = ['/console/money', '/console/sandbox', site.runPath(instanceId), '/decisions']
    for (const entry of await site.entries(instanceId)) pages.push(site.entryPath(entry))
    for (const id of Object.values(ids)) pages.push(`/console/records/${id}`)
    const shown = new Set<string>()
    for (const path of pages) {
      const { text } = await owner.open(path)
      const [, main = ''] = text.split('<main')
      for (const [, id = ''] of main.matchAll(/href="\/console\/records\/([^"?#]+)/g)) shown.add(id)
      // An id that people are meant to copy is not a link, for example in a curl command or at the top of a record's
      // page.
      const plain = main
        .replace(/<a [^>]*>[\s\S]*?<\/a>/g, '')
        .replace(/<code id="(?:record-id|support-|curl-)[\s\S]*?<\/code>/g, '')
        .replace(/<[^>]*>/g, ' ')
      expect([path, plain.match(/\b(?!idk_)[a-z]{3}_[0-9a-f]{32}\b/g)]).toEqual([path, null])
    }
    expect(shown.size).toBeGreaterThan(20)
    for (const id of shown) expect([id, (await found(id)).status]).toEqual([id, 200])
  })

  test("a record's page shows the record's state, money, calls, events and activity", async () => {
    const { text } = await owner.open(`/console/records/${ids.purchase}`)
    expect(text).toMatch(/<h1>Card transaction<\/h1>/)
    expect(text).toContain('authorized')
    const sections = Object.fromEntries(
      [...text.matchAll(/<section aria-labelledby="(\w+)">([\s\S]*?)<\/section>/g)].map(([, name, html]) => [
        name,
        html,
      ]),
    )
    expect(sections.related).toContain(ids.card)
    expect(sections.money).toMatch(/Hold placed[\s\S]*\$4\.00/)
    expect(sections.calls).toMatch(/Authorized \$4\.00 at Books/)
    expect(sections.events).toContain('card_transaction.authorized')
    expect(sections.activity).toContain(site.runPath(instanceId))
    expect(sections.now).toContain(`<a href="/console/records/${ids.card}">${ids.card}</a>`)
    const card = await owner.open(`/console/records/${ids.card}`)
    expect(card.text).toMatch(/Hold placed/)
  })

  test("another party's id gets the same 404 page as an id that does not exist", async () => {
    const { agentKey } = await addParty(site.world)
    const theirs = ok(
      await site.world.post(
        '/payment-requests',
        { amount: 5, payer: { type: 'email', value: 'a@example.com' }, description: 'Theirs' },
        { key: agentKey, instanceId: 'theirs' },
      ),
    )
    await site.world.service.runLog.flush()
    const theirId = theirs.json.data.id as string
    const missingId = `prq_${'0'.repeat(32)}`
    const [theirPage, missingPage] = [
      await owner.open(`/console/records/${theirId}`),
      await owner.open(`/console/records/${missingId}`),
    ]
    expect([theirPage.status, missingPage.status]).toEqual([404, 404])
    expect(theirPage.text.replaceAll(theirId, 'ID')).toBe(missingPage.text.replaceAll(missingId, 'ID'))
    expect((await owner.open('/console/search?text=Theirs')).text).not.toContain('payment_request')
  })

  test('if a text is not an id, `/console/find` searches the masked requests and responses for it, ignoring case', async () => {
    const { location } = await owner.open('/console/find?id=stoneware')
    expect(location).toBe('/console/search?text=stoneware')
    const { text } = await owner.open('/console/search?text=STONEWARE')
    expect(text).toMatch(/<mark>stoneware<\/mark>/)
    expect(text).toContain('Started a checkout of $18.00 at Plain Goods')
    expect((await owner.open('/console/search?text=100%25')).text).toContain('Nothing was found')
    const { json } = await site.world.get(`/agent-cards/${ids.card}/details`, { instanceId })
    await site.world.service.runLog.flush()
    const { number } = json.data.attributes
    const { text: masked } = await owner.open(`/console/search?text=${number.slice(-8)}`)
    expect(masked).toContain('Nothing was found')
  })

  test('each page of a search reads a limited number of entries, and the next page continues where it stopped', async () => {
    const { world } = site
    const longRun = 'a long run'
    await world.get('/wallets', { instanceId: longRun })
    const [first] = await site.entries(longRun)
    if (first === undefined) throw new Error('The run has no entry.')
    const { partyId, runId, kind, operation, outcome, keyHash, atMs } = first
    const unusedColumns = {
      agentId: null,
      status: 200,
      code: null,
      amountCents: null,
      counterparty: null,
      fault: null,
      ms: 1,
    }
    const entries = Array.from({ length: maxEntriesSearched }, (_, at) => ({
      row: {
        ...{
          partyId,
          runId,
          kind,
          operation,
          outcome,
          keyHash,
          atMs,
          ...unusedColumns,
          supportId: null,
          toolCall: null,
        },
        id: `ent_${(atMs + 1).toString(16).padStart(12, '0')}${at.toString(16).padStart(20, '0')}`,
        detail: JSON.stringify({ answer: '{}' }),
      },
      ...{ instanceId: longRun, host: null, spentCents: 0 },
    }))
    await world.store.transaction((tx) => insertRunEntries(tx, entries))
    const begun = await owner.open('/console/search?text=stoneware')
    expect(begun.text).toContain('so far')
    const [, onward = ''] = /<a href="([^"]*)">Continue the search/.exec(begun.text) ?? []
    expect((await owner.open(decoded(onward))).text).toMatch(/<mark>stoneware<\/mark>/)
    // The search for a record's calls starts at the creation of the record and goes forward. So it finds the call that
    // issued the card before it reaches the many newer entries.
    expect((await owner.open(`/console/records/${ids.card}`)).text).toContain('Issued a card of up to $7.00')
  })
})
