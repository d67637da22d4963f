// @ts-expect-error undici publishes no types for this file, which lists the ports that its fetch refuses.
import { badPortsSet } from 'undici/lib/web/fetch/constants.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isPublicAddress } from '../../src/core/ip-addresses.ts'
import { createSender } from '../../src/service/request/deliver/sender.ts'
import type { LookUp } from '../../src/service/request/outgoing-connections.ts'
import { addressProblem } from '../../src/service/request/webhook-addresses.ts'
import { changeWebhook, findWebhook } from '../../src/service/store/webhooks.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { sampleOf } from '../support/depth.ts'
import { createWorld, type World } from '../support/world.ts'
import { webhookHelpers } from './hooks.ts'
import { openReceiver, type Receiver } from './receiver.ts'

describe('creating a webhook', () => {
  let world: World
  afterEach(() => world.drop())

  const creationError = async (url: string, environment: 'sandbox' | 'production') => {
    world = await createWorld(sqlite, { environment })
    const answer = await world.post('/webhooks', { url, enabledEvents: ['*'] }, { key: world.apiKey })
    return answer.status === 201 ? undefined : answer.json.errors[0]
  }

  test.each([
    ['http://hooks.example.com/', 'is not an https address'],
    ['ftp://hooks.example.com/', 'is not an https address'],
    ['https://10.0.0.1/', 'is not an address on the public internet'],
    ['https://[fd00::1]/', 'is not an address on the public internet'],
    ['https://[::ffff:169.254.169.254]/', 'is not an address on the public internet'],
    ['https://2852039166/', 'is not an address on the public internet'],
    ['https://0x7f.1/', 'is on the machine that the service runs on, not on the public internet'],
    ['https://user:password@hooks.example.com/', 'has a user name or password in it'],
  ])('a webhook cannot have the address %s', async (url, why) => {
    const error = await creationError(url, url.includes('0x7f') ? 'production' : 'sandbox')
    expect(error).toMatchObject({ status: '422', source: { pointer: '/data/attributes/url' } })
    expect(error.detail).toContain(`url ${why}`)
    expect(error.detail).toContain('It accepts https at a public host name')
    expect(error.detail).not.toContain('password@')
  })

  test('an unknown event type is refused, and the error suggests the most similar known type', async () => {
    world = await createWorld(sqlite)
    const attributes = { url: 'https://hooks.example.com/', enabledEvents: ['payment.completed', 'payment.complete'] }
    const answer = await world.post('/webhooks', attributes, { key: world.apiKey })
    expect(answer.status).toBe(422)
    expect(answer.json.errors[0].source).toEqual({ pointer: '/data/attributes/enabledEvents/1' })
    expect(answer.json.errors[0].detail).toContain('got "payment.complete"')
    expect(answer.json.errors[0].detail).toContain('payment.completed')
  })

  test('a party can have at most 100 webhooks', async () => {
    world = await createWorld(sqlite)
    const attributes = { url: 'https://hooks.example.com/', enabledEvents: ['*'] }
    const answers = []
    for (let count = 0; count < 101; count++)
      answers.push((await world.post('/webhooks', attributes, { key: world.apiKey })).status)
    expect(answers.filter((status) => status === 201)).toHaveLength(100)
    expect(answers.at(-1)).toBe(409)
  })
})

/** Addresses that every service refuses, wherever it runs. */
const nowhere = [
  'not an address',
  'http://hooks.example.com/',
  'ftp://localhost/',
  'https://user:password@hooks.example.com/',
  'http://user@127.0.0.1/',
  ...['https://hooks.example.com:25/', 'https://hooks.example.com:0/', 'http://127.0.0.1:6667/'],
  ...['https://localhost./', 'http://localhost.:3000/', 'https://hooks.localhost/', 'https://localhost../'],
  ...['https://intranet/', 'https://printer.local/', 'https://metadata.google.internal./', 'https://a.home.arpa/'],
  ...['https://hooks..example.com/', `https://${'a'.repeat(64)}.example.com/`],
  ...['https://10.0.0.1/', 'https://10.0.0.1./', 'https://192.168.1/', 'https://0/', 'https://[::]/'],
  ...['https://2852039166/', 'https://0xa9fea9fe/', 'https://0251.0376.0251.0376/', 'https://100.64.0.1/'],
  ...['https://[::ffff:169.254.169.254]/', 'https://[::ffff:127.0.0.1]/', 'https://[64:ff9b::7f00:1]/'],
  ...['https://[fd00::1]/', 'https://[fe80::1]/', 'https://[::127.0.0.1]/'],
]

/** Addresses of the machine that runs the service. */
const here = [
  ...[
    'http://127.0.0.1:3000/',
    'https://localhost:3000/hook',
    'http://LOCALHOST/',
    'http://[::1]:3000/',
    'https://127.8.9.1/',
  ],
  ...['http://2130706433/', 'http://0x7f.1/', 'http://0177.0.0.1/', 'http://127.1/', 'http://127.0.0.1./'],
  'http://\uff4cocalhost/',
]

const good = 'https://hooks.example.com/'

test('localhost addresses are accepted only if the service allows them; malformed and private addresses are never accepted', () => {
  const accepted = (urls: readonly string[], mayStayHere: boolean) =>
    urls.filter((url) => addressProblem(url, mayStayHere) === undefined)
  expect(accepted([good, ...here, ...nowhere], true)).toEqual([good, ...here])
  expect(accepted([good, ...here, ...nowhere], false)).toEqual([good])
})

onEachDatabase('checks of webhook addresses', (database) => {
  const services = [
    { publicUrl: 'http://127.0.0.1:4010', environment: 'sandbox', mayStayHere: true },
    { publicUrl: 'http://sandbox.invalid', environment: 'sandbox', mayStayHere: true },
    { publicUrl: 'https://pay.example', environment: 'sandbox', mayStayHere: false },
    { publicUrl: 'http://0.0.0.0:4010', environment: 'sandbox', mayStayHere: false },
    { publicUrl: 'http://127.0.0.1:4010', environment: 'production', mayStayHere: false },
  ] as const
  test.each(services.map((service, from) => ({ ...service, from })))(
    'a $environment service at $publicUrl refuses the same addresses at creation, update and delivery',
    async ({ publicUrl, environment, mayStayHere, from }) => {
      const [far, near] = [sampleOf(nowhere, 6, from), sampleOf(here, 6, from)]
      const refused = mayStayHere ? far : [...far, ...near]
      const accepted = mayStayHere ? [good, ...near] : [good]
      const lookedUp: string[] = []
      const lookup = ((name: string) => void lookedUp.push(name)) as unknown as LookUp
      const send = createSender({ lookup })
      const world = await createWorld(database, { environment, publicUrl: () => publicUrl, send })
      const party = { key: world.apiKey }
      const create = (url: string) => world.post('/webhooks', { url, enabledEvents: ['wallet.created'] }, party)
      const hook = (await create(good)).json.data.id
      const update = (url: string) => world.send('PATCH', `/webhooks/${hook}`, { ...party, attributes: { url } })
      const problem = { status: '422', source: { pointer: '/data/attributes/url' } }

      for (const url of refused) {
        expect((await create(url)).json.errors?.[0], url).toMatchObject(problem)
        expect((await update(url)).json.errors?.[0], url).toMatchObject(problem)
      }
      for (const url of accepted) {
        expect((await create(url)).status, url).toBe(201)
        expect((await update(url)).status, url).toBe(200)
      }

      for (const { id } of (await world.get('/webhooks?limit=100', party)).json.data) {
        await world.send('DELETE', `/webhooks/${id}`, party)
      }
      const hooks = await Promise.all(refused.map(async (url) => ({ url, id: (await create(good)).json.data.id })))
      const partyId = (await world.whoami(world.apiKey)).partyId
      // Writes refused addresses into the database, as if the service had accepted them under another public URL.
      await world.store.transaction(async (tx) => {
        for (const { id, url } of hooks) {
          const before = await findWebhook(tx, { partyId, id })
          if (before !== undefined) await changeWebhook(tx, before, { url })
        }
      })
      await world.post('/wallets', { displayName: 'New' }, party)
      await world.service.deliveries.once()
      for (const { id, url } of hooks) {
        const [delivery] = (await world.get(`/webhooks/${id}/deliveries`, party)).json.data
        expect(delivery.attributes, url).toMatchObject({ attempts: 1, status: 'pending', lastResponseStatus: null })
        expect(delivery.attributes.lastError, url).toMatch(/^It (?:is |has )/)
        expect(delivery.attributes.lastError).not.toContain('password@')
      }
      expect(lookedUp).toEqual([])
      await world.drop()
    },
  )
})

test('the ports that a webhook address cannot have are exactly those that fetch refuses', () => {
  const all = Array.from({ length: 65_535 }, (_, index) => index + 1)
  const refused = all.filter((port) => addressProblem(`https://hooks.example.com:${port}/`, false) !== undefined)
  expect(refused).toEqual([...badPortsSet].map(Number))
})

test.each([
  ...[
    '0.0.0.0',
    '10.255.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
  ],
  ...['192.168.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ...['::', '::1', '::7f00:1', '::ffff:10.0.0.1', '64:ff9b::a00:1', '64:ff9b:1::1', '100::1', '2001::1', '2001:db8::1'],
  ...['2002:a00:1::', '3fff::1', '5f00::1', 'fc00::1', 'fe80::1', 'fec0::1', 'ff02::1', 'not an address'],
])('"%s" is not a public IP address', (address) => {
  expect(isPublicAddress(address)).toBe(false)
})

test.each(['8.8.8.8', '::ffff:8.8.8.8', '2606:4700:4700::1111', '2a00:1450:4001::1'])(
  '"%s" is a public IP address',
  (address) => {
    expect(isPublicAddress(address)).toBe(true)
  },
)

test('the sender does not connect to localhost if the message forbids it', async () => {
  const receiver = await openReceiver()
  const url = `https://localhost:${new URL(receiver.url).port}/`
  const message = { url, headers: {}, body: '{}', mayStayHere: false }
  const { status, error } = await createSender()(message, new AbortController().signal)
  expect(status).toBeNull()
  expect(error).toContain('not on the public internet')
  expect(receiver.connections()).toBe(0)
  await receiver.close()
})

onEachDatabase('connections of webhook deliveries', (database) => {
  let world: World
  let receiver: Receiver
  let addressLists: Record<string, string[][]>
  const lookedUp: string[] = []
  /**
   * Resolves a name to the addresses that the test sets in `addressLists`. Each lookup of a name takes the name's next
   * list of addresses. The last list is never used up.
   */
  const lookup = ((name: string, options: { all?: boolean }, callback: (...found: unknown[]) => void) => {
    lookedUp.push(name)
    const lists = addressLists[name] ?? [['127.0.0.1']]
    const addresses = (lists.length > 1 ? lists.shift() : lists[0]) ?? []
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    process.nextTick(() => callback(null, options.all === true ? found : found[0]?.address, found[0]?.family))
  }) as unknown as LookUp

  beforeEach(async () => {
    addressLists = {}
    world = await createWorld(database, { send: createSender({ lookup }) })
    receiver = await openReceiver()
  })
  afterEach(async () => {
    await receiver.close()
    await world.drop()
  })

  const port = () => new URL(receiver.url).port
  const deliveryTo = async (url: string) => {
    const hooks = webhookHelpers(world, receiver)
    const hook = await hooks.create({ url })
    await hooks.createWallet()
    await hooks.deliver()
    return (await hooks.deliveries(hook))[0]
  }

  test.each([
    ['a host name that resolves to this machine', { 'hooks.example.com': [['127.0.0.1']] }],
    ['a host name that also resolves to a private address', { 'hooks.example.com': [['8.8.8.8', '10.0.0.1']] }],
    [
      'a host name that resolves to this machine first and to a public address later',
      { 'hooks.example.com': [['127.0.0.1'], ['8.8.8.8']] },
    ],
  ])('a delivery does not connect to %s', async (_, lists) => {
    addressLists = lists
    const delivery = await deliveryTo(`https://hooks.example.com:${port()}/`)
    expect(delivery).toMatchObject({ status: 'pending', attempts: 1, lastResponseStatus: null })
    expect(delivery?.lastError).toContain('not an https address on the public internet')
    expect(receiver.connections()).toBe(0)
  })

  test('a host name is looked up once for each connection, which uses the address that was checked', async () => {
    lookedUp.length = 0
    await deliveryTo(receiver.url.replace('127.0.0.1', 'localhost'))
    expect(lookedUp).toEqual(['localhost'])
    expect(receiver.received).toHaveLength(1)
  })

  test('a delivery to localhost fails if the name resolves to another machine', async () => {
    addressLists = { localhost: [['8.8.8.8']] }
    const delivery = await deliveryTo(receiver.url.replace('127.0.0.1', 'localhost'))
    expect(delivery?.lastError).toContain('not an https address on the public internet')
  })

  test('deliveries do not follow redirects', async () => {
    const other = await openReceiver()
    receiver.answer(307, { Location: other.url })
    const delivery = await deliveryTo(receiver.url)
    expect(delivery).toMatchObject({ status: 'pending', lastResponseStatus: 307 })
    expect(delivery?.lastError).toContain('Redirects are not followed')
    expect(other.connections()).toBe(0)
    await other.close()
  })

  test('a delivery times out if the receiver never answers', async () => {
    await world.drop()
    world = await createWorld(database, { send: createSender({ timeoutMs: 50 }) })
    receiver.answer('never')
    const delivery = await deliveryTo(receiver.url)
    expect(delivery).toMatchObject({ status: 'pending', attempts: 1, lastResponseStatus: null })
    expect(delivery?.lastError).toBe('It did not answer within 0.05 s.')
  })

  test('an unreachable receiver does not stop deliveries to another one', async () => {
    const closedReceiver = await openReceiver()
    await closedReceiver.close()
    const hooks = webhookHelpers(world, receiver)
    const unreachable = await hooks.create({ url: closedReceiver.url })
    await hooks.create()
    const wallets = [
      await hooks.createWallet('One'),
      await hooks.createWallet('Two'),
      await hooks.createWallet('Three'),
    ]
    await hooks.deliver()
    expect(hooks.receivedIds()).toEqual(wallets)
    expect((await hooks.deliveries(unreachable)).at(-1)?.lastError).toBe(
      'Nothing listens at its address (ECONNREFUSED).',
    )
  })

  test('a receiver that does not answer does not delay deliveries to another one', async () => {
    const other = await openReceiver()
    const hooks = webhookHelpers(world, other)
    receiver.answer('never')
    await hooks.create({ url: receiver.url })
    await hooks.create({ url: other.url })
    const wallet = await hooks.createWallet()
    const all = hooks.deliver()
    // The first receiver gets its delivery, but never answers.
    await expect.poll(() => receiver.received.length).toBe(1)
    await expect.poll(() => hooks.receivedIds()).toEqual([wallet])
    await receiver.close()
    await all
    await other.close()
    receiver = await openReceiver()
  })
})
