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

  /** Returns whether the package that receivers use accepts the message's signature with the given secret. */
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

  test('background deliveries can be stopped while they wait for a timer', async () => {
    const { deliveries } = world.service
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    deliveries.start()
    // Creating a wallet records an event, which wakes the deliveries. They then wait for a timer that never fires in
    // this test.
    await world.post('/wallets', { displayName: 'New' }, { key: world.apiKey })
    await hooks.events('wallet.created')
    await deliveries.stop()
  })

  test('a webhook gets each event once, in order, signed as Standard Webhooks specifies', async () => {
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

  test('a webhook gets only events of its enabled types, from its creation until its deletion', async () => {
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

  test('a re-enabled webhook gets its pending deliveries, but no events from the time when it was disabled', async () => {
    const hook = await hooks.create()
    const before = await hooks.createWallet()
    receiver.answer(500)
    await hooks.deliver()
    await hooks.change(hook, { status: 'DISABLED' })
    await hooks.createWallet('Missed')
    receiver.answer(200)
    await hooks.sendLater(3600)
    expect(receiver.received).toHaveLength(1)

    expect(await hooks.change(hook, { status: 'ENABLED' })).toMatchObject({ status: 'ENABLED' })
    const after = await hooks.createWallet()
    await hooks.deliver()
    expect(hooks.receivedIds()).toEqual([before, before, after])
  })

  test("occasional failures do not delay a webhook's other deliveries, but five failures in a row do", async () => {
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
    // The webhook was already failing when the second turn began, so one failure is enough to end that turn.
    expect(await attemptInOneTurn()).toHaveLength(1)
  })

  test('a failed delivery is retried after longer and longer pauses until the receiver accepts it', async () => {
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

  test('a webhook whose receiver accepts nothing for two days is disabled, with an event and a log line', async () => {
    const dead = await hooks.create()
    const other = await openReceiver()
    await hooks.create({ url: other.url, enabledEvents: ['webhook.disabled'] })
    await hooks.createWallet('Given up')
    receiver.answer(500)
    await hooks.deliver()
    for (let hour = 0; hour < 47; hour++) await hooks.sendLater(3600)
    const pendingWallet = await hooks.createWallet('Pending')
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
    // When the receiver works and the webhook is enabled again, the pending deliveries are sent.
    await hooks.change(dead, { status: 'ENABLED' })
    await hooks.deliver()
    expect(hooks.receivedIds().slice(attempts)).toContain(pendingWallet)
    await other.close()
  })

  test('a webhook whose receiver rejects only one event loses only that event', async () => {
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

  test('a webhook whose receiver answers 410 is disabled at once', async () => {
    const hook = await hooks.create()
    await hooks.createWallet()
    receiver.answer(410)
    await hooks.deliver()
    expect(await hooks.read(hook)).toMatchObject({ status: 'DISABLED' })
    expect(await hooks.deliveries(hook)).toMatchObject([{ status: 'failed', attempts: 1, lastResponseStatus: 410 }])
  })

  test('messages are signed with both the old and the new secret until the old one expires', async () => {
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

  test('webhooks keep their secrets when the root key is rotated; new webhooks use the new root key', async () => {
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

  test('only the process that holds the lease sends deliveries, until the lease expires or is released', async () => {
    await hooks.create()
    const other = await anotherProcess(world, world.system)
    const wallets = [await hooks.createWallet()]
    await hooks.deliver()
    wallets.push(await hooks.createWallet())
    // The first process still holds the lease, so the other process sends nothing.
    await other.service.deliveries.once()
    expect(hooks.receivedIds()).toEqual(wallets.slice(0, 1))
    world.system.pass(3_000)
    await other.service.deliveries.once()
    expect(hooks.receivedIds()).toEqual(wallets)
    // A process releases the lease when it stops.
    await other.service.deliveries.stop()
    wallets.push(await hooks.createWallet())
    world.system.pass(1_000)
    await hooks.deliver()
    expect(hooks.receivedIds()).toEqual(wallets)
    await other.drop()
  })

  test('due deliveries are sent in the background while the process runs, and no longer once it stops', async () => {
    await hooks.create()
    world.service.deliveries.start()
    const wallet = await hooks.createWallet()
    await expect.poll(() => hooks.receivedIds()).toEqual([wallet])
    await world.service.deliveries.stop()
    await hooks.createWallet()
    await new Promise(setImmediate)
    expect(hooks.receivedIds()).toEqual([wallet])
  })

  test('webhooks survive the restore of a snapshot, but pending deliveries are dropped', async () => {
    const hook = await hooks.create()
    const asParty = { key: world.apiKey }
    expect((await world.post('/simulations/snapshots', { name: 'before' }, asParty)).status).toBe(200)
    receiver.answer(500)
    await hooks.createWallet('Pending')
    await hooks.deliver()
    await hooks.createWallet('Not processed yet')
    expect((await world.send('POST', '/simulations/snapshots/before/restore', asParty)).status).toBe(200)
    receiver.answer(200)
    const sent = receiver.received.length
    const wallet = await hooks.createWallet('Afterwards')
    await hooks.sendLater(twoDays)
    expect(hooks.receivedIds().slice(sent)).toEqual([wallet])
    expect(await hooks.deliveries(hook, '?status=failed')).toMatchObject([{ attempts: 1, eventType: 'wallet.created' }])
  })

  test('an event can be resent, and a webhook gets a test event even if that type is not enabled', async () => {
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

  test('the results of deliveries are deleted after 30 days', async () => {
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
