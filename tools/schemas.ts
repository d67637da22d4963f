import { z } from 'zod'
import { amountInCents } from '../src/core/schema-fields.ts'

/** Prefixes of ids that continue with exactly 32 lowercase hexadecimal digits (docs/service.md#identifiers). */
const fixedPrefixes = ['sub', 'pty', 'pmi', 'mdt', 'apr', 'adi', 'agt'] as const
/** Prefixes of ids whose form after the prefix is not guaranteed. */
const openPrefixes = [
  'pcd',
  'cit',
  'pay',
  'txn',
  'usr',
  'req',
  'cur',
  'agk',
  'apy',
  'ogr',
  'tis',
  'dlg',
  'wal',
  'tfr',
  'prq',
  'eac',
  'act',
  'ivl',
  'snp',
  'sco',
  'sor',
  'evt',
  'inv',
  'cmp',
  'whk',
  'whd',
  'msg',
] as const

export type IdPrefix = (typeof fixedPrefixes)[number] | (typeof openPrefixes)[number]

/** Returns the schema of an id with the given prefix. */
export function Id(prefix: IdPrefix) {
  const rest = (fixedPrefixes as readonly string[]).includes(prefix) ? '[0-9a-f]{32}' : '[0-9A-Za-z_-]{1,100}'
  return z.string().regex(new RegExp(`^${prefix}_${rest}$`))
}

/** Returns the schema of an id in a request. The description states how the id begins or where it comes from. */
export const ArgumentId = (prefix: IdPrefix, words = `${prefix}_…`) => Id(prefix).describe(words)

/** A positive amount in minor units (cents for USD). */
export const Cents = amountInCents(z.int().positive())
/** An amount in a request: money to move or hold, or a limit. Card payments and transfers have the same maximum. */
export const RequestedCents = Cents.max(99_999_999).describe('Cents: 5000 is $50.00')
export const CentsOrZero = amountInCents(z.int().nonnegative())
export const SignedCents = amountInCents(z.int())
export const Currency = z.enum(['USD'])
export const RequestedCurrency = Currency.describe('USD')
/** A time in RFC 3339 format, with an offset such as `Z` for UTC. */
export const Timestamp = z.iso.datetime({ offset: true })
/** The patterns below use two-digit escapes and no lookahead, so they mean the same in JavaScript, Python and Go. */
const control = String.raw`\x00-\x1f\x7f-\x9f`
const controlInLines = String.raw`\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f`
const line = new RegExp(`^ *[^${control} ][^${control}]*$`)
const lines = new RegExp(String.raw`^[\t\n\r ]*[^${control} ][^${controlInLines}]*$`)

/**
 * Returns whether a text has a character that is not blank, and no lone surrogates. A portable pattern cannot exclude
 * lone surrogates, or blanks that are not ASCII.
 */
const isReadable = (text: string) => text.trim() !== '' && text.isWellFormed()

function readableText(max: number, pattern: RegExp, message: string) {
  return z.string().max(max).regex(pattern, message).refine(isReadable, message)
}

/** Returns the schema of a string that people read: one line of 1 to `max` characters that is not blank. */
export const Text = (max: number) => readableText(max, line, 'must be one line of text that is not blank')

/**
 * Returns the schema of a description, which may have several lines. Tabs and line breaks are the only control
 * characters that it may contain.
 */
export const Description = (max: number) => readableText(max, lines, 'must be text that is not blank')

/** Returns the schema of a whole number in a path or query. It refuses `1e1`, `0x10` and ` 5`. */
export function Digits<S extends z.ZodType<number>>(number: S) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^(?:0|-?[1-9]\d*)$/.test(value) ? Number(value) : value),
    number,
  )
}

/** Returns the schema of a string that matches `pattern`, which `words` describes in errors and to callers. */
export const Formed = (pattern: RegExp, words: string) => z.string().regex(pattern, `must be ${words}`).describe(words)

const tagName = /^[A-Za-z0-9][\w.:/ -]{0,99}$/

/** The owner's own notes on a record, as at most 50 names with values. */
export const Tags = z
  .record(z.string().regex(tagName), z.string().max(500).describe('Tag text'))
  .refine((tags) => Object.keys(tags).length <= 50, 'must be at most 50 tags')
  .describe('Your own notes')

/** Changes to the tags of a record. Tags that are not named stay; null deletes a tag. */
export const TagChanges = z
  .record(z.string().regex(tagName), z.string().max(500).nullable().describe('Tag text; null deletes the tag'))
  .describe('Notes to add, change or delete; others stay')

export const CustomerPartyId = Id('pty').optional().describe('To act for')

/** How long to wait for the record to change its status (docs/service.md#waiting). */
export const WaitSeconds = Digits(z.int().min(0).max(50)).optional().describe('Wait for a change')

/** Returns the query schema of a list (docs/service.md#lists). */
export function listQuery<S extends z.ZodRawShape>(shape: S, defaultLimit = 50) {
  return z.strictObject({
    ...shape,
    limit: Digits(z.int().min(1).max(100)).describe('Page size').default(defaultLimit),
    cursor: z.string().max(500).optional().describe('From nextCursor'),
  })
}

/** Returns the schema of a to-one relationship. If no resource is related, the relationship is `{data: null}`. */
export function toOne(type: string, prefix: IdPrefix) {
  return z.object({ data: z.object({ type: z.literal(type), id: Id(prefix) }).nullable() })
}

/** Returns the schema of a resource in a response. */
export function resource<T extends string, A extends z.ZodRawShape, R extends z.ZodRawShape>(
  type: T,
  id: z.ZodType<string>,
  attributes: A,
  relationships?: R,
) {
  return z.object({
    type: z.literal(type),
    id,
    attributes: z.object(attributes),
    ...(relationships === undefined ? {} : { relationships: z.object(relationships) }),
  })
}

/** The agent that caused a record, and the agent's run. `agentId` is null if a party or a user caused the record. */
export const cause = {
  agentId: Id('agt').nullable(),
  instanceId: z.string().nullable(),
}

export const Merchant = z.strictObject({ name: Text(100).describe('Its exact name') }).describe('The payee')
