import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { hmac, type System, sealBytes, unsealBytes } from '../../core/system.ts'
import { lastingTexts, type RootKeys } from '../store/root-keys.ts'

/** The party acted on, and the Idempotency-Key of the request. */
interface KeyOfParty {
  partyId: string
  key: string
}

/**
 * Encodes an answer without a secret for the idempotency record. It is neither compressed nor sealed, which saves a
 * fifth of a write's CPU time. It begins with a colon; a sealed answer has its key's id before the colon.
 */
export function plainAnswer(body: string): Buffer {
  return Buffer.from(`:${body}`)
}

/**
 * Compresses and seals an answer for the idempotency record, and puts the root key's id before it. Only a request with
 * the same Idempotency-Key can open it. With access to the database alone, nobody can open or forge an answer.
 */
export function sealedAnswer(keys: RootKeys, system: System, of: KeyOfParty, body: string): Buffer {
  const sealed = sealBytes(system, secretOf(keys, keys.newestId, of), deflateRawSync(body, cheap))
  return Buffer.concat([Buffer.from(`${keys.newestId}:`), sealed])
}

/** Returns the body of a recorded answer. */
export function openedAnswer(keys: RootKeys, of: KeyOfParty, answer: Uint8Array | null): string {
  if (answer === null) throw new Error('Bug: a finished record without its answer.')
  const sealed = Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength)
  const end = sealed.indexOf(':')
  if (end === 0) return sealed.toString('utf8', 1)
  const deflated = unsealBytes(secretOf(keys, Number(sealed.toString('latin1', 0, end)), of), sealed.subarray(end + 1))
  if (deflated === undefined) throw new Error('Bug: a recorded answer does not open with its own key.')
  return inflateRawSync(deflated).toString('utf8')
}

function secretOf({ derive }: RootKeys, keyId: number, { partyId, key }: KeyOfParty): string {
  return hmac(derive(keyId, lastingTexts.recordedAnswers), `recorded answer ${partyId} ${key}`)
}

/** Settings with small buffers, because allocating larger ones costs more than compressing an answer. */
const cheap = { level: 1, windowBits: 11, memLevel: 4, chunkSize: 1024 } as const
