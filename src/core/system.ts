import type { KeyObject } from 'node:crypto'
import { uptime } from 'node:os'
import { builtin } from './builtin.ts'

const crypto = builtin<typeof import('node:crypto')>('node:crypto')
const timers = builtin<typeof import('node:timers/promises')>('node:timers/promises')

/**
 * The sources of everything that makes a run unrepeatable: time, randomness and waiting. Tests pass a fake system.
 * Nothing else in `src` or `tools` uses `Date`, `crypto` or timers.
 */
export interface System {
  /** Returns real time in milliseconds since the Unix epoch. */
  now(): number
  /** Returns cryptographically random bytes. */
  randomBytes(length: number): Buffer
  /** Resolves after `ms`. Rejects with the signal's reason if the signal aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * Returns milliseconds of a monotonic clock, for measuring durations only. It may stand still while the machine
   * sleeps.
   */
  elapsed(): number
  /** Returns milliseconds since the machine booted, including sleep; setting the machine's clock does not change it. */
  uptime(): number
  /**
   * Returns the time of a shared database that reported `reportedMs`. The real system returns `reportedMs`; a test's system
   * returns its own time.
   */
  databaseNow(reportedMs: number): number
  /** The cost of hashing a user's password. */
  readonly passwordCost: PasswordCost
}

/**
 * The cost parameters of scrypt (RFC 7914): `blocks` is N, `size` is r and `lanes` is p. Hashing takes 128 · N · r
 * bytes.
 */
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
  databaseNow: (reportedMs) => reportedMs,
  // This is one of the equally strong settings of the OWASP Password Storage Cheat Sheet. It takes 32 MiB.
  passwordCost: { blocks: 2 ** 15, size: 8, lanes: 3 },
}

/**
 * Returns a source of random bytes that reads many bytes at a time, because asking the operating system for each id
 * would cost more than the rest of creating it.
 */
function pooledRandomBytes(): System['randomBytes'] {
  const poolLength = 8192
  let pool = Buffer.alloc(0)
  return (length) => {
    if (length > poolLength) return crypto().randomBytes(length)
    if (length > pool.length) pool = crypto().randomBytes(poolLength)
    const bytes = Buffer.from(pool.subarray(0, length))
    // Each byte is handed out once, so no copy stays in memory here.
    pool.fill(0, 0, length)
    pool = pool.subarray(length)
    return bytes
  }
}

/**
 * Creates a resource id: `prefix_` and 32 hexadecimal digits, for 48 bits of time and 80 random bits
 * (docs/service.md#identifiers). Later ids sort later, so a list can be read page by page by its primary key.
 */
export function newId(prefix: string, system: Pick<System, 'randomBytes'>, nowMs: number): string {
  const time = Math.max(0, Math.trunc(nowMs)).toString(16).padStart(12, '0').slice(-12)
  return `${prefix}_${time}${system.randomBytes(10).toString('hex')}`
}

/** Creates a secret of `bytes` random bytes in base64url, without padding. */
export function newSecret(system: Pick<System, 'randomBytes'>, bytes = 32): string {
  return system.randomBytes(bytes).toString('base64url')
}

/** Formats a timestamp as the API does: RFC 3339 in UTC with milliseconds. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}

/** The end of the year 9995. RFC 3339 can still express dates a few years later, such as expiries and due dates. */
export const lastMomentMs = 253_276_070_399_999

/** Returns the milliseconds of an RFC 3339 timestamp; NaN if it is not one. */
export function parseTimestamp(text: string): number {
  return Date.parse(text)
}

/** Returns the calendar month (1 to 12) and four-digit year of an instant, in UTC. */
export function monthAndYear(ms: number): { month: number; year: number } {
  const date = new Date(ms)
  return { month: date.getUTCMonth() + 1, year: date.getUTCFullYear() }
}

/** Returns SHA-256 in lower-case hexadecimal. */
export function sha256(text: string): string {
  return crypto().hash('sha256', text, 'hex')
}

/** Returns SHA-256 in base64, the form in which a Content-Security-Policy lists allowed inline content. */
export function sha256Base64(text: string): string {
  return crypto().hash('sha256', text, 'base64')
}

/** Returns HMAC-SHA-256 (RFC 2104) in lower-case hexadecimal. */
export function hmac(key: string, text: string): string {
  return crypto().createHmac('sha256', key).update(text).digest('hex')
}

/** Returns HMAC-SHA-256 in base64, with a key of bytes in base64. */
export function hmacBase64(key: string, text: string): string {
  return crypto().createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64')
}

/** The lengths in bytes of the nonce and the tag of AES-256-GCM (NIST SP 800-38D). */
const cipher = { name: 'aes-256-gcm', nonceBytes: 12, tagBytes: 16 } as const

/** Encrypts and authenticates a text with `key`, 64 hexadecimal digits. Returns base64url. */
export function seal(system: Pick<System, 'randomBytes'>, key: string, text: string): string {
  return sealBytes(system, key, Buffer.from(text)).toString('base64url')
}

/** Returns the text that `seal` was given; undefined for another key, or if the sealed text was changed or cut. */
export function unseal(key: string, sealed: string): string | undefined {
  return unsealBytes(key, Buffer.from(sealed, 'base64url'))?.toString('utf8')
}

/** Seals bytes like `seal` seals a text. */
export function sealBytes(system: Pick<System, 'randomBytes'>, key: string, bytes: Buffer): Buffer {
  const nonce = system.randomBytes(cipher.nonceBytes)
  const sealing = crypto().createCipheriv(cipher.name, keyOf(key), nonce)
  const sealed = [sealing.update(bytes), sealing.final()]
  return Buffer.concat([nonce, sealing.getAuthTag(), ...sealed])
}

/** Returns a key object, because creating a cipher from a buffer takes three times as long. */
function keyOf(key: string): KeyObject {
  return crypto().createSecretKey(key, 'hex')
}

/** Opens sealed bytes like `unseal` opens a text. */
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
    // Opening fails only if the tag does not match the key, the nonce and the text.
    return undefined
  }
}

/** Returns a password's scrypt hash in lower-case hexadecimal. */
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

/** Resolves in the next turn of the event loop, after everything that arrived meanwhile has been handled. */
export function nextTurn(): Promise<void> {
  return timers().setImmediate()
}

/** Calls `expired` after `ms` of real time, unless cleared before. Does not keep the process alive. */
export function deadline(ms: number, expired: () => void): { clear(): void } {
  const timer = setTimeout(expired, ms).unref()
  return { clear: () => clearTimeout(timer) }
}
