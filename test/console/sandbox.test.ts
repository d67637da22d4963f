import { Hono } from 'hono'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SignIn } from '../../src/service/oauth/sign-in.ts'
import type { UserRow } from '../../src/service/store/schema/users.ts'
import { parseWorld } from '../../src/worlds/parse.ts'
import { activeSubscription, invitation, purchase, sentRequest, withdrawal } from '../isolation/makers.ts'
import { groundsIn } from '../isolation/places.ts'
import { createVisitor, type Visitor } from '../pages/oauth-site.ts'
import { onEachDatabase } from '../support/databases.ts'
import { fakeSystem } from '../support/fake-system.ts'
import { addParty, createWorld, type World } from '../support/world.ts'
import { type ConsoleSite, createConsoleSite } from './console-site.ts'

const address = '/console/sandbox'

/** Returns the form token of the sandbox page's own forms, not that of the sign-out form. */
const tokenIn = (text: string) =>
  /action="\/console\/sandbox\/[^>]*><input type="hidden" name="formToken" value="([^"]+)"/.exec(text)?.[1] ?? ''

const visitorOf = (world: World, session?: string) =>
  createVisitor(
    new Hono().all('*', (c) => world.service.fetch(c.req.raw)),
    session === undefined ? {} : { session },
  )

onEachDatabase('the sandbox page of the console', (database) => {
  let site: ConsoleSite
  let owner: Visitor
  beforeAll(async () => {
    site = await createConsoleSite(database)
    owner = await site.visitor()
  })
  afterAll(() => site.world.drop())

  const createSiteVisitor = async (user: UserRow) => visitorOf(site.world, await site.sessionOf(user))

  const page = async () => {
    const { status, text } = await owner.open(address)
    expect(status, text).toBe(200)
    return text
  }
  const press = async (action: string, fields: Record<string, string> = {}) => {
    await page()
    const { status, location, text } = await owner.send(`${address}/${action}`, fields)
    expect({ status, location }, text).toEqual({ status: 303, location: `${address}?done=${action}` })
    expect((await owner.open(`${address}?done=${action}`)).text).toContain('role="status" class="done"')
  }
  const now = async () => Date.parse((await site.world.get('/simulations/clock')).json.data.attributes.now)
  const rules = async () =>
    (await site.world.get('/simulations/faults')).json.data
      .filter(({ attributes }: { attributes: { origin: string } }) => attributes.origin === 'operation')
      .map(({ id }: { id: string }) => id)
  const lastActions = async (count: number) =>
    (await site.world.get(`/activity?limit=${count}`, { key: site.world.apiKey })).json.data.map(
      ({ attributes: { operation, actorType, userId } }: { attributes: Record<string, string> }) =>
        `${operation} ${actorType} ${userId}`,
    )

  test("each clock button moves the clock as its label says, and the move is recorded as the user's activity", async () => {
    const before = await now()
    await press('hour')
    await press('day')
    await press('to', { to: '2031-02-03T04:05:06' })
    expect(before).toBeLessThan(Date.parse('2031-01-01T00:00:00Z'))
    expect(await now()).toBe(Date.parse('2031-02-03T04:05:06Z'))
    expect(await page()).toContain('2031')
    expect(await lastActions(3)).toEqual(Array(3).fill(`advance_sandbox_clock user ${site.owner.id}`))
  })

  test('a form that is submitted twice acts once', async () => {
    await page()
    const before = await now()
    await owner.send(`${address}/day`)
    await owner.send(`${address}/day`)
    expect(await now()).toBe(before + 86_400_000)
    // A newly loaded page has a new form. Submitting the new form is not a repeat, so it acts again.
    await press('day')
    expect(await now()).toBe(before + 2 * 86_400_000)
  })

  test('the button for the next event applies that event and no later event', async () => {
    const { world } = site
    const createHold = async () => {
      const { json } = await world.authorize(await world.issueCard({ maximumAmount: 700 }), 400)
      return json.data.id as string
    }
    const states = async (ids: string[]) =>
      Promise.all(ids.map(async (id) => (await world.get(`/card-transactions/${id}`)).json.data.attributes.status))
    const first = await createHold()
    await press('hour')
    const second = await createHold()
    expect(await states([first, second])).toEqual(['authorized', 'authorized'])
    await press('next')
    expect(await states([first, second])).toEqual(['reversed', 'authorized'])
    await press('next')
    expect(await states([first, second])).toEqual(['reversed', 'reversed'])
    expect(await page()).not.toContain('Purchase hold expires')
  })

  test('due effects are applied before the page is shown', async () => {
    const { world } = site
    await world.authorize(await world.issueCard({ maximumAmount: 700 }), 400)
    expect(await page()).toContain('Purchase hold expires')
    world.system.pass(400 * 86_400_000)
    owner = await site.visitor()
    expect(await page()).not.toContain('Purchase hold expires')
  })

  test("the party's upcoming effects are listed in order of time, each with its record and a link to details", async () => {
    const on = await groundsIn(site.world)
    const { own } = on.places
    const cardId = await site.world.issueCard({ merchant: { name: 'A\u202e<b>' } }, { instanceId: 'next' })
    await site.world.authorize(cardId, 1234, { instanceId: 'next' })
    await withdrawal(on, own)
    const { invitationId } = await invitation(on, own)
    await sentRequest(on, own)
    const { subscriptionId } = await activeSubscription(on, own)
    await purchase(on, on.places.stranger)
    const text = await page()
    const items = [...text.matchAll(/<li[^>]*>([^:<]*): .*?<time datetime="([^"]+)">.*?<\/li>/gs)]
    const timestamps = items.map(([, , at]) => String(at))
    expect(timestamps).toEqual(timestamps.toSorted())
    const effects = Object.fromEntries(
      items.map(([item, kind]) => [
        String(kind),
        [/<(?:bdi|code)>(.*?)<\/(?:bdi|code)>/.exec(item)?.[1], /href="([^"]*)"/.exec(item)?.[1]],
      ]),
    )
    const run = site.runPath('run 1')
    expect(effects).toEqual({
      'Bank transfer settles, fails or is returned': ['$0.10, without a description', run],
      'Purchase hold expires': [expect.stringMatching(/^\$12\.34 at (?!.*(?:<b>|\u202e))/), site.runPath('next')],
      'Customer invitation expires': [invitationId, `/console/records/${invitationId}`],
      'Payment request expires': ['$0.10, without a description', run],
      'Subscription is charged': ['Gym', `/console/money#${subscriptionId}`],
    })
  })

  test('faults can be set and cleared, their uses are counted, and the page explains why a fault is invalid', async () => {
    await press('fault', { id: 'lost', operation: 'issue_agent_card', fault: 'effect_then_lost', times: '1' })
    await press('fault', { path: '/wallets', fault: 'error', every: '2' })
    expect(await rules()).toHaveLength(2)
    expect((await site.world.get('/wallets')).status).toBe(200)
    expect((await site.world.get('/wallets')).status).toBe(500)
    expect(await page()).toMatch(
      /\/wallets[\s\S]*?server_error[\s\S]*?every[\s\S]*?class="number">2<\/td>\s*<td[^>]*class="number">1<\/td>/,
    )
    await page()
    const wrong = await owner.send(`${address}/fault`, { operation: 'get_nothing', fault: 'slow', nth: 'three' })
    expect(wrong.status).toBeGreaterThanOrEqual(400)
    expect(wrong.text).toMatch(/role="alert">Nothing was changed\. [^<]{10}/)
    expect(await rules()).toHaveLength(2)
    await press('clear', { faultId: 'lost' })
    expect(await rules()).toHaveLength(1)
    await page()
    expect((await owner.post(`${address}/clear`, { faultId: 'lost' })).status).toBe(403)
    await press('fault', { id: 'two', operation: '*', fault: 'slow', afterMs: '1', instanceId: 'elsewhere' })
    await page()
    // A form without a rule id clears all rules.
    const { text } = await owner.open(address)
    const token = tokenIn(text)
    expect((await owner.post(`${address}/clear`, { formToken: token })).status).toBe(303)
    expect(await rules()).toEqual([])
  })

  test('snapshots can be saved, restored and deleted; a reset restores the initial world and signs nobody out', async () => {
    await press('save', { name: 'before' })
    expect(await page()).toContain('<strong>before</strong>')
    const saved = await now()
    const cardId = await site.world.issueCard()
    await press('day')
    await press('restore', { name: 'before' })
    expect((await site.world.get(`/agent-cards/${cardId}`)).status).toBe(404)
    expect(await now()).toBeLessThan(saved + 86_400_000)
    await press('delete', { name: 'before' })
    expect(await page()).toContain('No snapshots yet')
    await site.world.issueCard()
    await press('reset')
    expect((await site.world.get('/agent-cards')).json.data).toEqual([])
    expect((await owner.open('/console')).status).toBe(200)
  })

  test('a form from another site, a form with an invalid token and an unknown action change nothing', async () => {
    await page()
    const before = await now()
    const headers = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
    expect((await owner.send(`${address}/day`, {}, headers)).status).toBe(403)
    const member = await createSiteVisitor(await site.addUser())
    await member.open(address)
    expect((await member.post(`${address}/day`, { formToken: 'x' })).status).toBe(403)
    expect((await owner.send(`${address}/day`, { formToken: 'x' })).status).toBe(403)
    const token = tokenIn(await page())
    expect((await owner.post(`${address}/constructor`, { formToken: token })).status).toBe(404)
    expect((await visitorOf(site.world).open(address)).location).toBe(`/sign-in?next=${encodeURIComponent(address)}`)
    expect(await now()).toBe(before)
  })

  test('a user of another party can see and move the clock, but cannot see faults and snapshots or reset the world', async () => {
    const other = await addParty(site.world)
    const user = await site.addUser({ partyId: other.partyId, role: 'OWNER' })
    await press('fault', { id: 'hidden', operation: 'get_wallet', fault: 'slow' })
    await press('save', { name: 'secret' })
    const visitor = await createSiteVisitor(user)
    const { text } = await visitor.open(address)
    expect(text).toContain('Only users of the world’s first party')
    expect(text).not.toContain('hidden</code>')
    expect(text).not.toContain('secret')
    expect((await visitor.open(`${address}?part=faults`)).text).toBe('')
    await visitor.open(address)
    const token = tokenIn(text)
    const reset = await visitor.post(`${address}/reset`, { formToken: token })
    expect(reset.status).toBe(403)
    expect(reset.text).toContain('Only the first party')
    expect(await rules()).toEqual(['hidden'])
    expect((await visitor.send(`${address}/hour`)).status).toBe(303)
    await press('clear', { faultId: 'hidden' })
  })
})

onEachDatabase('the sandbox page in production and in rehearsals', (database) => {
  test('the sandbox page does not exist in production', async () => {
    const world = await createWorld(database, { environment: 'production' })
    const send = (method: string) => world.service.fetch(new Request(`http://sandbox.test${address}`, { method }))
    expect((await send('POST')).status).toBe(404)
    // production.test.ts covers a signed-in user, who sees a page saying that the address does not exist.
    expect((await send('GET')).headers.get('location')).toMatch(/^\/sign-in\?/)
    await world.drop()
  })

  test('in a rehearsal, a user who signed in with one click can neither see faults nor manage the sandbox', async () => {
    const file =
      'rehearsal: true\nparties:\n  acme:\n    wallets: { main: { balance: 100000 } }\n    agents: { shopper: {} }\n    users: { owner: { name: Ann, email: owner@acme.example } }\n'
    const system = fakeSystem()
    const world = await createWorld(database, { world: parseWorld(file, 'world.yaml'), system })
    const rule = { id: 'trap', operation: 'issue_agent_card', fault: 'error', code: 'rate_limited' }
    expect((await world.post('/simulations/faults', rule, { key: world.apiKey })).status).toBe(200)
    const signIn = new SignIn({ store: world.store, system })
    const begun = await signIn.asOwner({ address: '127.0.0.1', browser: undefined })
    const visitor = visitorOf(world, begun?.session ?? '')
    const { text } = await visitor.open(address)
    expect(text).not.toContain('trap')
    expect(text).toContain('with your password')
    expect((await visitor.open(`${address}?part=faults`)).text).not.toContain('trap')
    await visitor.open(address)
    const token = tokenIn(text)
    for (const action of ['clear', 'reset', 'save', 'fault']) {
      const refused = await visitor.post(`${address}/${action}`, { formToken: token, name: 'x' })
      expect(refused.status).toBe(403)
      expect(refused.text).toContain('with your password')
    }
    expect((await world.get('/simulations/faults', { key: world.apiKey })).text).toContain('trap')
    await world.drop()
  })
})
