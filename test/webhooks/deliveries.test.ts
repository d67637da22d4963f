import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { eventBodies } from '../../src/service/operations/steps/event-bodies.ts'
import { fanOut } from '../../src/service/request/deliver/fan-out.ts'
import { createSender } from '../../src/service/request/deliver/sender.ts'
import { takeTurn } from '../../src/service/request/deliver/turn.ts'
import { onEachDatabase } from '../support/databases.ts'
import { anotherProcess, createWorld, type World } from '../support/world.ts'
import { type WebhookHelpers, webhookHelpers } from './hooks.ts'
import { openReceiver, type Received, type Receiver } from './receiver.ts'

const twoDays = 48 * 3600

onEachDatabase('webhooks', (database) => {
  let world: World
  let receiver: Receiver
  let hooks: WebhookHelpers
  beforeEach(async () => {
    world = await createWorld(database)
    receiver = await openReceiver()
    hooks = webhookHelpers(world, receiver)
  })
  afterEach(async () => {
    vi.useRealTimers()
    await receiver.close()
    await world.drop()
  })

  /** Returns whether the message is signed with the secret, according to the package that receivers use. */
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

  test('end without waiting for a timer, which keeps no process alive', async () => {
    const { deliveries } = world.service
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    deliveries.start()
    // An event wakes the deliveries, which then wait for the next one.
    await world.post('/wallets', { displayName: 'New' }, { key: world.apiKey })
    await hooks.events('wallet.created')
    await deliveries.stop()
  })

  test('get each event once, in order, signed as Standard Webhooks specify', async () => {
    const hook = await hooks.create()
    const wallets = [
      await hooks.createWallet('One'),
      await hooks.createWallet('Two'),
      await hooks.createWallet('Three'),
    ]
    await hooks.deliver()
    await hooks.deliver()

    expect(hooks.receivedIds()).toEqual(wallets)
    const [first, other] = receiver.received as [Received, Received]
    const event = (await hooks.events('wallet.created')).find((one) => one.attributes.resourceId === wallets[0])
    expect(first.json).toEqual({
      id: event?.id,
      object: 'event',
      type: 'wallet.created',
      resourceId: wallets[0],
      resourceType: 'wallet',
      createdAt: event?.attributes.createdAt,
      data: event?.attributes.payload,
    })
    expect(first.json.data.object).toMatchObject({ type: 'wallet', id: wallets[0], attributes: { displayName: 'One' } })
    expect(first.headers['webhook-id']).toBe(event?.id)
    expect(isSignedBy(hook.secret, first)).toBe(true)
    expect(isSignedBy(hook.secret, { ...first, text: other.text })).toBe(false)
    expect(isSignedBy((await hooks.create()).secret, first)).toBe(false)
    const delivered = {
      status: 'delivered',
      attempts: 1,
      lastResponseStatus: 200,
      lastError: null,
      nextAttemptAt: null,
    }
    expect(await hooks.deliveries(hook, '?limit=1')).toMatchObject([delivered])
  })

  test('get their enabled types, from creation until deletion', async () => {
    await hooks.createWallet()
    const hook = await hooks.create({ enabledEvents: ['agent_card.created'] })
    await hooks.createWallet()
    await world.issueCard()
    await hooks.deliver()
    expect(receiver.received.map(({ json }) => json.type)).toEqual(['agent_card.created'])

    await hooks.change(hook, { enabledEvents: ['wallet.created', 'wallet.created'] })
    const wallet = await hooks.createWallet()
    await world.issueCard()
    await hooks.deliver()
    expect(hooks.receivedIds().slice(1)).toEqual([wallet])

    await hooks.createWallet()
    expect((await world.send('DELETE', `/webhooks/${hook.id}`, { key: world.apiKey })).json.meta).toEqual({
      deleted: true,
    })
    await hooks.deliver()
    expect(receiver.received).toHaveLength(2)
  })

  test('that were disabled resume waiting deliveries, without events from that time', async () => {
    const hook = await hooks.create()
    const before = await hooks.createWallet()
    receiver.answer(500)
    await hooks.deliver()
    await hooks.change(hook, { status: 'DISABLED' })
    await hooks.createWallet('Unheard')
    receiver.answer(200)
    await hooks.sendLater(3600)
    expect(receiver.received).toHaveLength(1)

    expect(await hooks.change(hook, { status: 'ENABLED' })).toMatchObject({ status: 'ENABLED' })
    const after = await hooks.createWallet()
    await hooks.deliver()
    expect(hooks.receivedIds()).toEqual([before, before, after])
  })

  test('that fail occasionally get the rest in the same turn; several failures in a row end it', async () => {
    const hook = await hooks.create({ enabledEvents: ['wallet.created'] })
    const { partyId } = await world.whoami(world.apiKey)
    const key = { partyId, id: hook.id }
    const { store, system } = world
    const attemptInOneTurn = async () => {
      while (await store.transaction((tx) => fanOut(tx, system, key)));
      const log = { warn: () => {} }
      const dependencies = { store, system, log, send: createSender(), bodies: eventBodies, mayStayHere: () => true }
      await takeTurn(dependencies, key, new AbortController().signal)
      return receiver.received.splice(0).map(({ json }) => json.resourceId)
    }
    const wallets: string[] = []
    for (let count = 0; count < 20; count++) wallets.push(await hooks.createWallet(`Number ${count}`))
    receiver.answer(({ json }) => (wallets.indexOf(json.resourceId) % 4 === 1 ? 500 : 200))
    expect(await attemptInOneTurn()).toEqual(wallets)
    expect(await hooks.deliveries(hook, '?status=delivered')).toHaveLength(15)

    for (let count = 0; count < 8; count++) wallets.push(await hooks.createWallet(`Later ${count}`))
    receiver.answer(500)
    expect(await attemptInOneTurn()).toHaveLength(5)
    // The service now knows that this delivery failed.
    expect(await attemptInOneTurn()).toHaveLength(1)
  })

  test('are retried after growing pauses, until the receiver accepts', async () => {
    const hook = await hooks.create()
    await hooks.createWallet()
    receiver.answer(503)
    await hooks.deliver()
    let tried = 1
    for (const pause of [5, 300, 1800, 7200, 18_000, 36_000, 36_000, 36_000]) {
      const nextAttemptAt = new Date(world.system.now() + pause * 1000).toISOString()
      const waiting = { status: 'pending', attempts: tried, lastResponseStatus: 503, nextAttemptAt }
      expect(await hooks.deliveries(hook)).toMatchObject([waiting])
      await hooks.sendLater(pause - 1)
      expect(receiver.received).toHaveLength(tried)
      await hooks.sendLater(1)
      expect(receiver.received).toHaveLength(++tried)
    }
    receiver.answer(204)
    await hooks.sendLater(36_000)
    expect(await hooks.deliveries(hook)).toMatchObject([{ status: 'delivered', attempts: 10, lastError: null }])
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(await hooks.read(hook)).toMatchObject({ status: 'ENABLED' })
  })

  test('that accept nothing for two days are disabled, with an event and a log line', async () => {
    const dead = await hooks.create()
    const other = await openReceiver()
    await hooks.create({ url: other.url, enabledEvents: ['webhook.disabled'] })
    await hooks.createWallet('Given up')
    receiver.answer(500)
    await hooks.deliver()
    for (let hour = 0; hour < 47; hour++) await hooks.sendLater(3600)
    const pendingWallet = await hooks.createWallet('Waits')
    expect(await hooks.read(dead)).toMatchObject({ status: 'ENABLED' })
    for (let hour = 47; hour <= 56; hour++) await hooks.sendLater(3600)

    expect(await hooks.read(dead)).toMatchObject({ status: 'DISABLED' })
    expect(await hooks.events('webhook.disabled')).toMatchObject([{ attributes: { resourceId: dead.id } }])
    expect(other.received).toMatchObject([{ json: { type: 'webhook.disabled', resourceId: dead.id } }])
    expect(other.received[0]?.json.data.object.attributes).toMatchObject({ status: 'DISABLED', url: receiver.url })
    expect(world.alarms.filter((line) => line.includes('disabled'))).toHaveLength(1)
    const attempts = receiver.received.length
    receiver.answer(200)
    await hooks.sendLater(twoDays)
    expect(receiver.received).toHaveLength(attempts)
    // After the receiver is repaired, waiting deliveries are sent.
    await hooks.change(dead, { status: 'ENABLED' })
    await hooks.deliver()
    expect(hooks.receivedIds().slice(attempts)).toContain(pendingWallet)
    await other.close()
  })

  test('that accept all but one event lose only that one', async () => {
    const hook = await hooks.create()
    const poison = await hooks.createWallet('Poison')
    receiver.answer(({ json }) => (json.resourceId === poison ? 500 : 200))
    await hooks.deliver()
    for (let hour = 0; hour < 50; hour++) {
      await hooks.sendLater(3600)
      if (hour % 10 === 0) await hooks.createWallet(`Hour ${hour}`)
    }
    expect(await hooks.deliveries(hook, '?status=failed')).toHaveLength(1)
    expect(await hooks.deliveries(hook, '?status=pending')).toHaveLength(0)
    expect(await hooks.deliveries(hook, '?status=delivered')).toHaveLength(5)
    expect(await hooks.read(hook)).toMatchObject({ status: 'ENABLED' })
  })

  test('that answer 410 are disabled at once', async () => {
    const hook = await hooks.create()
    await hooks.createWallet()
    receiver.answer(410)
    await hooks.deliver()
    expect(await hooks.read(hook)).toMatchObject({ status: 'DISABLED' })
    expect(await hooks.deliveries(hook)).toMatchObject([{ status: 'failed', attempts: 1, lastResponseStatus: 410 }])
  })

  test('are signed with both secrets while one replaces the other', async () => {
    const hook = await hooks.create()
    const rotate = async (expiresInSeconds: number) => {
      const path = `/webhooks/${hook.id}/rotate-secret`
      const { attributes } = (await world.post(path, { expiresInSeconds }, { key: world.apiKey })).json.data
      return attributes as { signingSecret: string; previousSecretExpiresAt: string | null }
    }
    const next = await rotate(3600)
    expect(next.previousSecretExpiresAt).toBe(new Date(world.system.now() + 3_600_000).toISOString())
    await hooks.createWallet()
    await hooks.deliver()
    await hooks.createWallet()
    await hooks.sendLater(3600)
    const last = await rotate(0)
    expect(last.previousSecretExpiresAt).toBeNull()
    await hooks.createWallet()
    await hooks.deliver()

    const secrets = [hook.secret, next.signingSecret, last.signingSecret]
    world.system.pass(-3_600_000)
    expect(secrets.map((secret) => isSignedBy(secret, receiver.received[0] as Received))).toEqual([true, true, false])
    world.system.pass(3_600_000)
    expect(secrets.map((secret) => isSignedBy(secret, receiver.received[1] as Received))).toEqual([false, true, false])
    expect(secrets.map((secret) => isSignedBy(secret, receiver.received[2] as Received))).toEqual([false, false, true])
  })

  test('keep their secrets when the root key is rotated; new secrets come from the new one', async () => {
    const hook = await hooks.create()
    await world.service.rotateKeys()
    await hooks.createWallet()
    await hooks.deliver()
    expect(isSignedBy(hook.secret, receiver.received[0] as Received)).toBe(true)
    const { secret } = await hooks.create()
    expect(secret).not.toBe(hook.secret)
    await hooks.createWallet()
    await hooks.deliver()
    expect(
      receiver.received
        .slice(1)
        .map((one) => isSignedBy(secret, one))
        .sort(),
    ).toEqual([false, true])
  })

  test('are served by one of several processes, and by another one if that is gone', async () => {
    await hooks.create()
    const other = await anotherProcess(world, world.system)
    const wallets = [await hooks.createWallet()]
    await hooks.deliver()
    wallets.push(await hooks.createWallet())
    // The first process still holds the lease.
    await other.service.deliveries.once()
    expect(hooks.receivedIds()).toEqual(wallets.slice(0, 1))
    world.system.pass(3_000)
    await other.service.deliveries.once()
    expect(hooks.receivedIds()).toEqual(wallets)
    // A process that ends releases the lease.
    await other.service.deliveries.stop()
    wallets.push(await hooks.createWallet())
    world.system.pass(1_000)
    await hooks.deliver()
    expect(hooks.receivedIds()).toEqual(wallets)
    await other.drop()
  })

  test('get due effects, and end with the process', async () => {
    await hooks.create()
    world.service.deliveries.start()
    const wallet = await hooks.createWallet()
    await expect.poll(() => hooks.receivedIds()).toEqual([wallet])
    await world.service.deliveries.stop()
    await hooks.createWallet()
    await new Promise(setImmediate)
    expect(hooks.receivedIds()).toEqual([wallet])
  })

  test('stay when the sandbox is reset; waiting deliveries are dropped, and the new world is sent', async () => {
    const hook = await hooks.create()
    const asParty = { key: world.apiKey }
    expect((await world.post('/simulations/snapshots', { name: 'before' }, asParty)).status).toBe(200)
    receiver.answer(500)
    await hooks.createWallet('Waits')
    await hooks.deliver()
    await hooks.createWallet('Not looked at')
    expect((await world.send('POST', '/simulations/snapshots/before/restore', asParty)).status).toBe(200)
    receiver.answer(200)
    const sent = receiver.received.length
    const wallet = await hooks.createWallet('Afterwards')
    await hooks.sendLater(twoDays)
    expect(hooks.receivedIds().slice(sent)).toEqual([wallet])
    expect(await hooks.deliveries(hook, '?status=failed')).toMatchObject([{ attempts: 1, eventType: 'wallet.created' }])
  })

  test('can get an event again, and a test event that is not enabled', async () => {
    const hook = await hooks.create({ enabledEvents: ['wallet.created'] })
    const other = await openReceiver()
    await hooks.create({ url: other.url })
    const wallet = await hooks.createWallet()
    await hooks.deliver()
    const asParty = { key: world.apiKey }
    const [event] = await hooks.events('wallet.created')
    const again = await world.send('POST', `/events/${event?.id}/resend`, asParty)
    expect(again.json.data).toEqual(event)
    await hooks.deliver()
    expect(hooks.receivedIds()).toEqual([wallet, wallet])
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([event?.id]))

    const tested = await world.send('POST', `/webhooks/${hook.id}/test`, asParty)
    expect(tested.json.data.attributes).toMatchObject({ eventType: 'webhook.test', resourceId: hook.id })
    await hooks.deliver()
    expect(receiver.received[2]?.json).toMatchObject({ id: tested.json.data.id, type: 'webhook.test' })
    expect(other.received.map(({ json }) => json.type)).toEqual(['wallet.created', 'wallet.created'])
    await other.close()
  })

  test('lose the results of deliveries after 30 days', async () => {
    const hook = await hooks.create()
    await hooks.createWallet()
    await hooks.deliver()
    world.system.pass(30 * 24 * 3_600_000 - 1)
    await world.service.upkeep.once()
    expect(await hooks.deliveries(hook)).toHaveLength(1)
    world.system.pass(1)
    await world.service.upkeep.once()
    expect(await hooks.deliveries(hook)).toHaveLength(0)
  })
})
