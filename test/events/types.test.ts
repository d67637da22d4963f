import { expect, test } from 'vitest'
import { eventKinds, eventTypes, isEventType } from '../../src/service/rules/event-types.ts'

/** The event types of the published API, by kind of record. */
const published: Readonly<Record<string, readonly string[]>> = {
  party: ['updated'],
  compliance_case: ['updated'],
  wallet: ['created'],
  external_account: ['connected'],
  agent_delegation_invitation: ['created', 'accepted', 'declined', 'canceled'],
  agent_delegation: ['revoked'],
  delegation: ['activated', 'revoked'],
  deposit: ['created', 'completed', 'failed', 'returned', 'canceled', 'approval_denied'],
  withdrawal: ['created', 'completed', 'failed', 'returned', 'canceled', 'approval_denied'],
  payment: ['created', 'completed', 'failed', 'returned', 'canceled', 'approval_denied'],
  approval: ['required', 'approved', 'denied', 'canceled'],
  payment_request: ['created', 'completed', 'canceled', 'declined', 'incoming'],
}

test('every event type of the published API exists, and `eventKinds` lists no other type as published', () => {
  const documentedSteps = Object.entries(eventKinds)
    .map(([word, kind]) => [word, Object.keys(kind.published).toSorted()] as const)
    .filter(([, steps]) => steps.length > 0)
  const publishedSteps = Object.entries(published).map(([word, steps]) => [word, steps.toSorted()])
  expect(Object.fromEntries(documentedSteps)).toEqual(Object.fromEntries(publishedSteps))
  const types = Object.entries(published).flatMap(([word, steps]) => steps.map((step) => `${word}.${step}`))
  expect(types).toHaveLength(38)
  expect(types.every(isEventType)).toBe(true)
  expect(new Set(eventTypes).size).toBe(eventTypes.length)
})
