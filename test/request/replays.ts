import { expect } from 'vitest'
import type { Answer } from '../support/world.ts'

export const isReplay = ({ headers }: Answer): boolean => headers.get('x-idempotency-replayed') === 'true'

/** Expects a replay with the status and body of the original answer (docs/service.md#idempotency-replay). */
export function expectReplay(answer: Answer | undefined, original: Answer | undefined): void {
  expect(answer && isReplay(answer)).toBe(true)
  expect(answer?.text).toBe(original?.text)
  expect(answer?.status).toBe(original?.status)
}

/** Expects an answer with the given status that is not a replay. */
export function expectFirst(answer: Answer | undefined, status = 200): void {
  expect(answer?.headers.has('x-idempotency-replayed')).toBe(false)
  expect(answer?.status).toBe(status)
}
