import { expect } from 'vitest'
import type { Answer } from '../support/world.ts'

export const isReplay = ({ headers }: Answer): boolean => headers.get('x-idempotency-replayed') === 'true'

/** Expects the recorded answer, byte for byte, marked as a replay (docs/service.md#idempotency-replay). */
export function expectReplay(answer: Answer | undefined, original: Answer | undefined): void {
  expect(answer && isReplay(answer)).toBe(true)
  expect(answer?.text).toBe(original?.text)
  expect(answer?.status).toBe(original?.status)
}

/** Expects that the request was carried out. */
export function expectFirst(answer: Answer | undefined, status = 200): void {
  expect(answer?.headers.has('x-idempotency-replayed')).toBe(false)
  expect(answer?.status).toBe(status)
}
