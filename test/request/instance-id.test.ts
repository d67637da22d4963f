import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationDefinition } from '../../src/core/operation.ts'
import { permissions } from '../../src/core/permissions.ts'
import { catalogue } from '../../tools/index.ts'
import { databases } from '../support/databases.ts'
import { createWorld, type World } from '../support/world.ts'
import { expectRefusal } from './refusals.ts'

/** What moves money (docs/service.md#instance-id), and the operations that do it. */
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
  // Payment intents of a checkout, and what charges the payer.
  subscriptions: [
    'create_subscription',
    'resume_subscription',
    'mark_subscription_payment_paid',
    'simulate_subscription_checkout',
    'simulate_subscription_card',
  ],
} as const

const needing: readonly string[] = Object.values(commands).flat()

/** What an agent may change without one: nothing of it moves money. Cancelling a subscription names it as optional. */
const free: readonly string[] = [
  'cancel_subscription',
  'create_customer_invitation',
  'revoke_customer_invitation',
  'simulate_customer_invitation',
  'simulate_invitation_acceptance',
  'simulate_invitation_decline',
  'simulate_agent_revocation',
  'create_agent_card_details_page',
  'revoke_agent_invitation',
  'create_agent_customer_invitation',
  'advance_sandbox_clock',
]

const changes = Object.values<OperationDefinition>(catalogue).filter(
  ({ effect, permission }) => effect !== 'read' && permissions[permission].agent,
)

test('every change that an agent may make stands in one of the two lists', () => {
  expect(changes.map(({ name }) => name).toSorted()).toEqual([...needing, ...free].toSorted())
})

describe.each(databases)('X-Instance-ID on $name', (database) => {
  let world: World
  beforeAll(async () => {
    world = await createWorld(database)
  })
  afterAll(() => world.drop())

  /** Nothing that it names exists: a caller that needs no instance id gets as far as being told so. */
  const send = ({ method, path }: OperationDefinition, key: string) =>
    world.send(method, path.replaceAll(/\{\w+\}/g, 'missing'), { key, instanceId: null })

  test.each(changes.map((operation) => [operation.name, operation] as const))('%s', async (name, operation) => {
    const answer = await send(operation, world.agentKey)
    if (needing.includes(name)) {
      expectRefusal(answer, 'missing_instance_id', { source: { header: 'X-Instance-ID' } })
    } else expect(answer.text).not.toContain('missing_instance_id')
    expect((await send(operation, world.apiKey)).text).not.toContain('missing_instance_id')
  })
})
