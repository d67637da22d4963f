import { type ErrorCode, fail } from '../../core/errors.ts'
import { type System, seal, sha256, unseal } from '../../core/system.ts'
import type { Times } from '../store/clock.ts'
import type { Transaction } from '../store/engine/store.ts'
import { deleteIdempotencyRecords, findIdempotencyRecord, putIdempotencyRecord } from '../store/idempotency-records.ts'
import { rootKeys } from '../store/root-keys.ts'
import type { Reply } from './reply.ts'

const hourMs = 60 * 60 * 1000
/** How long a finished operation's answer is replayed (docs/service.md#idempotency-window). */
const replayWindowMs = 48 * hourMs
/** How much longer it is kept: clocks that are wrong by less let no key be forgotten, once they are right again. */
const keptLongerMs = 7 * 24 * hourMs

/** A request's claim of its key, on the party it acts on. */
export interface Claim {
  partyId: string
  key: string
  fingerprint: string
}

export type Claimed = { replay: Reply } | { attempt: 'first' | 'repeated' }

/**
 * Claims the key for this request, or finds the answer it already has.
 * @throws 409 `conflict`, at once, when the key was used for another request or its original is still running.
 */
export async function claim(tx: Transaction, mine: Claim, { earliestMs }: Pick<Times, 'earliestMs'>): Promise<Claimed> {
  const { partyId, key, fingerprint } = rowOf(mine)
  if (!(await tx.tryLock(`idempotency ${partyId} ${key}`))) {
    fail('conflict', {
      detail: 'The request with this Idempotency-Key is still running. Repeat it in a moment.',
      retryable: true,
    })
  }
  const record = await findIdempotencyRecord(tx, partyId, key)
  if (record === undefined) return { attempt: 'first' }
  if (record.finishedAtMs !== null && earliestMs >= record.finishedAtMs + replayWindowMs) return { attempt: 'first' }
  if (record.fingerprint !== fingerprint) {
    fail('conflict', {
      detail: 'This Idempotency-Key was used for another request. Use a new key for a new operation.',
      source: { header: 'Idempotency-Key' },
    })
  }
  if (record.state === 'unresolved') return { attempt: 'repeated' }
  if (record.status === null || record.body === null) throw new Error('Bug: a finished record without its answer.')
  const body = await opened(tx, mine, record.body)
  return { replay: { status: record.status, body, headers: { 'X-Idempotency-Replayed': 'true' } } }
}

/** Failures that a retry runs again (docs/service.md#idempotency-failures); everything else is recorded. */
const notRecorded: readonly number[] = [408, 429, 503]

/** The one failure by its code that a retry runs again: whoever adds the address goes on with the same key. */
export const notRecordedCode: ErrorCode = 'wire.beneficiary_address_required'

/** Records the answer under the key, so that a repeat of the request replays it; false for what is to run again. */
export async function record(
  tx: Transaction,
  system: System,
  mine: Claim,
  { status, body }: Reply,
  nowMs: number,
): Promise<boolean> {
  if (notRecorded.includes(status)) return false
  const finished = {
    state: 'finished',
    status,
    body: await sealed(tx, system, mine, body),
    finishedAtMs: nowMs,
  } as const
  await putIdempotencyRecord(tx, { ...rowOf(mine), ...finished })
  return true
}

/** Keeps the key for a request that was accepted but is not resolved, until it is repeated. */
export async function recordUnresolved(tx: Transaction, mine: Claim): Promise<void> {
  await putIdempotencyRecord(tx, { ...rowOf(mine), state: 'unresolved', status: null, body: null, finishedAtMs: null })
}

/** Only the key's hash is kept: what its answer is sealed with cannot be read off the database. */
function rowOf({ partyId, key, fingerprint }: Claim) {
  return { partyId, key: sha256(key), fingerprint }
}

/**
 * An answer as it is kept: whoever has the key that it was asked for with reads it again, byte for byte, its secrets
 * included, and nobody else does. In front stands which root key sealed it.
 */
async function sealed(tx: Transaction, system: System, mine: Claim, body: string): Promise<string> {
  const { newestId, derive } = await rootKeys(tx)
  return `${newestId}.${seal(system, derive(newestId, sealText(mine)), body)}`
}

async function opened(tx: Transaction, mine: Claim, recorded: string): Promise<string> {
  const [, id, text] = /^(\d+)\.(.*)$/.exec(recorded) ?? []
  // What was recorded before answers were sealed is JSON, without its secrets.
  if (id === undefined || text === undefined) return recorded
  const { derive } = await rootKeys(tx)
  const body = unseal(derive(Number(id), sealText(mine)), text)
  if (body === undefined) throw new Error('Bug: a recorded answer does not open with its own key.')
  return body
}

function sealText({ partyId, key }: Claim): string {
  return `recorded answer ${partyId} ${key}`
}

/** Deletes at most `limit` of the answers that no clock nearly right would let replay; gives their number. */
export function purgeAnswers(
  tx: Transaction,
  { earliestMs }: Pick<Times, 'earliestMs'>,
  limit: number,
): Promise<number> {
  return deleteIdempotencyRecords(tx, earliestMs - replayWindowMs - keptLongerMs, limit)
}
