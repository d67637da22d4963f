import { expect, test } from 'vitest'
import { heldMs, heldState, type StoredDecision, withAnswer } from '../../src/core/held-call.ts'

const nowMs = 1_000_000

test.each([
  ['pending', 1, 'pending', true],
  ['pending', 0, 'ended', false],
  ['yes', 1, 'yes', false],
  ['yes', 0, 'ended', false],
  ['no', 1, 'no', false],
  ['no', 0, 'no', false],
] as const)('a decision stored as %s with %i ms left is %s; it takes an answer: %s', (status, left, state, takes) => {
  const decision: StoredDecision = { status, endsAtMs: nowMs + left }
  expect(heldState(decision, nowMs)).toBe(state)
  for (const answer of ['yes', 'no'] as const) {
    const after = takes ? { status: answer, endsAtMs: nowMs + heldMs } : undefined
    expect(withAnswer(decision, answer, nowMs)).toEqual(after)
  }
})
