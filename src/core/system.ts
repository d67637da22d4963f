import type { KeyObject } from 'node:crypto'
import { uptime } from 'node:os'
import { builtin } from './builtin.ts'

const crypto = builtin<typeof import('node:crypto')>('node:crypto')
const timers = builtin<typeof import('node:timers/promises')>('node:timers/promises')

/**
 * The sources of everything that differs between two executions: time, randomness and waiting. Tests pass a fake
 * system. No other module reads the real clock, creates random bytes or starts timers.
 */
export interface System {
  /** Returns the real time in milliseconds since the Unix epoch. */
  now(): number
  /** Returns cryptographically random bytes. */
  randomBytes(length: number): Buffer
  /** Resolves after `ms` milliseconds. Rejects if the signal aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * Returns the milliseconds on a monotonic clock, only for measuring durations. The clock may stop while the machine
   * sleeps.
   */
  elapsed(): number
  /** Returns the milliseconds since the machine booted, including sleep. Setting the system clock has no effect. */
  uptime(): number
  /**
   * Returns the current time, given `reportedMs`, the time that a shared database reports. The real system returns
   * `reportedMs`; a fake system can return its own time.
   */
  databaseNow(reportedMs: number): number
  /** The cost of hashing a user's password. */
  readonly passwordCost: PasswordCost
}

/**
 * The cost parameters of scrypt (RFC 7914): `blocks` is N, `size` is r and `lanes` is p. Hashing takes 128 · N · r
 * bytes of memory.
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
  // The OWASP Password Storage Cheat Sheet recommends several settings of equal strength. This one takes 32 MiB.
  passwordCost: { blocks: 2 ** 15, size: 8, lanes: 3 },
}

/**
 * Returns a source of random bytes that requests many bytes at a time from the operating system. A separate request for
 * each id would take longer than all other steps of creating the id.
 */
function pooledRandomBytes(): System['randomBytes'] {
  const poolLength = 8192
  let pool = Buffer.alloc(0)
  return (length) => {
    if (length > poolLength) return crypto().randomBytes(length)
    if (length > pool.length) pool = crypto().randomBytes(poolLength)
    const bytes = Buffer.from(pool.subarray(0, length))
    // Clears these bytes in the pool, so that only the caller has them.
    pool.fill(0, 0, length)
    pool = pool.subarray(length)
    return bytes
  }
}

/**
 * Creates a resource id: `prefix_` and 32 hexadecimal digits that encode 48 bits of time and 80 random bits
 * (docs/service.md#identifiers). Ids sort by time, so lists can be paginated by the primary key.
 */
export function newId(prefix: string, system: Pick<System, 'randomBytes'>, nowMs: number): string {
  const time = Math.max(0, Math.trunc(nowMs)).toString(16).padStart(12, '0').slice(-12)
  return `${prefix}_${time}${system.randomBytes(10).toString('hex')}`
}

/** Creates a secret of `bytes` random bytes in base64url, without padding. */
export function newSecret(system: Pick<System, 'randomBytes'>, bytes = 32): string {
  return system.randomBytes(bytes).toString('base64url')
}

/** Formats a time as the API does: RFC 3339 in UTC with milliseconds. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}

/**
 * The latest time that a sandbox clock can reach: the end of the year 9995. This leaves four years for later expiries,
 * because RFC 3339 allows years only up to 9999.
 */
export const lastMomentMs = 253_276_070_399_999

/** Converts an RFC 3339 timestamp to milliseconds since the Unix epoch. Returns NaN if the timestamp is invalid. */
export function parseTimestamp(text: string): number {
  return Date.parse(text)
}

/** Returns the calendar month (1 to 12) and the four-digit year of a time, in UTC. */
export function monthAndYear(ms: number): { month: number; year: number } {
  const date = new Date(ms)
  return { month: date.getUTCMonth() + 1, year: date.getUTCFullYear() }
}

/** Returns the SHA-256 hash in lower-case hexadecimal. */
export function sha256(text: string): string {
  return crypto().hash('sha256', text, 'hex')
}

/** Returns the SHA-256 hash in base64, the format that a Content-Security-Policy uses to allow inline content. */
export function sha256Base64(text: string): string {
  return crypto().hash('sha256', text, 'base64')
}

/** Returns the HMAC-SHA-256 (RFC 2104) in lower-case hexadecimal. */
export function hmac(key: string, text: string): string {
  return crypto().createHmac('sha256', key).update(text).digest('hex')
}

/** Returns the HMAC-SHA-256 in base64. The key is in base64 too. */
export function hmacBase64(key: string, text: string): string {
  return crypto().createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64')
}

/** AES-256-GCM (NIST SP 800-38D), with the lengths of its nonce and its tag. */
const cipher = { name: 'aes-256-gcm', nonceBytes: 12, tagBytes: 16 } as const

/** Encrypts and authenticates a string. The key is 64 hexadecimal digits. Returns base64url. */
export function seal(system: Pick<System, 'randomBytes'>, key: string, text: string): string {
  return sealBytes(system, key, Buffer.from(text)).toString('base64url')
}

/** Decrypts a string from `seal`. Returns undefined if the key is wrong, or the string was changed or truncated. */
export function unseal(key: string, sealed: string): string | undefined {
  return unsealBytes(key, Buffer.from(sealed, 'base64url'))?.toString('utf8')
}

/** Encrypts and authenticates bytes. The key is 64 hexadecimal digits. */
export function sealBytes(system: Pick<System, 'randomBytes'>, key: string, bytes: Buffer): Buffer {
  const nonce = system.randomBytes(cipher.nonceBytes)
  const sealing = crypto().createCipheriv(cipher.name, keyOf(key), nonce)
  const sealed = [sealing.update(bytes), sealing.final()]
  return Buffer.concat([nonce, sealing.getAuthTag(), ...sealed])
}

/** Converts a key to an object, because creating a cipher with a key in a buffer would take three times as long. */
function keyOf(key: string): KeyObject {
  return crypto().createSecretKey(key, 'hex')
}

/** Decrypts bytes from `sealBytes`. Returns undefined if the key is wrong, or the bytes were changed or truncated. */
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
    // Decryption fails only if the tag does not match the key, the nonce and the encrypted data.
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

/** Compares two strings. The time that this takes depends only on their lengths, not on their contents. */
export function equalSecrets(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && crypto().timingSafeEqual(left, right)
}

/** Resolves in the next iteration of the event loop, after the events that are already waiting have been handled. */
export function nextTurn(): Promise<void> {
  return timers().setImmediate()
}

/** Calls `expired` after `ms` milliseconds, unless `clear` is called first. Does not keep the process alive. */
export function deadline(ms: number, expired: () => void): { clear(): void } {
  const timer = setTimeout(expired, ms).unref()
  return { clear: () => clearTimeout(timer) }
}
