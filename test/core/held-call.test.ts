import { expect, test } from 'vitest'
import { heldMs, heldState, type StoredDecision, withAnswer } from '../../src/core/held-call.ts'

const nowMs = 1_000_000

test.each([
  ['pending', 1, 'pending', 'can'],
  ['pending', 0, 'ended', 'cannot'],
  ['yes', 1, 'yes', 'cannot'],
  ['yes', 0, 'ended', 'cannot'],
  ['no', 1, 'no', 'cannot'],
  ['no', 0, 'no', 'cannot'],
] as const)('a decision stored as %s, with %i ms left, is %s and %s be answered', (status, left, state, can) => {
  const decision: StoredDecision = { status, endsAtMs: nowMs + left }
  expect(heldState(decision, nowMs)).toBe(state)
  for (const answer of ['yes', 'no'] as const) {
    const after = can === 'can' ? { status: answer, endsAtMs: nowMs + heldMs } : undefined
    expect(withAnswer(decision, answer, nowMs)).toEqual(after)
  }
})
