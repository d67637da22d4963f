import { catalogue, type OperationKey } from '../../../tools/index.ts'
import type { WaitSeconds } from '../../../tools/schemas.ts'
import { parseTimestamp, sha256 } from '../../core/system.ts'
import { isFinal } from '../rules/final-states.ts'
import { readTimes } from '../store/clock.ts'
import { noteCall } from './call-entries.ts'
import { type Answered, answer, type Dependencies } from './pipeline.ts'
import { isSuccess, type Reply } from './reply.ts'
import type { Incoming, Unread } from './request-parsing.ts'
import type { WaitingRequest } from './waiting-requests.ts'

/** A resource in an answer. */
interface Resource {
  type: string
  id: string
  attributes: { status: string; expiresAt?: string | null; holdExpiresAt?: string | null }
}

/**
 * Answers a request. If the request has `waitSeconds`, it is answered when the status of its resource changes or is
 * final, or after that many seconds (docs/service.md#waiting). A waiting request holds no transaction. Each read of the
 * resource is a separate request through the pipeline, with the usual permission checks.
 * @param gone Aborts when the client disconnects.
 */
export async function answerLongPoll(
  all: Dependencies,
  key: OperationKey,
  incoming: Incoming | Unread,
  gone: AbortSignal,
): Promise<Reply> {
  const ms = 1000 * waitSecondsOf(key, incoming)
  if (ms === 0) return answer(all, key, incoming, { gone })
  const store = all.waits.reads.storeFor(all.store, sha256(incoming.headers.get('authorization') ?? ''))
  const dependencies = { ...all, store }
  const beganAtMs = dependencies.system.elapsed()
  const first = await answer(dependencies, key, incoming, { gone, isNoted: true })
  let last: Reply | undefined
  try {
    last = await waitForStatus(dependencies, { key, incoming, gone, first, ms })
    return last
  } finally {
    // All reads together are recorded as one call, with the last answer.
    noteCall(dependencies, first.reached, last, dependencies.system.elapsed() - beganAtMs)
  }
}

interface LongPoll {
  key: OperationKey
  incoming: Incoming | Unread
  gone: AbortSignal
  first: Answered
  /** The maximum time to wait. */
  ms: number
}

async function waitForStatus(dependencies: Dependencies, round: LongPoll): Promise<Reply> {
  const { first, ms } = round
  if (!isSuccess(first) || first.by === undefined) return first
  const resource = resourceIn(first)
  if (isFinal(resource)) return first
  const { waits, system } = dependencies
  const untilMs = system.elapsed() + ms
  // If too many requests already wait or the database is busy, the client gets the current state immediately.
  const wait = await waits.begin({ resourceId: resource.id, ...first.by }).catch(() => undefined)
  if (wait === undefined) return first
  try {
    return await pollStatus(dependencies, { ...round, status: resource.attributes.status, wait, untilMs })
  } finally {
    waits.end(wait)
  }
}

async function pollStatus(
  dependencies: Dependencies,
  round: Omit<LongPoll, 'ms'> & { status: string; wait: WaitingRequest; untilMs: number },
): Promise<Reply> {
  const { key, incoming, gone, first, status, wait, untilMs } = round
  const { waits, system } = dependencies
  for (;;) {
    // Listening for changes begins before the read, so that a change after the read is never missed.
    const woken = wait.next()
    const now = await answer(dependencies, key, { ...incoming, isCounted: true }, { isRepeated: true })
    const reply = { ...now, headers: { ...first.headers, ...now.headers } }
    const leftMs = untilMs - system.elapsed()
    const isOver = leftMs <= 0 || waits.ended || gone.aborted
    if (isOver || !isSuccess(now) || resourceIn(now).attributes.status !== status) return reply
    const sleepMs = Math.min(leftMs, await msUntilExpiry(dependencies, resourceIn(now)))
    const over = new AbortController()
    // The wait also ends when the client disconnects.
    await Promise.race([woken, system.sleep(sleepMs, AbortSignal.any([over.signal, gone]))]).catch(() => {})
    over.abort()
  }
}

/**
 * Returns how many milliseconds are left until the resource's next expiry; infinity if there is none. The resource must
 * be read again at that time, because an expiry adds no event that would wake the waiting request.
 */
async function msUntilExpiry({ store }: Dependencies, { attributes }: Resource): Promise<number> {
  const ends = [attributes.expiresAt, attributes.holdExpiresAt].filter((at) => typeof at === 'string')
  if (ends.length === 0) return Number.POSITIVE_INFINITY
  const { nowMs } = await store.read(readTimes)
  const leftMs = Math.min(...ends.map(parseTimestamp)) - nowMs
  return leftMs > 0 ? leftMs : Number.POSITIVE_INFINITY
}

function resourceIn({ body }: Reply): Resource {
  return (JSON.parse(body) as { data: Resource }).data
}

/** Returns the request's `waitSeconds`; 0 if it is missing or invalid. The pipeline refuses invalid values. */
function waitSecondsOf(key: OperationKey, { query }: Incoming | Unread): number {
  const { waitSeconds } =
    (catalogue[key] as { query?: { shape: { waitSeconds?: typeof WaitSeconds } } }).query?.shape ?? {}
  const seconds = query.get('waitSeconds')
  return seconds === null ? 0 : (waitSeconds?.safeParse(seconds).data ?? 0)
}
