import { type ErrorCode, fail } from '../../core/errors.ts'
import { sha256 } from '../../core/system.ts'
import type { Times } from '../store/clock.ts'
import type { Transaction } from '../store/engine/store.ts'
import {
  deleteIdempotencyRecords,
  idempotencyRecord,
  isForRequest,
  putIdempotencyRecord,
  type RequestHashes,
} from '../store/idempotency-records.ts'
import type { RootKeys } from '../store/root-keys.ts'
import type { IdempotencyRecordRow } from '../store/schema/idempotency-records.ts'
import type { Context } from './handler.ts'
import { openedAnswer, plainAnswer, sealedAnswer } from './recorded-answers.ts'
import { mayContainSecret, type Reply } from './reply.ts'

const hourMs = 60 * 60 * 1000
/** How long a finished operation's answer is replayed (docs/service.md#idempotency-window). */
export const replayWindowMs = 48 * hourMs
/** How much longer the answer is stored than it is replayed, in case the clock runs fast. */
const extraStorageMs = 7 * 24 * hourMs

/** A request's claim to its idempotency key. A key belongs to the party that the request acts on. */
export interface Claim {
  partyId: string
  key: string
  fingerprint: string
}

/** The stored record of an idempotency key, and the root keys for opening its sealed answer. */
export interface Earlier {
  record: IdempotencyRecordRow | undefined
  keys: RootKeys
}

/**
 * Returns the name of the claim that a running request holds in its process. Until the request ends, the same process
 * refuses repeats of it immediately.
 */
export function claimName(partyId: string, key: string): string {
  return `idempotency ${partyId} ${sha256(key)}`
}

export type Claimed = { replay: Reply } | { attempt: 'first' | 'repeated' }

/**
 * Claims the key for this request, or returns the answer that is recorded under the key.
 * @throws 409 `conflict` if the key was used for a different request, or if the original request is still running in
 * this process. It does not wait for that request.
 */
export function claim(
  tx: Transaction,
  ownClaim: Claim,
  { record, keys }: Earlier,
  { earliestMs }: Pick<Times, 'earliestMs'>,
): Claimed {
  const { partyId, key, fingerprint } = ownClaim
  if (!tx.claim(claimName(partyId, key))) {
    fail('conflict', {
      detail: 'The request with this Idempotency-Key is still running. Repeat it in a moment.',
      retryable: true,
    })
  }
  if (record === undefined) return { attempt: 'first' }
  if (record.finishedAtMs !== null && earliestMs >= record.finishedAtMs + replayWindowMs) return { attempt: 'first' }
  if (!isForRequest(record, fingerprint)) {
    fail('conflict', {
      detail: 'This Idempotency-Key was used for another request. Use a new key for a new operation.',
      source: { header: 'Idempotency-Key' },
    })
  }
  if (record.state === 'unresolved') return { attempt: 'repeated' }
  if (record.status === null) throw new Error('Bug: a finished idempotency record has no answer.')
  const body = openedAnswer(keys, ownClaim, record.answer)
  return { replay: { status: record.status, body, headers: { 'X-Idempotency-Replayed': 'true' } } }
}

/**
 * The statuses of failures that are not recorded. A retry runs the operation again
 * (docs/service.md#idempotency-failures).
 */
const notRecordedStatuses: readonly number[] = [408, 429, 503]

/**
 * The code of the only other failure that is not recorded. After this failure, the caller adds the beneficiary's
 * address and retries with the same idempotency key.
 */
export const notRecordedCode: ErrorCode = 'wire.beneficiary_address_required'

/** Returns the record from which repeats of the request are answered; undefined if the answer is not to be recorded. */
export function recordOf(
  { system, nowMs, operation }: Pick<Context, 'system' | 'nowMs' | 'operation'>,
  ownClaim: Claim,
  reply: Reply,
  keys: RootKeys,
): IdempotencyRecordRow | undefined {
  const { status, body } = reply
  if (notRecordedStatuses.includes(status)) return undefined
  const answer = mayContainSecret(operation, reply) ? sealedAnswer(keys, system, ownClaim, body) : plainAnswer(body)
  return idempotencyRecord({ ...hashesOf(ownClaim), state: 'finished', status, answer, finishedAtMs: nowMs })
}

/**
 * Records that a request was accepted but not resolved. The request is resolved when the caller repeats it with the
 * same key.
 */
export async function recordUnresolved(tx: Transaction, ownClaim: Claim): Promise<void> {
  const unresolved = { state: 'unresolved', status: null, answer: null, finishedAtMs: null } as const
  await putIdempotencyRecord(tx, idempotencyRecord({ ...hashesOf(ownClaim), ...unresolved }))
}

/**
 * Returns the values that identify a request in the store. Only the hash of the key is stored, because the key itself
 * can open the sealed answer.
 */
function hashesOf({ partyId, key, fingerprint }: Claim): RequestHashes {
  return { partyId, key: sha256(key), fingerprint }
}

/** Deletes at most `limit` answers that can no longer be replayed. Returns how many it deleted. */
export function purgeAnswers(
  tx: Transaction,
  { earliestMs }: Pick<Times, 'earliestMs'>,
  limit: number,
): Promise<number> {
  return deleteIdempotencyRecords(tx, { byMs: earliestMs - replayWindowMs - extraStorageMs, limit })
}
