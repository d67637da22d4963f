import { afterAll, beforeAll, expect, test } from 'vitest'
import { firstTampered } from '../../src/service/request/activity.ts'
import { codeAt, setUpApp } from '../approvals/authenticator.ts'
import { inviters } from '../customers/world.ts'
import { merchant } from '../subscriptions/merchant.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createPersonSite, type PersonSite } from './person-site.ts'

const card = { number: '4242424242424242', expiry: '12/30', cvv: '123' }

onEachDatabase('the activity entries for actions on pages', (database) => {
  let site: PersonSite

  beforeAll(async () => {
    site = await createPersonSite(database)
  })
  afterAll(() => site.world.drop())

  /** Returns the newest entry of the party's activity. */
  async function lastEntry() {
    const { json } = await site.world.get('/activity?limit=1', { key: site.world.apiKey })
    const { operation, actorType, userId, keyId, resourceIds, result } = json.data[0].attributes
    return { operation, actorType, userId, keyId, resourceIds, status: result.httpStatus }
  }
  const byUser = () => ({ actorType: 'user', userId: site.owner.id, keyId: site.owner.id, status: 200 })
  const byVisitor = (id: string) => ({ actorType: 'visitor', userId: null, keyId: id, status: 200, resourceIds: [id] })
  const send = (path: string, attributes: object) =>
    site.world.service.fetch(
      new Request(`http://127.0.0.1:4010${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ data: { attributes } }),
      }),
    )

  test('a sign-in is listed in the activity', async () => {
    const visitor = await site.visitor()
    await visitor.open('/sign-in')
    await visitor.send('/sign-in', { as: 'owner' })
    expect(await lastEntry()).toEqual({ ...byUser(), operation: 'sign_in', resourceIds: [site.owner.id] })
  })

  test('showing a card number is listed in the activity, without the number', async () => {
    const cardId = await site.world.issueCard()
    const pageLink = await site.world.post(`/agent-cards/${cardId}/details-page`, {})
    const path = new URL(pageLink.json.data.attributes.url).pathname
    const visitor = await site.visitor(site.owner)
    await visitor.open(path)
    expect((await visitor.send(path)).status).toBe(200)
    expect(await lastEntry()).toEqual({ ...byUser(), operation: 'show_agent_card', resourceIds: [cardId] })
    expect((await site.world.get('/activity', { key: site.world.apiKey })).text).not.toContain('4242')
  })

  test('setting up an authenticator app is listed in the activity, without its secret or code', async () => {
    const visitor = await site.visitor(site.owner)
    const secret = await setUpApp(visitor, site.world.system)
    expect(await lastEntry()).toEqual({ ...byUser(), operation: 'enrol_second_factor', resourceIds: [site.owner.id] })
    const activity = await site.world.get('/activity', { key: site.world.apiKey })
    expect(activity.text).not.toContain(secret)
    expect(activity.text).not.toContain(codeAt(secret, site.world.system.now() - 30_000))
  })

  test('a payer’s actions at the checkout are listed in the activity, with the id of the subscription', async () => {
    const shop = merchant(site.world)
    const id = await shop.create()
    const { clientSecret } = await shop.read(id)
    const declined = await send('/checkout/pay', { clientSecret, ...card, number: '4000000000000002' })
    expect(declined.status).toBe(200)
    expect(await lastEntry()).toEqual({ ...byVisitor(id), operation: 'pay_checkout', status: 402 })
    const paid = await send('/checkout/pay', { clientSecret, ...card })
    const { manageToken } = ((await paid.json()) as { data: { attributes: { manageToken: string } } }).data.attributes
    expect(await lastEntry()).toEqual({ ...byVisitor(id), operation: 'pay_checkout' })
    expect((await send('/checkout/stop', { manageToken })).status).toBe(200)
    expect(await lastEntry()).toEqual({ ...byVisitor(id), operation: 'stop_subscription' })
    const activity = (await site.world.get('/activity', { key: site.world.apiKey })).text
    for (const secret of [clientSecret, manageToken]) expect(activity).not.toContain(secret)
  })

  test.each(['accept', 'decline'] as const)('the decision to %s an invitation is in the activity', async (decision) => {
    const us = await inviters(site.world)
    const { id, url } = await us.pending()
    const visitor = await site.visitor()
    const { pathname } = new URL(url)
    await visitor.open(pathname)
    expect((await visitor.send(pathname, { decision })).status).toBe(303)
    expect(await lastEntry()).toEqual({ ...byVisitor(id), operation: `${decision}_customer_invitation` })
  })

  test('the hash chain of the party’s activity is intact', async () => {
    const { partyId } = await site.world.whoami()
    expect(await site.world.store.transaction((tx) => firstTampered(tx, partyId))).toBeNull()
  })
})
