import { expect } from 'vitest'
import { type ErrorCode, errorTable } from '../../src/core/errors.ts'
import type { Answer } from '../support/world.ts'

interface Refused {
  /** The HTTP status, if it is not the usual status of the error code. */
  status?: number
  source?: { pointer: string } | { parameter: string } | { header: string }
  retryable?: true
  /** The connection status of the bank account, if the error says that the account must be linked again. */
  connectionStatus?: string
}

/**
 * Checks that an answer is the expected refusal and has the error format (docs/service.md#error-format).
 * @returns the support id of the refusal
 */
export function expectRefusal(
  answer: Answer,
  code: ErrorCode,
  { status, source, retryable, connectionStatus }: Refused = {},
): string {
  const expected = status ?? errorTable[code].status
  const supportId = expect.stringMatching(/^req_[0-9a-f]{32}$/)
  const { minimum, maximum } = answer.json.errors[0].meta
  const boundEntries = Object.entries({ minimum, maximum }).filter(
    ([, bound]) => (code === 'invalid_value' || code === 'conflict') && bound !== undefined,
  )
  const bank = connectionStatus === undefined ? {} : { connectionStatus, provider: { name: 'plaid' } }
  const bounds = Object.fromEntries(boundEntries.map(([name]) => [name, expect.any(Number)]))
  expect(answer.json).toStrictEqual({
    errors: [
      {
        code,
        detail: expect.stringMatching(/\S/),
        status: String(expected),
        ...(source === undefined ? {} : { source }),
        meta: { supportId, ...(retryable === undefined ? {} : { retryable }), ...bounds, ...bank },
      },
    ],
  })
  expect(answer.status).toBe(expected)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect(answer.text).not.toMatch(/\.ts\b|node:internal|\\n +at |\bat (async )?\S+ \(/)
  return answer.json.errors[0].meta.supportId
}

/** Returns the error with empty `meta`, so that the errors of different requests can be compared. */
export function withoutSupportId({ json }: Answer): unknown {
  return { ...json.errors[0], meta: {} }
}
