import { afterEach, beforeEach, expect, test } from 'vitest'
import { postgres } from '../support/databases.ts'
import { holdLocks } from '../support/locks.ts'
import { createWorld, type World } from '../support/world.ts'
import { type WebhookHelpers, webhookHelpers } from './hooks.ts'
import { openReceiver, type Receiver } from './receiver.ts'

let world: World
let receiver: Receiver
let hooks: WebhookHelpers
let sent: number
/** The answer to the first message waits for this promise, which the test resolves. */
let firstAnswer: PromiseWithResolvers<void>

beforeEach(async () => {
  sent = 0
  firstAnswer = Promise.withResolvers()
  const send = async () => {
    sent += 1
    if (sent === 1) await firstAnswer.promise
    return { status: 200, error: null }
  }
  world = await createWorld(postgres, { send })
  receiver = await openReceiver()
  hooks = webhookHelpers(world, receiver)
  await hooks.create({ enabledEvents: ['wallet.created'] })
  await hooks.createWallet()
})
afterEach(async () => {
  await receiver.close()
  await world.drop()
})

const resend = async () => {
  const [event] = await hooks.events('wallet.created')
  const answered = await world.send('POST', `/events/${event?.id}/resend`, { key: world.apiKey })
  expect(answered.status, answered.text).toBe(200)
}

test('a resend is not lost if it commits while the result of the first delivery is being stored', async () => {
  const delivering = hooks.deliver()
  await expect.poll(() => sent).toBe(1)
  // The resend first adds its delivery. Before it can commit, it has to wait for this lock.
  const held = await holdLocks(world.url, 'lock table "activity" in exclusive mode')
  const again = resend()
  await held.waitUntilBlocked(1)
  firstAnswer.resolve()
  await held.waitUntilBlocked(2)
  await held.release()
  await Promise.all([again, delivering])
  await hooks.sendLater(60)
  expect(sent).toBe(2)
})

test('a resend is not lost if it commits while the webhook skips an event whose type is not enabled', async () => {
  firstAnswer.resolve()
  await hooks.deliver()
  const renamed = await world.send('PATCH', '/parties/me', { key: world.apiKey, attributes: { displayName: 'New' } })
  expect(renamed.status, renamed.text).toBe(200)
  const held = await holdLocks(world.url, 'select 1 from webhooks for update')
  const again = resend()
  await held.waitUntilBlocked(1)
  const delivering = hooks.deliver()
  await held.waitUntilBlocked(2)
  await held.release()
  await Promise.all([again, delivering])
  await hooks.sendLater(60)
  expect(sent).toBe(2)
})
