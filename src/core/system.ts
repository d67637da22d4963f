import type { KeyObject } from 'node:crypto'
import { uptime } from 'node:os'
import { builtin } from './builtin.ts'

const crypto = builtin<typeof import('node:crypto')>('node:crypto')
const timers = builtin<typeof import('node:timers/promises')>('node:timers/promises')

/**
 * Everything the program takes from the outside world that makes a run unrepeatable: time, randomness and waiting.
 * Tests pass a fake one; nothing else in `src` or `tools` touches `Date`, `crypto` or timers.
 */
export interface System {
  /** Milliseconds since the Unix epoch, real time. */
  now(): number
  /** Cryptographically random bytes. */
  randomBytes(length: number): Buffer
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Milliseconds of a monotonic clock, for measuring durations only. It may stand still while the machine sleeps. */
  elapsed(): number
  /** Milliseconds that the machine has been up, its sleep included; setting the machine's clock does not move it. */
  uptime(): number
  /** The time on the clock of a shared database, in milliseconds since the epoch, given that it said `toldMs`. */
  databaseNow(toldMs: number): number
  /** The cost of hashing a password that somebody chose. */
  readonly passwordCost: PasswordCost
}

/** Costs of scrypt (RFC 7914): `blocks` is N, `size` r, `lanes` p. It takes 128 · N · r bytes. */
export interface PasswordCost {
  blocks: number
  size: number
  lanes: number
}

export const realSystem: System = {
  now: () => Date.now(),
  randomBytes: pooledRandomBytes(),
  sleep: (ms, signal) => timers().setTimeout(ms, undefined, signal === undefined ? {} : { signal }),
  elapsed: () => performance.now(),
  uptime: () => uptime() * 1000,
  databaseNow: (toldMs) => toldMs,
  // One of the equally strong settings of the OWASP Password Storage Cheat Sheet; 32 MiB.
  passwordCost: { blocks: 2 ** 15, size: 8, lanes: 3 },
}

/**
 * Random bytes are asked for by the pool: asking the operating system for each id would cost more than making the rest
 * of it.
 */
function pooledRandomBytes(): System['randomBytes'] {
  const poolLength = 8192
  let pool = Buffer.alloc(0)
  return (length) => {
    if (length > poolLength) return crypto().randomBytes(length)
    if (length > pool.length) pool = crypto().randomBytes(poolLength)
    const bytes = Buffer.from(pool.subarray(0, length))
    // The bytes are handed out once: nothing of them stays in memory here.
    pool.fill(0, 0, length)
    pool = pool.subarray(length)
    return bytes
  }
}

/**
 * A new resource id, `prefix_` and 32 hexadecimal digits (docs/service.md#identifiers): 48 bits of time, then 80 random
 * bits. Ids made later sort later, so a list can page by its primary key.
 */
export function newId(prefix: string, system: Pick<System, 'randomBytes'>, nowMs: number): string {
  const time = Math.max(0, Math.trunc(nowMs)).toString(16).padStart(12, '0').slice(-12)
  return `${prefix}_${time}${system.randomBytes(10).toString('hex')}`
}

/** A secret of `bytes` random bytes in base64url, without padding. */
export function newSecret(system: Pick<System, 'randomBytes'>, bytes = 32): string {
  return system.randomBytes(bytes).toString('base64url')
}

/** RFC 3339 in UTC with milliseconds, the wire's form of a timestamp. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}

/** The end of 9995: what lasts or falls due years later still has a date that RFC 3339 can name. */
export const lastMomentMs = 253_276_070_399_999

/** Milliseconds of an RFC 3339 timestamp; NaN when it is not one. */
export function parseTimestamp(text: string): number {
  return Date.parse(text)
}

/** Calendar month (1 to 12) and four-digit year of an instant, in UTC. */
export function monthAndYear(ms: number): { month: number; year: number } {
  const date = new Date(ms)
  return { month: date.getUTCMonth() + 1, year: date.getUTCFullYear() }
}

/** SHA-256 as lower-case hexadecimal. */
export function sha256(text: string): string {
  return crypto().hash('sha256', text, 'hex')
}

/** SHA-256 in base64, as a Content-Security-Policy names what a page may have within. */
export function sha256Base64(text: string): string {
  return crypto().hash('sha256', text, 'base64')
}

/** HMAC-SHA-256 (RFC 2104) as lower-case hexadecimal. */
export function hmac(key: string, text: string): string {
  return crypto().createHmac('sha256', key).update(text).digest('hex')
}

/** HMAC-SHA-256 in base64, by a key of bytes in base64. */
export function hmacBase64(key: string, text: string): string {
  return crypto().createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64')
}

/** The lengths in bytes of the nonce and the tag of AES-256-GCM (NIST SP 800-38D). */
const cipher = { name: 'aes-256-gcm', nonceBytes: 12, tagBytes: 16 } as const

/** A text that only `key`, 64 hexadecimal digits, opens again, and that cannot be changed; in base64url. */
export function seal(system: Pick<System, 'randomBytes'>, key: string, text: string): string {
  return sealBytes(system, key, Buffer.from(text)).toString('base64url')
}

/** The text that `seal` was given; undefined for another key and for a sealed text that was changed or cut. */
export function unseal(key: string, sealed: string): string | undefined {
  return unsealBytes(key, Buffer.from(sealed, 'base64url'))?.toString('utf8')
}

/** As `seal`, of bytes. */
export function sealBytes(system: Pick<System, 'randomBytes'>, key: string, bytes: Buffer): Buffer {
  const nonce = system.randomBytes(cipher.nonceBytes)
  const sealing = crypto().createCipheriv(cipher.name, keyOf(key), nonce)
  const sealed = [sealing.update(bytes), sealing.final()]
  return Buffer.concat([nonce, sealing.getAuthTag(), ...sealed])
}

/** As a key object: from a buffer the cipher is made three times as slowly. */
function keyOf(key: string): KeyObject {
  return crypto().createSecretKey(key, 'hex')
}

/** As `unseal`, of bytes. */
export function unsealBytes(key: string, bytes: Buffer): Buffer | undefined {
  const { nonceBytes, tagBytes } = cipher
  if (bytes.length < nonceBytes + tagBytes) return undefined
  const opening = crypto().createDecipheriv(cipher.name, keyOf(key), bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  })
  opening.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
  try {
    return Buffer.concat([opening.update(bytes.subarray(nonceBytes + tagBytes)), opening.final()])
  } catch {
    // Only one thing can be wrong here: the tag does not fit the key, the nonce and the text.
    return undefined
  }
}

/** A password's scrypt hash as lower-case hexadecimal. */
export function passwordHash(password: string, salt: string, { blocks, size, lanes }: PasswordCost): Promise<string> {
  const options = { N: blocks, r: size, p: lanes, maxmem: 256 * blocks * size }
  return new Promise((resolve, reject) => {
    crypto().scrypt(password.normalize('NFKC'), salt, 32, options, (error, hash) => {
      if (error === null) resolve(hash.toString('hex'))
      else reject(error)
    })
  })
}

/** Compares two strings in a time that depends on their lengths only. */
export function equalSecrets(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && crypto().timingSafeEqual(left, right)
}

/** Resolves in the next turn of the event loop, after everything that came in meanwhile was handed over. */
export function nextTurn(): Promise<void> {
  return timers().setImmediate()
}

/** Calls `expired` after `ms` of real time, unless it is cleared before; does not keep the process alive. */
export function deadline(ms: number, expired: () => void): { clear(): void } {
  const timer = setTimeout(expired, ms).unref()
  return { clear: () => clearTimeout(timer) }
}
