import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { hmac, type System, sealBytes, unsealBytes } from '../../core/system.ts'
import { lastingTexts, type RootKeys } from '../store/root-keys.ts'

/** The party that a request acts on, and the request's Idempotency-Key. */
interface KeyedRequest {
  partyId: string
  key: string
}

/**
 * Encodes an answer without secrets for the idempotency record. To save a fifth of a write's CPU time, the answer is
 * neither compressed nor encrypted. It begins with a colon; an encrypted answer has the root key's id before the colon.
 */
export function plainAnswer(body: string): Buffer {
  return Buffer.from(`:${body}`)
}

/**
 * Compresses and encrypts an answer for the idempotency record, and puts the root key's id before it. Decrypting it
 * takes the request's Idempotency-Key, so access to the database does not suffice to read or forge an answer.
 */
export function sealedAnswer(keys: RootKeys, system: System, request: KeyedRequest, body: string): Buffer {
  const sealed = sealBytes(system, secretOf(keys, keys.newestId, request), deflateRawSync(body, smallBuffers))
  return Buffer.concat([Buffer.from(`${keys.newestId}:`), sealed])
}

/** Returns the body of a recorded answer. */
export function openedAnswer(keys: RootKeys, request: KeyedRequest, answer: Uint8Array | null): string {
  if (answer === null) throw new Error('Bug: a finished idempotency record has no answer.')
  const sealed = Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength)
  const end = sealed.indexOf(':')
  if (end === 0) return sealed.toString('utf8', 1)
  const deflated = unsealBytes(
    secretOf(keys, Number(sealed.toString('latin1', 0, end)), request),
    sealed.subarray(end + 1),
  )
  if (deflated === undefined) throw new Error('Bug: a recorded answer cannot be decrypted with its own key.')
  return inflateRawSync(deflated).toString('utf8')
}

function secretOf({ derive }: RootKeys, keyId: number, { partyId, key }: KeyedRequest): string {
  return hmac(derive(keyId, lastingTexts.recordedAnswers), `recorded answer ${partyId} ${key}`)
}

/** Compression settings. Allocating larger buffers would take longer than compressing an answer. */
const smallBuffers = { level: 1, windowBits: 11, memLevel: 4, chunkSize: 1024 } as const
