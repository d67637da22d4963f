import { existsSync, readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createService, type Service } from '../../src/service/service.ts'
import { WrongSecretError } from '../../src/service/store/engine/key-wrapping.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import { currentSigningKeys } from '../../src/service/tokens/signing-keys.ts'
import { readAllRows } from '../ledger/books.ts'
import { expectReplay } from '../request/replays.ts'
import { onEachDatabase } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'

const monthly = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 2000, taxAmount: 150 }
const card = { number: '4242424242424242', expiry: '12/34', cvv: '987' }
const payee = { type: 'email', value: 'somebody@example.org' }
const payment = { amount: 100, currency: 'USD', counterparty: payee }
const [oldSecret, newSecret] = ['the first secret, which is long enough', 'the second secret, which is long too'].map(
  (text) => text.replaceAll(/[ ,]/g, '-'),
) as [string, string]

onEachDatabase('the keys of a database', (database) => {
  let world: World
  const opened: Store[] = []
  beforeEach(async () => {
    world = await createWorld(database)
  })
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close()
    await world.drop()
  })

  /** Creates a second service on the database, as another process would. */
  async function open(secrets?: string[]): Promise<{ store: Store; service: Service }> {
    const { system } = world
    const store = await openStore({ url: world.url, system, secrets })
    opened.push(store)
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    return { store, service: createService({ store, system, environment: 'sandbox', rateLimit: 1e6, log }) }
  }

  async function subscribe() {
    const { id, attributes } = (await world.post('/subscriptions', monthly)).json.data
    const { checkoutUrl, clientSecret } = attributes as Record<'checkoutUrl' | 'clientSecret', string>
    return { id: id as string, path: new URL(checkoutUrl).pathname, clientSecret }
  }

  async function postCheckout(service: Service, action: string, attributes: object) {
    const body = JSON.stringify({ data: { attributes } })
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body }
    const response = await service.fetch(new Request(`http://sandbox.test/checkout/${action}`, init))
    const answered = (await response.json()) as { data?: { attributes: Record<string, unknown> } }
    return answered.data?.attributes ?? {}
  }

  const pageOpens = async (service: Service, path: string) =>
    (await service.fetch(new Request(`http://sandbox.test${path}`))).status === 200

  /** Creates links and secrets that depend on root keys. Returns a function that checks that they still work. */
  async function makeDependents() {
    const [unpaid, paid] = [await subscribe(), await subscribe()]
    const { manageToken } = await postCheckout(world.service, 'pay', { ...card, clientSecret: paid.clientSecret })
    const agents = [{ agentId: (await world.whoami()).agentId, permissions: ['payments.read'] }]
    const invited = await world.post('/customers/invitations', { recipients: [payee], agents }, { key: world.apiKey })
    const sent = { idempotencyKey: `payment ${unpaid.id}` }
    const answered = await world.post('/payments', payment, sent)
    const invitation = String(invited.json.data[0].attributes.url)
    return async (service: Service) => {
      expect(await pageOpens(service, unpaid.path)).toBe(true)
      expect(await pageOpens(service, `/checkout/manage/${manageToken}`)).toBe(true)
      expect(await pageOpens(service, new URL(invitation).pathname)).toBe(true)
      const listed = await world.get('/customers/invitations', { key: world.apiKey })
      expect(listed.text).toContain(invitation)
      expectReplay(await world.post('/payments', payment, sent), answered)
      expect((await postCheckout(service, 'session', { clientSecret: unpaid.clientSecret })).status).toBe('pending')
      const { id } = unpaid
      expect((await postCheckout(service, 'pay', { ...card, clientSecret: unpaid.clientSecret })).result, id).toBe(
        'paid',
      )
      expect((await postCheckout(service, 'stop', { manageToken })).status).toBe('canceled')
    }
  }

  test('after a rotation, every process uses the newest key for new values, and older values stay valid', async () => {
    const other = await open()
    const first = await subscribe()
    expect(first.clientSecret).toMatch(/_secret_[0-9a-f]{64}$/)
    const expectWorks = await makeDependents()
    const [before] = await currentSigningKeys(world.store)
    world.system.pass(1)
    const made = await other.service.rotateKeys()
    expect(made.rootKey).toBe(2)
    const second = await subscribe()
    expect(second.clientSecret).toMatch(/_secret_2_[0-9a-f]{64}$/)
    expect(second.path).toMatch(/\/2_[0-9a-f]{64}$/)
    const expectNewerWorks = await makeDependents()
    expect((await other.service.rotateKeys()).rootKey).toBe(3)
    expect((await subscribe()).clientSecret).toMatch(/_secret_3_[0-9a-f]{64}$/)
    // A client secret becomes invalid if the number of the root key in it is changed.
    const swapped = second.clientSecret.replace('_secret_2_', '_secret_3_')
    for (const clientSecret of [swapped, swapped.replace('_3_', '_9_'), swapped.replace('_3_', '_1_')]) {
      expect(await postCheckout(world.service, 'session', { clientSecret })).toEqual({})
    }
    const kids = (await currentSigningKeys(world.store)).map(({ kid }) => kid)
    expect(kids).toContain(made.signingKey)
    expect(kids).toContain(before?.kid)
    expect(kids[0]).not.toBe(before?.kid)
    await expectWorks(other.service)
    await expectNewerWorks(world.service)
  })

  test('if a secret is set, all keys in the database are encrypted, and older values stay valid', async () => {
    const expectWorks = await makeDependents()
    await currentSigningKeys(world.store)
    const plain = (await readAllRows(world.store)).flatMap(({ secret, jwk }) => [
      secret,
      jwk && JSON.parse(String(jwk)).d,
    ])
    const keys = plain.filter((text) => text !== undefined && text !== null).map(String)
    expect(keys.length).toBeGreaterThan(1)
    const { store, service } = await open([oldSecret])
    await service.rotateKeys()
    const path = world.url.replace(/^sqlite:/, '')
    const files = [path, `${path}-wal`].filter(existsSync).map((file) => readFileSync(file, 'latin1'))
    for (const text of [JSON.stringify(await readAllRows(store)), ...files]) {
      for (const key of keys) expect(text.includes(key)).toBe(false)
    }
    for (const secrets of [undefined, [newSecret]]) await expect(open(secrets)).rejects.toThrow(WrongSecretError)
    await expect(open()).rejects.toThrow(/^is required, because the keys in the database are encrypted/)
    // To change the secret, the database must be opened once with both the new secret and the old one.
    const changed = await open([newSecret, oldSecret])
    await expect(open([oldSecret])).rejects.toThrow(WrongSecretError)
    const after = await open([newSecret])
    expect(await currentSigningKeys(after.store)).toEqual(await currentSigningKeys(changed.store))
    Object.assign(world, { service: after.service })
    world.send = sender(after.service)
    world.post = (to, attributes, sent) => world.send('POST', to, { ...sent, attributes })
    world.get = (to, sent) => world.send('GET', to, sent)
    await expectWorks(after.service)
  })

  /** Returns a function that works like `world.send`, but sends the requests to the given service. */
  function sender(service: Service): World['send'] {
    return async (method, path, { key = world.agentKey, idempotencyKey, attributes } = {}) => {
      const headers = new Headers({ Authorization: `Bearer ${key}`, 'X-Instance-ID': 'run 1' })
      if (idempotencyKey) headers.set('Idempotency-Key', idempotencyKey)
      const body = attributes === undefined ? {} : { body: JSON.stringify({ data: { attributes } }) }
      if (attributes !== undefined) headers.set('Content-Type', 'application/json')
      const response = await service.fetch(new Request(`http://sandbox.test${path}`, { method, headers, ...body }))
      const text = await response.text()
      return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
    }
  }
})
