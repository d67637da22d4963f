import { type ClientOptions, createClient } from '../../src/client/client.ts'
import type { System } from '../../src/core/system.ts'

/** A request that the scripted service received. */
export interface ReceivedRequest {
  method: string
  url: string
  headers: Headers
  body: string
}

type Step = (request: Request) => Response | Promise<Response>

/**
 * Returns a system whose clock advances only when `sleep` is called; `sleep` takes no real time. Each call of
 * `randomBytes` returns different bytes, so that no two idempotency keys are equal.
 */
export function fakeSystem(startMs = Date.UTC(2026, 0, 31, 12)): System & { slept: number[] } {
  let nowMs = startMs
  let counter = 0
  const slept: number[] = []
  return {
    slept,
    now: () => nowMs,
    elapsed: () => nowMs,
    uptime: () => nowMs,
    databaseNow: (databaseMs) => databaseMs,
    passwordCost: { blocks: 16, size: 8, lanes: 1 },
    randomBytes: (length) => Buffer.alloc(length, ++counter),
    sleep: async (ms, signal) => {
      signal?.throwIfAborted()
      slept.push(ms)
      nowMs += ms
    },
  }
}

export const credential = 'ak_ntl_sandbox_0123456789abcdefghijABCDEFGHIJ'

/** Returns a client of a fake service. The service answers with the steps in order, and then repeats the last step. */
export function scriptedClient(steps: Step[], options: Partial<ClientOptions> = {}) {
  const seen: ReceivedRequest[] = []
  const system = fakeSystem()
  const client = createClient({
    baseUrl: 'https://api.example.test/v1/',
    credential: () => credential,
    instanceId: 'run-1',
    system,
    fetch: async (request) => {
      const step = steps[Math.min(seen.length, steps.length - 1)]
      if (step === undefined) throw new Error('Bug: the script has no steps.')
      const { method, url, headers } = request
      seen.push({ method, url, headers, body: await request.clone().text() })
      return await step(request)
    },
    ...options,
  })
  return { client, seen, system }
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  () =>
    Response.json(body, { status, headers })

export const refusing = (status: number, code: string, headers: Record<string, string> = {}, meta: object = {}) =>
  json(
    status,
    { errors: [{ status: String(status), code, detail: `It is ${code}.`, meta: { supportId: 'req_1', ...meta } }] },
    headers,
  )

export const cutConnection = (code: string) => () => {
  throw new TypeError('fetch failed', { cause: Object.assign(new Error(`connect ${code} secret`), { code }) })
}

export const cardId = 'pcd_0000000000000000000000000000abcd'
export const cardTransactionId = 'cit_0000000000000000000000000000abcd'
export const customerPartyId = `pty_${'ab'.repeat(16)}`
export const card = { type: 'agentCard', id: cardId, attributes: { status: 'active', maximumAmount: 1000 } }
export const issue = { merchant: { name: 'Example Store' }, maximumAmount: 1000, currency: 'USD' } as const

export const keys = (seen: ReceivedRequest[]) => seen.map(({ headers }) => headers.get('Idempotency-Key'))

/** Returns the error that a promise rejects with. Throws if the promise does not reject. */
export async function thrown(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
