import { afterAll, beforeAll, expect, test } from 'vitest'
import { runIdOf } from '../../src/service/request/run-log.ts'
import type { Visitor } from '../pages/oauth-site.ts'
import { ok, payer } from '../payments/payer.ts'
import { entriesOf } from '../runs/stored-entries.ts'
import { onEachDatabase } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { addParty, type OtherParty } from '../support/world.ts'
import { type ConsoleSite, createConsoleSite } from './console-site.ts'

/** A party with records for every page of the console, and a signed-in user of the party. */
interface PartyWithRecords {
  visitor: Visitor
  agentId: string
  /** The ids to put into page addresses, by the name of the path parameter. */
  ids: Record<string, string>
  /** The ids, words and amounts that only this party's records contain. */
  traces: readonly string[]
}

/** A card number that is part of names in the parties' records. No page of the console may show it. */
const cardNumber = '4242424242424242'

/** Query strings that some pages of the console accept. Every page is opened with each of them. */
const views = ['', '?fragment=1', '?newest=1&fragment=1', '?part=wallet', '?format=json', '?format=md', '?format=html']

onEachDatabase('the console in production', (database) => {
  let site: ConsoleSite
  let parties: readonly [PartyWithRecords, PartyWithRecords]
  beforeAll(async () => {
    site = await createConsoleSite(database, { environment: 'production' })
    parties = [
      await addRecords(await addParty(site.world), 'Oak', 1357),
      await addRecords(await addParty(site.world), 'Birch', 2468),
    ]
  })
  afterAll(() => site.world.drop())

  async function addRecords(
    { partyId, agentId, walletId, apiKey, agentKey }: OtherParty,
    word: string,
    amount: number,
  ): Promise<PartyWithRecords> {
    const { world } = site
    const { setLimits } = payer(world)
    const name = `${word}${cardNumber}`
    const sent = { key: agentKey, instanceId: `${word} run` }
    const counterparty = { type: 'email', value: `${word.toLowerCase()}@example.com` }
    await world.store.transaction(({ db }) =>
      db
        .updateTable('agents')
        .set({ name: `${name} agent` })
        .where('id', '=', agentId)
        .execute(),
    )
    const pay = (description: string) => world.post('/payments', { amount, counterparty, description }, sent)
    const request = { amount, payer: counterparty, description: `${name} bill` }
    const terms = { description: `${name} gym`, every: { unit: 'month', count: 1 }, amount, taxAmount: 0 }
    const answers = [
      ok(await world.post('/wallets', { displayName: `${name} wallet` }, { key: apiKey })),
      ok(
        await world.post(
          '/agent-cards',
          { merchant: { name: `${name} books` }, maximumAmount: amount, currency: 'USD' },
          sent,
        ),
      ),
      ok(await pay(`${name} rent`)),
      await world.post('/payment-requests', request, sent),
      await world.post('/subscriptions', terms, sent),
    ]
    await setLimits('agents', agentId, { perTransaction: 1 })
    answers.push(ok(await pay(`${name} to be approved`)))
    await setLimits('agents', agentId, null)
    for (const { status, text } of answers) expect(status, text).toBeLessThan(300)
    const entries = await entriesOf(world, sent.instanceId, partyId)
    const user = await site.addUser({ partyId, name: `${name} person`, role: 'OWNER' })
    const ids = {
      runId: runIdOf(partyId, sent.instanceId),
      entryId: entries[0]?.id ?? '',
      walletId,
      id: entries[0]?.supportId ?? '',
      recordId: answers[1]?.json.data.id,
    }
    const foundIds = answers.flatMap(({ text }) => text.match(/\b[a-z]{3}_[0-9a-f]{32}\b/g) ?? [])
    const traces = [...Object.values(ids), ...foundIds, ...entries.map(({ id }) => id), partyId, agentId, word]
    return {
      visitor: await site.visitor(user),
      ...{ agentId, ids },
      traces: [...new Set([...traces, word.toLowerCase(), `${amount / 100}`])],
    }
  }

  const pairs = () => [parties, parties.toReversed() as [PartyWithRecords, PartyWithRecords]] as const
  const paths = () =>
    site.world.service.routes.flatMap(({ method, path }) =>
      method === 'GET' && path.startsWith('/console') && !['/console/stream', '/console/*'].includes(path)
        ? [path]
        : [],
    )
  const namesIn = (path: string) => [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  /**
   * Returns the traces of a party that a page contains. A page may repeat the requested id, so traces within the
   * requested id do not count.
   */
  const tracesIn = (text: string, { traces }: PartyWithRecords, requestedId = '') =>
    traces.filter((trace) => text.replaceAll(requestedId === '' ? '\0' : requestedId, '').includes(trace))

  function fillPath(path: string, ids: Record<string, string>): string {
    return path.replace(/:(\w+)/g, (_, name: string) => {
      const id = ids[name]
      if (id === undefined) throw new Error(`Add an id for ${name} in ${path} to this test.`)
      return id
    })
  }

  test('the production console has no sandbox page and no sandbox form', async () => {
    const routes = site.world.service.routes.filter(({ path }) => path.startsWith('/console'))
    expect(routes.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /console/stream',
      'GET /console',
      'GET /console/runs/:runId',
      'GET /console/runs/:runId/entries/:entryId',
      'GET /console/find',
      'GET /console/requests/:id',
      'GET /console/records/:recordId',
      'GET /console/search',
      'GET /console/money',
      'GET /console/money/wallets/:walletId',
      'GET /console/runs/:runId/report',
      'GET /console/*',
    ])
    const [{ visitor }] = parties
    expect((await visitor.open('/console/sandbox')).status).toBe(404)
    for (const action of ['hour', 'reset', 'fault'])
      expect((await visitor.post(`/console/sandbox/${action}`, {})).status).toBe(404)
  })

  test('the production console has no one-click sign-in', async () => {
    const nobody = await site.visitor()
    nobody.cookies.clear()
    for (const path of paths()) {
      const { status, location } = await nobody.open(fillPath(path, parties[0].ids))
      expect(status).toBe(303)
      expect(location).toMatch(/^\/sign-in\?next=/)
      expect((await nobody.open(location ?? '')).text).not.toMatch(/Continue as|name="as"/)
    }
    expect((await nobody.post('/sign-in', { as: 'owner', next: '/console' })).status).toBe(403)
    expect((await nobody.open('/console')).status).toBe(303)
  })

  test("each page shows only records of the user's own party, masks card numbers in names, and never mentions a sandbox", async () => {
    for (const [own, other] of pairs()) {
      for (const path of paths()) {
        for (const view of views) {
          const shown = await own.visitor.open(fillPath(path, own.ids) + view)
          const where = `${path}${view}`
          expect(shown.status, where).toBe(/find|requests/.test(path) ? 303 : 200)
          // Without a text to search for, the search page shows no records.
          if (shown.status !== 200 || path.endsWith('search')) continue
          expect(tracesIn(shown.text, own).length, where).toBeGreaterThan(0)
          expect(tracesIn(shown.text, other), where).toEqual([])
          expect(shown.text, where).not.toContain(cardNumber)
          const words = shown.text
            .replace(/<style>[\s\S]*?<\/style>|href="\/styles\/[^"]*"/g, '')
            .match(/.{0,80}(?:sandbox|simulat|test card)/gi)
          expect(words, where).toBeNull()
        }
      }
    }
  })

  test("a page is not found if any path parameter of its address is another party's id", async () => {
    let tried = 0
    for (const [own, other] of pairs()) {
      for (const path of paths().filter((one) => namesIn(one).length > 0)) {
        for (const foreign of subsetsOf(namesIn(path))) {
          const ids = { ...own.ids, ...Object.fromEntries(foreign.map((name) => [name, other.ids[name] ?? ''])) }
          for (const view of views) {
            const address = fillPath(path, ids) + view
            const { status, text } = await own.visitor.open(address)
            expect(status, address).toBe(404)
            const foreignTraces = tracesIn(text, other).filter((trace) => !address.includes(trace))
            expect(foreignTraces, address).toEqual([])
            expect(text, address).toContain('<nav aria-label="Pages">')
            tried++
          }
        }
      }
    }
    expect(tried).toBeGreaterThan(50)
  })

  test("another party's ids, used as filters or cursors, reveal nothing of that party", async () => {
    const names = ['id', 'agent', 'host', 'before', 'after', 'cursor', 'list', 'text', 'calls', 'money', 'events']
    for (const [own, other] of pairs()) {
      for (const [at, path] of paths().entries()) {
        for (const name of names) {
          for (const id of sampleOf([...Object.values(other.ids), other.agentId], 4, at + names.indexOf(name))) {
            const { text, location } = await own.visitor.open(`${fillPath(path, own.ids)}?${name}=${id}`)
            expect(tracesIn(text, other, id), `${path}?${name}=${id}`).toEqual([])
            // `/console/find` redirects to an address that contains the given id, whether or not the id exists.
            expect((location ?? '').replaceAll(id, '')).not.toContain(other.ids.runId)
          }
        }
      }
    }
  })

  test("the event stream accepts topics of the user's own party, but none of other parties or of a sandbox", async () => {
    for (const [own, other] of pairs()) {
      const ask = async (...topics: string[]) => {
        const query = new URLSearchParams(topics.map((topic): [string, string] => ['topic', topic]))
        const Cookie = [...own.visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
        const request = new Request(`http://127.0.0.1:4010/console/stream?${query}`, { headers: { Cookie } })
        const { status, body } = await site.world.service.fetch(request)
        await body?.cancel()
        return status
      }
      expect(await ask('runs', 'money', `run:${own.ids.runId}`)).toBe(200)
      for (const topic of ['sandbox', `run:${other.ids.runId}`, `run:${other.ids.entryId}`, other.ids.walletId ?? '']) {
        expect(await ask(topic), topic).toBe(404)
        expect(await ask('runs', topic), topic).toBe(404)
      }
    }
  })
})

/** Returns all non-empty subsets of the items. */
function subsetsOf<Item>(items: readonly Item[]): Item[][] {
  const masks = Array.from({ length: 2 ** items.length - 1 }, (_, at) => at + 1)
  return masks.map((mask) => items.filter((_, at) => (mask >> at) % 2 === 1))
}
