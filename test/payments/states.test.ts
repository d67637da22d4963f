import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  approvalTransitions,
  mfaLifetimeMs,
  mfaThresholdCents,
  nextApprovalStatus,
  requireMayApprove,
  requireRecentMfa,
} from '../../src/service/rules/approvals.ts'
import { nextPaymentStatus, type PaymentStatus, paymentTransitions } from '../../src/service/rules/payments.ts'
import { approvalStatuses } from '../../tools/approvals.ts'
import { paymentStatuses } from '../../tools/payments.ts'
import { proveBooks } from '../ledger/books.ts'
import { expectRefusal } from '../request/refusals.ts'
import { onEachDatabase } from '../support/databases.ts'
import { addParty, createWorld, type OtherParty, type World } from '../support/world.ts'
import { created, ok, type Payer, payer } from './payer.ts'

/** The transitions that docs/service.md allows, repeated here to find mistakes in the service's own tables. */
const flow: Record<string, string> = {
  'CREATED pay': 'COMPLETED',
  'CREATED reserve': 'PENDING_CLAIM',
  'CREATED review': 'IN_REVIEW',
  'IN_REVIEW pay': 'COMPLETED',
  'IN_REVIEW reserve': 'PENDING_CLAIM',
  'IN_REVIEW deny': 'APPROVAL_DENIED',
  'IN_REVIEW cancel': 'CANCELED',
  'PENDING_CLAIM claim': 'COMPLETED',
  'PENDING_CLAIM cancel': 'CANCELED',
}
const events = ['pay', 'reserve', 'review', 'claim', 'cancel', 'deny'] as const

describe('the states of payments', () => {
  test('payments have the states of the API', () =>
    expect(Object.keys(paymentTransitions).sort()).toEqual([...paymentStatuses].sort()))

  test.each(paymentStatuses.flatMap((status) => events.map((event) => [status, event] as const)))(
    'a payment that is %s handles the event %s as specified',
    (status, event) => {
      const after = flow[`${status} ${event}`]
      if (after !== undefined) expect(nextPaymentStatus(status, event)).toBe(after)
      else
        expect(() => nextPaymentStatus(status, event)).toThrow(`A payment that is ${status} does not allow ${event}.`)
    },
  )
})

describe('the states of approvals', () => {
  const decisions = { approve: 'approved', deny: 'denied', cancel: 'canceled' } as const

  test('approvals have the states of the API', () =>
    expect(Object.keys(approvalTransitions)).toEqual([...approvalStatuses]))

  test.each(
    approvalStatuses.flatMap((status) =>
      (['approve', 'deny', 'cancel'] as const).map((event) => [status, event] as const),
    ),
  )('an approval that is %s handles the event %s as specified', (status, event) => {
    if (status === 'pending') expect(nextApprovalStatus(status, event)).toBe(decisions[event])
    else expect(() => nextApprovalStatus(status, event)).toThrow(`The approval is already ${status}`)
  })
})

describe('permission to approve', () => {
  test.each([
    ['agent', 'agent', 'refused'],
    ['agent', 'user', 'allowed'],
    ['agent', 'api', 'allowed'],
    ['party', 'agent', 'allowed'],
    ['party', 'user', 'allowed'],
    ['party', 'api', 'allowed'],
    ['user', 'agent', 'allowed'],
    ['user', 'user', 'allowed'],
    ['user', 'api', 'allowed'],
  ] as const)(
    'if a credential of kind “%s” decides about a request from one of kind “%s”, the decision is %s',
    (decider, initiator, outcome) => {
      const decide = () => requireMayApprove(decider, initiator)
      if (outcome === 'allowed') expect(decide).not.toThrow()
      else expect(decide).toThrow(expect.objectContaining({ code: 'forbidden' }))
    },
  )

  const nowMs = 1_000_000_000
  test.each([
    [mfaThresholdCents, 'never verified', 'allowed', null],
    [mfaThresholdCents + 1, 'never verified', 'refused', null],
    [mfaThresholdCents + 1, 'just verified', 'allowed', nowMs],
    [mfaThresholdCents + 1, 'verified ten minutes ago', 'allowed', nowMs - mfaLifetimeMs],
    [mfaThresholdCents + 1, 'verified over ten minutes ago', 'refused', nowMs - mfaLifetimeMs - 1],
  ])('approving %d cents: a user who %s is %s', (amountCents, _, outcome, verifiedAtMs) => {
    const decide = () => requireRecentMfa({ amountCents, verifiedAtMs, nowMs, verifyAt: 'http://here/verify' })
    if (outcome === 'allowed') expect(decide).not.toThrow()
    else
      expect(decide).toThrow(
        expect.objectContaining({ code: 'mfa_required', message: expect.stringContaining('http://here/verify') }),
      )
  })
})

type Reachable = Exclude<PaymentStatus, 'CREATED' | 'PROCESSING' | 'FAILED' | 'RETURNED'>
type Action = 'approve' | 'deny' | 'cancel' | 'claim'

/** The result of each action: the new status, 409, or `no approval` if the payment was never in review. */
const results: Record<Reachable, Record<Action, Reachable | 409 | 'no approval'>> = {
  COMPLETED: { approve: 'no approval', deny: 'no approval', cancel: 409, claim: 409 },
  PENDING_CLAIM: { approve: 'no approval', deny: 'no approval', cancel: 'CANCELED', claim: 'COMPLETED' },
  IN_REVIEW: { approve: 'COMPLETED', deny: 'APPROVAL_DENIED', cancel: 'CANCELED', claim: 409 },
  CANCELED: { approve: 409, deny: 409, cancel: 409, claim: 409 },
  APPROVAL_DENIED: { approve: 409, deny: 409, cancel: 409, claim: 409 },
}
const cells = Object.entries(results).flatMap(([status, actions]) =>
  Object.entries(actions).map(([action, result]) => [status as Reachable, action as Action, result] as const),
)

onEachDatabase('actions on payments', (database) => {
  let world: World
  let self: Payer
  let other: OtherParty

  beforeAll(async () => {
    world = await createWorld(database)
    self = payer(world)
    other = await addParty(world)
    const { agentId } = await world.whoami()
    await self.setLimits('agents', String(agentId), { perTransaction: 1000 })
  })
  afterAll(async () => {
    await proveBooks(world.store)
    await world.drop()
  })

  const createInState = async (status: Reachable): Promise<string> => {
    const to = { type: 'party_id', value: other.partyId }
    if (status === 'COMPLETED') return created(await self.pay(10, to))
    if (status === 'PENDING_CLAIM') return created(await self.pay(10, { type: 'email', value: 'a@b.example' }))
    const id = created(await self.pay(1001, to))
    if (status === 'CANCELED') ok(await self.cancel(id))
    if (status === 'APPROVAL_DENIED') ok(await self.deny((await self.approvalOf(id)).id, {}, { key: world.apiKey }))
    return id
  }

  test.each(cells)(
    'for a payment with the status %s, the action %s has the result: %s',
    async (status, action, result) => {
      // A claim in an earlier case may have created a party with this email address. Makes the recipient unknown again.
      await world.store.transaction(async ({ db }) => {
        await db.updateTable('parties').set({ email: null }).where('email', '=', 'a@b.example').execute()
      })
      const id = await createInState(status)
      expect(await self.status(id)).toBe(status)
      const approval = await self.approvalOf(id)
      if (result === 'no approval') return expect(approval).toBeUndefined()
      const key = { key: world.apiKey }
      const before = await self.balance()
      const answer = await {
        approve: () => self.approve(approval.id, key),
        deny: () => self.deny(approval.id, { reason: 'No.' }, key),
        cancel: () => self.cancel(id),
        claim: () => self.claim(id),
      }[action]()
      if (result === 409) {
        expectRefusal(answer, 'conflict')
        expect(await self.status(id)).toBe(status)
        expect(await self.balance()).toEqual(before)
      } else {
        ok(answer)
        expect(await self.status(id)).toBe(result)
      }
      await proveBooks(world.store)
    },
  )
})
