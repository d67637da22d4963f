import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { mfaLifetimeMs } from '../../src/service/rules/approvals.ts'
import { createService, type Service } from '../../src/service/service.ts'
import { activityHead, headIsSealed } from '../../src/service/store/activity.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { createPendingDecisions } from '../../src/service/store/pending-decisions.ts'
import { rootKeys } from '../../src/service/store/root-keys.ts'
import { type ApprovalWorld, codeAt, createApprovalWorld } from '../approvals/authenticator.ts'
import { expectReplay } from '../request/replays.ts'
import { fullCart, shopOf, startCheckout } from '../shops/shopping.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { isDeep } from '../support/depth.ts'
import { createWorld, type World } from '../support/world.ts'
import { webhookHelpers } from '../webhooks/hooks.ts'
import { openReceiver, type Received, type Receiver } from '../webhooks/receiver.ts'

const monthly = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 2000, taxAmount: 150 }
const card = { number: '4242424242424242', expiry: '12/34', cvv: '987' }
const somebody = { type: 'email', value: 'somebody@example.org' }
const heldCall = {
  tool: 'create_payment',
  arguments: { amount: 5 },
  facts: ['Pay'],
  effect: '',
  approveLabel: 'Yes',
  spends: true,
}

onEachDatabase('retired root keys', (database) => {
  let world: World
  let approvals: ApprovalWorld
  let receiver: Receiver
  const opened: Store[] = []
  beforeEach(async () => {
    world = await createWorld(database)
    approvals = await createApprovalWorld(world)
    receiver = await openReceiver()
  })
  afterEach(async () => {
    vi.useRealTimers()
    await receiver.close()
    for (const store of opened.splice(0)) await store.close()
    await world.drop()
  })

  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const serviceOn = (store: Store): Service =>
    createService({ store, system: world.system, environment: 'sandbox', rateLimit: 1e6, log })

  /** Returns a store that works like the store of the world, but passes each transaction to `around`, which runs it. */
  const storeWith = (around: <T>(run: () => Promise<T>) => Promise<T>): Store => ({
    dialect: world.store.dialect,
    clock: world.store.clock,
    settling: world.store.settling,
    read: (work) => world.store.read(work),
    aside: (work) => world.store.aside(work),
    close: () => world.store.close(),
    transaction: (work, options) => around(() => world.store.transaction(work, options)),
  })

  /**
   * Creates a second service on the database, as another process would. While it waits for a lock, it sleeps in real
   * time.
   */
  async function startOther(): Promise<Service> {
    const store = await openStore({ url: world.url, system: { ...world.system, sleep: realSystem.sleep } })
    opened.push(store)
    return serviceOn(store)
  }

  const keys = () =>
    world.store.read((tx) => tx.db.selectFrom('rootKeys').select(['id', 'secret']).orderBy('id').execute())
  const statusOf = async (path: string) =>
    (await world.service.fetch(new Request(`http://127.0.0.1:4010${path}`))).status
  const pathOf = (url: unknown) => new URL(String(url)).pathname

  async function checkout(action: string, attributes: object) {
    const body = JSON.stringify({ data: { attributes } })
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
    const response = await world.service.fetch(new Request(`http://sandbox.test/checkout/${action}`, init))
    const answered = (await response.json()) as { data?: { attributes: Record<string, unknown> } }
    return answered.data?.attributes ?? {}
  }

  const isSignedBy = (secret: string, { text, headers }: Received) => {
    vi.useFakeTimers({ toFake: ['Date'], now: world.system.now() })
    try {
      return new Webhook(secret).verify(text, headers as Record<string, string>) !== undefined
    } catch {
      return false
    } finally {
      vi.useRealTimers()
    }
  }

  /**
   * Creates everything that depends on root keys. Returns a function that checks that all of it still works.
   * `isRestored` means that a snapshot was restored in the meantime. In this case, the function expects that the
   * pending call and the recorded response no longer exist.
   */
  async function makeDependents() {
    const party = { key: world.apiKey }
    const { partyId, agentId, keyId } = await world.whoami()
    const subscribe = async () => (await world.post('/subscriptions', monthly)).json.data.attributes
    const [unpaid, paid] = [await subscribe(), await subscribe()]
    const { manageToken } = await checkout('pay', { ...card, clientSecret: paid.clientSecret })
    const cart = await startCheckout(world, 'plain-goods', fullCart(shopOf('plain-goods')))
    const agents = [{ agentId, permissions: ['payments.read'] }]
    const customerInvitation = await world.post('/customers/invitations', { recipients: [somebody], agents }, party)
    const invitation = customerInvitation.json.data[0].attributes.url
    const email = `m${world.system.now()}@example.com`
    const member = (await world.post('/party-invitations', { invitations: [{ email, role: 'MEMBER' }] }, party)).json
    const request = (await world.post('/payment-requests', { amount: 100, payer: somebody }, party)).json.data
    const hooks = webhookHelpers(world, receiver)
    const [hook, rotated] = [await hooks.create(), await hooks.create()]
    const renewal = await world.post(`/webhooks/${rotated.id}/rotate-secret`, { expiresInSeconds: 86_400 }, party)
    const secrets = [hook.secret, rotated.secret, renewal.json.data.attributes.signingSecret as string]
    const user = await approvals.approver()
    const decisions = createPendingDecisions(world.store, world.system, { partyId, principalId: keyId })
    const decision = await decisions.keep({ ...heldCall, fingerprint: email })
    await decisions.finish(String(decision?.id), { data: { done: email } })
    const sent = { idempotencyKey: `payment ${email}`, ...party }
    const payment = { amount: 100, currency: 'USD', counterparty: somebody }
    const answered = await world.post('/payments', payment, sent)
    expect(answered.status, answered.text).toBeLessThan(300)
    const events = (await world.get('/events?limit=5', party)).json.data.map(({ id }: { id: string }) => id)
    const lasting = await world.service.derivedSecret('sentCalls')
    const seeded = await world.service.seed({ apiKey: undefined, agentKey: undefined })

    return async ({ isRestored = false } = {}) => {
      expect(await statusOf(pathOf(unpaid.checkoutUrl))).toBe(200)
      expect(await statusOf(`/checkout/manage/${manageToken}`)).toBe(200)
      expect((await checkout('session', { clientSecret: unpaid.clientSecret })).status).toBe('pending')
      expect(await statusOf(pathOf(cart.attributes.url))).toBe(200)
      for (const url of [invitation, member.data[0].attributes.url, request.attributes.paymentLinkUrl])
        expect(await statusOf(pathOf(url)), String(url)).toBe(200)
      expect((await world.get('/customers/invitations', party)).text).toContain(invitation)
      expect((await world.get('/party-invitations', party)).text).toContain(member.data[0].attributes.url)
      expect((await world.get(`/payment-requests/${request.id}`, party)).text).toContain(
        request.attributes.paymentLinkUrl,
      )
      receiver.received.splice(0)
      await hooks.createWallet()
      await hooks.deliver()
      for (const secret of secrets)
        expect(receiver.received.filter((one) => isSignedBy(secret, one)).length).toBeGreaterThan(0)
      world.system.pass(mfaLifetimeMs + 60_000)
      const url = await user.challenge()
      expect((await approvals.submit(url, codeAt(user.secret, world.system.now()))).status).toBe(303)
      const kept = { call: { arguments: { amount: 5 } }, answer: { data: { done: email } } }
      const [found, repeated] = [
        await decisions.find(String(decision?.id)),
        await world.post('/payments', payment, sent),
      ]
      if (isRestored) {
        expect(found).toBeUndefined()
        expect(repeated.status, repeated.text).toBeLessThan(300)
        expect(repeated.json.data.id).not.toBe(answered.json.data.id)
      } else {
        expect(found).toMatchObject(kept)
        expectReplay(repeated, answered)
      }
      for (const id of events) expect((await world.get(`/events/${id}`, party)).json.data.id).toBe(id)
      expect(await world.service.derivedSecret('sentCalls')).toBe(lasting)
      expect(await world.service.seed({ apiKey: undefined, agentKey: undefined })).toMatchObject({
        apiKey: seeded.apiKey,
        agentKey: seeded.agentKey,
      })
      await expectSealed(partyId)
    }
  }

  async function expectSealed(partyId: string) {
    const head = await world.store.read((tx) => activityHead(tx, partyId))
    expect(head && (await world.store.read((tx) => headIsSealed(tx, head)))).toBe(true)
  }

  test('retired keys are deleted, and values derived from them stay valid, even after another retirement', async () => {
    const works = await makeDependents()
    expect(await (await startOther()).retireKeys()).toMatchObject({ rootKey: 2, retired: [1] })
    expect(await keys()).toEqual([
      { id: 1, secret: '' },
      { id: 2, secret: expect.stringMatching(/.{40}/) },
    ])
    await expectSealed((await world.whoami()).partyId)
    await works()
    const worksToo = await makeDependents()
    await world.service.rotateKeys()
    expect(await world.service.retireKeys()).toMatchObject({ rootKey: 4, retired: [3, 2] })
    expect((await keys()).map(({ secret }) => secret === '')).toEqual([true, true, true, false])
    await works()
    await worksToo()
    const { rows } = {
      rows: await world.store.read((tx) => tx.db.selectFrom('carriedSecrets').select('sealedBy').execute()),
    }
    expect(new Set(rows.map(({ sealedBy }) => sealedBy))).toEqual(new Set([4]))
  })

  test('signatures by a retired key are refused for new records', async () => {
    const old = await world.store.read(rootKeys)
    const forged = (id: string) => `${id}_secret_${old.sign(id)}`
    await world.service.retireKeys()
    const { id, attributes } = (await world.post('/subscriptions', monthly)).json.data
    const intent = String(attributes.clientSecret).split('_secret_')[0] ?? ''
    expect(await checkout('session', { clientSecret: attributes.clientSecret })).toMatchObject({ status: 'pending' })
    expect(await checkout('session', { clientSecret: forged(intent) })).toEqual({})
    expect(await statusOf(`/checkout/${id}/${old.sign(`checkout page ${id}`)}`)).toBe(404)
  })

  test('retiring keys skips records created meanwhile; the old key cannot sign for them', async () => {
    const old = await world.store.read(rootKeys)
    const made: string[] = []
    let transactions = 0
    const busy = storeWith(async (run) => {
      transactions++
      const result = await run()
      world.system.pass(1)
      const { id } = made.length < 100 ? (await world.post('/subscriptions', monthly)).json.data : { id: '' }
      made.push(id)
      return result
    })
    await serviceOn(busy).retireKeys()
    expect(transactions).toBeLessThan(40)
    // The first two subscriptions may be older than the new key, so they may still accept signatures of the old key.
    for (const id of made.slice(2).filter((one) => one !== ''))
      expect(await statusOf(`/checkout/${id}/${old.sign(`checkout page ${id}`)}`)).toBe(404)
  })

  test('a snapshot can be restored after the keys of its records are retired', async () => {
    const works = await makeDependents()
    const { partyId } = await world.whoami()
    await world.post('/simulations/snapshots', { name: 'before' }, { key: world.apiKey })
    await world.service.retireKeys()
    const restored = await world.send('POST', '/simulations/snapshots/before/restore', { key: world.apiKey })
    expect(restored.status, restored.text).toBe(200)
    await expectSealed(partyId)
    await works({ isRestored: true })
  })

  test('two processes can retire keys at the same time while requests continue', async () => {
    const works = await makeDependents()
    const [one, other] = await Promise.all([startOther(), startOther()])
    // On a busy machine, a request may get 503 because it waited too long for the database. Clients then send it again.
    const subscribe = async (key: string): Promise<number> => {
      const { status } = await world.post('/subscriptions', monthly, { idempotencyKey: key })
      return status === 503 ? subscribe(key) : status
    }
    const requests = async () => {
      for (let count = 0; count < 20; count++) expect(await subscribe(`subscription ${count}`)).toBe(200)
    }
    const [first, second] = await Promise.all([one.retireKeys(), other.retireKeys(), requests()])
    const newest = Math.max(first.rootKey, second.rootKey)
    expect((await keys()).filter(({ secret }) => secret !== '').map(({ id }) => id)).toEqual([newest])
    await works()
  })

  test('keys can be retired after an earlier attempt was killed at any step', async () => {
    const works = await makeDependents()
    // The deep run on SQLite tests every step. All other runs test only every fourth step.
    const step = isDeep && database === sqlite ? 1 : 4
    for (let killedAt = 0; ; killedAt += step) {
      let stepsLeft = killedAt
      const killed = storeWith((run) => (stepsLeft-- === 0 ? Promise.reject(new Error('killed')) : run()))
      const ended = await serviceOn(killed)
        .retireKeys()
        .catch((error: Error) => error.message)
      if (killedAt % (isDeep ? 4 : 8) === 0) await works()
      if (ended !== 'killed') break
    }
    expect((await keys()).filter(({ secret }) => secret !== '')).toHaveLength(1)
    await works()
  })
})
