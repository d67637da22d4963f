import { show } from '../core/errors.ts'
import { isAddressRange } from '../core/ip-addresses.ts'
import { isLoopbackHost } from '../core/loopback.ts'
import { type Environment, environmentSegments, type Toolset, toolsets } from '../core/operation.ts'

export const keyPattern = /^(sk|ak)_ntl_(sandbox|prod)_[A-Za-z0-9_-]{16,}$/

// Each function `parse…` parses the string given for a setting. It returns undefined if the string is not valid.

export function oneOf<const Word extends string>(...words: readonly Word[]): (text: string) => Word | undefined {
  return (text) => words.find((word) => word === text)
}

export function parseBaseUrl(text: string): string | undefined {
  if (/[\s?#\p{Cc}]/u.test(text)) return undefined
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '') return undefined
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopbackHost(url.hostname))) return undefined
  return url.href.replace(/\/+$/, '')
}

/** Returns a URL if it is only an origin, without a path; otherwise undefined. */
export function originOf(text: string | undefined): string | undefined {
  return text !== undefined && new URL(text).origin === text ? text : undefined
}

export function parseOrigins(text: string): readonly string[] | undefined {
  const origins = text.split(',').map((word) => originOf(parseBaseUrl(word.trim())))
  return origins.includes(undefined) ? undefined : Object.freeze(origins as string[])
}

export function parseTrustedProxies(text: string): readonly string[] | undefined {
  const ranges = text.split(',').map((word) => word.trim())
  return ranges.every(isAddressRange) ? Object.freeze(ranges) : undefined
}

export function parseDatabaseUrl(text: string): string | undefined {
  if (/^sqlite:./.test(text)) return /\p{Cc}/u.test(text) ? undefined : text
  return parsePostgresUrl(text)
}

export function parsePath(text: string): string | undefined {
  return text === '' || /\p{Cc}/u.test(text) ? undefined : text
}

export function parsePostgresUrl(text: string): string | undefined {
  return isPostgresUrl(text) && !/\p{Cc}/u.test(text) && URL.canParse(text) ? text : undefined
}

export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text)
}

export function parseBoolean(text: string): boolean | undefined {
  return text === 'true' ? true : text === 'false' ? false : undefined
}

export function parseInteger(text: string, min: number, max: number): number | undefined {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : undefined
}

export function parseHost(text: string): string | undefined {
  const host = text.replace(/^\[(.*)\]$/, '$1')
  if (!/^[A-Za-z0-9.:-]{1,253}$/.test(host)) return undefined
  return URL.canParse(host.includes(':') ? `http://[${host}]` : `http://${host}`) ? host : undefined
}

/**
 * Parses a secret, or a complete key of the given kind and environment, and returns the secret. Returns undefined for a
 * key of a different kind or environment, although a secret may contain the same characters.
 */
export function parseSecret(text: string, kind: 'sk' | 'ak', environment: Environment): string | undefined {
  const prefix = `${kind}_ntl_${environmentSegments[environment]}_`
  const secret = text.startsWith(prefix) ? text.slice(prefix.length) : text
  return /^[A-Za-z0-9_-]{24,128}$/.test(secret) && !/^[sa]k_ntl_/.test(secret) ? secret : undefined
}

/** Parses one or two secrets, separated by a comma: the current secret and the previous one. */
export function parseSecrets(text: string): readonly string[] | undefined {
  const secrets = text.split(',')
  const good = secrets.length <= 2 && secrets.every((secret) => /^[\x21-\x7e]{32,256}$/.test(secret))
  return good ? Object.freeze(secrets) : undefined
}

/**
 * Describes the string given for a setting, safely for a terminal or a log. Shows only the length of a secret, and
 * masks the credentials and query of a URL.
 */
export function describeText(text: string, secret: boolean): string {
  if (secret) return `a value of ${text.length} characters (not shown)`
  return show(text.replace(/\/\/.*@/s, '//[masked]@').replace(/\?.*$/s, '?[masked]'))
}

export const acceptedToolsets = `a comma-separated list of ${toolsets.join(', ')}, or all`

export function parseToolsets(text: string): readonly Toolset[] | undefined {
  const words = text.split(',').map((word) => word.trim())
  if (!words.every((word) => word === 'all' || toolsets.some((toolset) => toolset === word))) return undefined
  return Object.freeze(toolsets.filter((toolset) => words.includes('all') || words.includes(toolset)))
}
