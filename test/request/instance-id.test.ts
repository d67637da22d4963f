import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { permissions } from '../../src/core/permissions.ts'
import { catalogue, type OperationKey } from '../../tools/index.ts'
import { type Grounds, grounds } from '../isolation/places.ts'
import { send } from '../isolation/prober.ts'
import { permittedStatus, samples } from '../isolation/samples.ts'
import { readBooks } from '../ledger/books.ts'
import { onEachDatabase, sqlite } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'

/** Commands about moving money. Agents need an instance id for them (docs/service.md#instance-id). */
const commands = {
  payments: ['create_payment', 'cancel_payment', 'simulate_payment_claim'],
  approvals: ['approve_approval', 'deny_approval', 'simulate_customer_approval', 'simulate_customer_denial'],
  transfers: ['create_wire', 'create_internal_transfer', 'fund_sandbox_wallet'],
  cards: [
    'issue_agent_card',
    'simulate_card_authorization',
    'simulate_card_capture',
    'simulate_card_reversal',
    'simulate_card_expiration',
    'simulate_card_refund',
  ],
  // These commands create or change a checkout, or charge the payer.
  subscriptions: [
    'create_subscription',
    'resume_subscription',
    'mark_subscription_payment_paid',
    'simulate_subscription_checkout',
    'simulate_subscription_card',
  ],
} as const

const changes = Object.entries<OperationDefinition>(catalogue).filter(
  ([, { effect, permission }]) => effect !== 'read' && permissions[permission].agent,
)
const withInstanceId = changes.filter(([, { instanceId }]) => instanceId === 'agents')
const withoutInstanceId = changes.filter(([, { instanceId }]) => instanceId === 'optional')

test('agents need an instance id for the commands that move money', () => {
  expect(withInstanceId.map(([, { name }]) => name)).toEqual(expect.arrayContaining(Object.values(commands).flat()))
})

describe('operations that need no instance id', () => {
  let on: Grounds
  beforeAll(async () => {
    on = await grounds(sqlite)
  })
  afterAll(() => on.world.drop())

  test.each(withoutInstanceId)('%s moves no money', async (key, operation) => {
    const sample = samples[key as OperationKey]
    const ids = await sample.make(on, sample.reach === 'connected' ? on.places.granted : on.places.own)
    const before = await readBooks(on.world.store)
    const answer = await send(on, operation, sample, { key: on.world.agentKey, ids })
    expect(answer.status, answer.text).toBe(permittedStatus(operation, sample))
    expect((await readBooks(on.world.store)).entries).toEqual(before.entries)
  })
})

onEachDatabase('X-Instance-ID', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  /** Sends a command without an instance id. The ids of records in its path do not exist. */
  const sendWithout = ({ method, path }: OperationDefinition, key: string) =>
    world.send(method, path.replaceAll(/\{\w+\}/g, 'missing'), { key, instanceId: null })

  test.each(changes)(
    '%s requires an instance id only if its definition says so, and only from agents',
    async (_, operation) => {
      const answer = await sendWithout(operation, world.agentKey)
      if (operation.instanceId === 'agents') {
        expectRefusal(answer, 'missing_instance_id', { source: { header: 'X-Instance-ID' } })
      } else expect(answer.text).not.toContain('missing_instance_id')
      expect((await sendWithout(operation, world.apiKey)).text).not.toContain('missing_instance_id')
    },
  )
})
