import { describe, expect, test } from 'vitest'
import { ApiError } from '../../src/client/api-error.ts'
import type { AttemptProgress } from '../../src/client/retry.ts'
import {
  card,
  cardId,
  credential,
  cutConnection,
  fakeSystem,
  issue,
  json,
  keys,
  refusing,
  scriptedClient,
  thrown,
} from './scripted.ts'

const ok = json(200, { data: card })

describe('retries', () => {
  test.each([
    ['status 408', refusing(408, 'timeout')],
    ['status 429', refusing(429, 'rate_limited')],
    ['status 502', refusing(502, 'bad_gateway')],
    ['status 503', refusing(503, 'service_unavailable')],
    ['a broken connection', cutConnection('ECONNRESET')],
    [
      'an answer that is cut off',
      () => new Response(new ReadableStream({ pull: (stream) => stream.error(new Error('cut')) })),
    ],
  ])('a request is retried after %s, with the same key and body', async (_, failing) => {
    const { client, seen } = scriptedClient([failing, failing, ok])
    const { idempotencyKey } = await client.operations.issueAgentCard(issue)
    expect(keys(seen)).toEqual([idempotencyKey, idempotencyKey, idempotencyKey])
    expect(new Set(seen.map(({ body }) => body)).size).toBe(1)
  })

  test.each([400, 401, 403, 404, 409, 422, 428, 500, 501])('status %i is not retried', async (status) => {
    const { client, seen } = scriptedClient([refusing(status, 'some_code'), ok])
    expect(await thrown(client.operations.issueAgentCard(issue))).toMatchObject({
      status,
      attempts: 1,
      retryable: false,
    })
    expect(seen).toHaveLength(1)
  })

  test('a request that makes a change without an idempotency key is retried only after status 429', async () => {
    const passing = scriptedClient([refusing(429, 'rate_limited'), ok])
    await passing.client.operations.advanceSandboxClock({ seconds: 60 })
    expect(passing.seen).toHaveLength(2)
    for (const failing of [refusing(503, 'service_unavailable'), cutConnection('ECONNRESET')]) {
      const { client, seen } = scriptedClient([failing, ok])
      const error = await thrown(client.operations.advanceSandboxClock({ seconds: 60 }))
      expect(error).toMatchObject({ retryable: false, idempotencyKey: undefined })
      expect((error as ApiError).next).toContain('read the current state')
      expect(seen).toHaveLength(1)
    }
  })

  test('a 409 is retried if an earlier attempt may still be running, but not if the 409 is a replay', async () => {
    const running = scriptedClient([cutConnection('ECONNRESET'), refusing(409, 'conflict'), ok])
    await running.client.operations.issueAgentCard(issue)
    expect(running.seen).toHaveLength(3)
    const replayed = refusing(409, 'conflict', { 'X-Idempotency-Replayed': 'true' })
    const final = scriptedClient([cutConnection('ECONNRESET'), refusing(409, 'conflict'), replayed])
    expect(await thrown(final.client.operations.issueAgentCard(issue))).toMatchObject({ status: 409, attempts: 3 })
    const afterRateLimit = scriptedClient([refusing(429, 'rate_limited'), refusing(409, 'conflict'), ok])
    expect(await thrown(afterRateLimit.client.operations.issueAgentCard(issue))).toMatchObject({ attempts: 2 })
  })
})

describe('limits and waits', () => {
  test('a call that keeps failing makes four attempts, with growing waits', async () => {
    const { client, seen, system } = scriptedClient([refusing(503, 'service_unavailable')])
    const error = await thrown(client.operations.issueAgentCard(issue))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ attempts: 4, retryable: true, idempotencyKey: keys(seen)[0], supportId: 'req_1' })
    expect(seen).toHaveLength(4)
    expect(system.slept).toHaveLength(3)
    for (const [index, ms] of system.slept.entries()) {
      expect(ms).toBeGreaterThanOrEqual(125 * 2 ** index)
      expect(ms).toBeLessThanOrEqual(250 * 2 ** index)
    }
  })

  test.each([
    ['in seconds', '7', 7000],
    ['as an HTTP date', new Date(Date.UTC(2026, 0, 31, 12, 0, 9)).toUTCString(), 9000],
  ])('Retry-After %s delays the next attempt', async (_, value, ms) => {
    const { client, system } = scriptedClient([refusing(429, 'rate_limited', { 'Retry-After': value }), ok])
    await client.operations.issueAgentCard(issue)
    expect(system.slept).toEqual([ms])
  })

  test.each(['0', '-5', 'soon', new Date(0).toUTCString()])('Retry-After %j has no effect', async (value) => {
    const { client, system } = scriptedClient([refusing(503, 'service_unavailable', { 'Retry-After': value }), ok])
    await client.operations.issueAgentCard(issue)
    expect(system.slept[0]).toBeLessThanOrEqual(250)
  })

  test.each(['99999999', '3601', new Date(Date.UTC(2036, 0, 1)).toUTCString()])(
    'a Retry-After of more than an hour (%s) is ignored, and left out of the error',
    async (value) => {
      const { client, system } = scriptedClient([refusing(429, 'rate_limited', { 'Retry-After': value })])
      const error = await thrown(client.operations.issueAgentCard(issue))
      expect(error).toMatchObject({ code: 'rate_limited', attempts: 4, retryAfterSeconds: undefined })
      expect(Math.max(...system.slept)).toBeLessThanOrEqual(1000)
    },
  )

  test('a call fails immediately if Retry-After is longer than the time left for the call', async () => {
    const { client, seen, system } = scriptedClient([refusing(429, 'rate_limited', { 'Retry-After': '61' })])
    const error = await thrown(client.operations.issueAgentCard(issue))
    expect(error).toMatchObject({ code: 'rate_limited', status: 429, retryAfterSeconds: 61, attempts: 1 })
    expect(seen).toHaveLength(1)
    expect(system.slept).toEqual([])
  })

  test('all waits of a call together stay below a minute', async () => {
    const { client, system } = scriptedClient([refusing(503, 'service_unavailable', { 'Retry-After': '25' })])
    expect(await thrown(client.operations.issueAgentCard(issue))).toMatchObject({ attempts: 3 })
    expect(system.slept).toEqual([25_000, 25_000])
  })

  test('an attempt without an answer ends at its timeout, even if `fetch` ignores the abort signal', async () => {
    const { client } = scriptedClient([() => new Promise(() => {})], { attemptTimeoutMs: 20 })
    const error = await thrown(client.operations.advanceSandboxClock({ seconds: 1 }))
    expect(error).toMatchObject({
      code: 'service_unavailable',
      detail: "Can't reach api.example.test: no answer within 0.02 s.",
    })
  })
})

describe('progress and abort', () => {
  test('each attempt and each wait is reported to `onAttempt`', async () => {
    const { client } = scriptedClient([refusing(429, 'rate_limited', { 'Retry-After': '2' }), ok])
    const reports: AttemptProgress[] = []
    await client.operations.issueAgentCard(issue, { onAttempt: (progress) => reports.push(progress) })
    expect(reports).toEqual([
      { attempt: 1, maximumAttempts: 4, waitMs: 0, reason: undefined },
      { attempt: 2, maximumAttempts: 4, waitMs: 2000, reason: 'status 429' },
      { attempt: 2, maximumAttempts: 4, waitMs: 0, reason: 'status 429' },
    ])
  })

  test('a call can be aborted before, during and between its attempts', async () => {
    const before = scriptedClient([ok])
    const reason = new Error('enough')
    expect(await thrown(before.client.operations.whoami({}, { signal: AbortSignal.abort(reason) }))).toBe(reason)
    expect(before.seen).toEqual([])

    const controller = new AbortController()
    const during = scriptedClient([
      () => {
        controller.abort(reason)
        return new Promise(() => {})
      },
    ])
    expect(await thrown(during.client.operations.issueAgentCard(issue, { signal: controller.signal }))).toBe(reason)
    expect(during.seen).toHaveLength(1)

    const waiting = new AbortController()
    const system = fakeSystem()
    const between = scriptedClient([refusing(503, 'service_unavailable')], {
      system: {
        ...system,
        sleep: async (_, signal) => {
          waiting.abort(reason)
          signal?.throwIfAborted()
        },
      },
    })
    expect(await thrown(between.client.operations.issueAgentCard(issue, { signal: waiting.signal }))).toBe(reason)
    expect(between.seen).toHaveLength(1)
  })
})

test('the credential is read before each attempt', async () => {
  const tokens = [credential, 'second-token']
  const { client, seen } = scriptedClient([refusing(503, 'service_unavailable'), ok], {
    credential: () => tokens.shift() ?? '',
  })
  await client.operations.getAgentCard({ cardId })
  expect(seen.map(({ headers }) => headers.get('Authorization'))).toEqual([
    `Bearer ${credential}`,
    'Bearer second-token',
  ])
})
