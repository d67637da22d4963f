import type { z } from 'zod'
import { type Bounds, show } from './errors.ts'
import { centsIfDollars, money } from './money.ts'
import { amountNames } from './schema-fields.ts'

type Issue = z.core.$ZodIssue

/** What is wrong with a value, in words: the field, what it accepts, what it got. */
export interface InvalidValue {
  /** The path from the root of the parsed value to the field. */
  path: string[]
  detail: string
  /** A field that does not exist, a value that is not there, or one that breaks its rule. */
  kind: 'unknown' | 'missing' | 'wrong'
  accepts: Bounds | undefined
  /** The prefix of this field's ids; undefined: the field is no id. */
  idPrefix: string | undefined
  got: unknown
}

/** All that zod found wrong with `input`; unknown properties come before wrong values. */
export function invalidValues(error: z.ZodError, input: unknown, schema: z.ZodType): [InvalidValue, ...InvalidValue[]] {
  const amounts = amountNames(schema)
  const found = error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? unknownProperties(issue) : [wrongValue(issue, input, amounts)],
  )
  const [first, ...rest] = found.sort((a, b) => Number(b.kind === 'unknown') - Number(a.kind === 'unknown'))
  if (first === undefined) throw new Error('Bug: a parse error without an issue.')
  return [first, ...rest]
}

function unknownProperties({ path, keys }: Extract<Issue, { code: 'unrecognized_keys' }>): InvalidValue[] {
  return keys.map((key) => ({
    path: [...path.map(String), key],
    detail: `${[...path.map(String), show(key).slice(1, -1)].join('.')} is not a known property.`,
    kind: 'unknown',
    accepts: undefined,
    idPrefix: undefined,
    got: undefined,
  }))
}

function wrongValue(issue: Issue, input: unknown, amounts: ReadonlySet<string>): InvalidValue {
  const path = issue.path.map(String)
  const got = valueAt(input, path)
  const field = path.join('.') || 'The value'
  const isMissing = got === undefined
  const isAmount = amounts.has(path.at(-1) ?? '')
  const accepted = isAmount ? `${accepts(issue)}${boundInMoney(issue)}` : accepts(issue)
  const cents = isAmount ? centsIfDollars(got) : undefined
  const detail = isMissing
    ? `${field} is required: ${accepted}.`
    : `${field} must be ${accepted}, got ${show(got)}.${cents === undefined ? '' : ` Dollars? Then ${cents}.`}`
  return {
    path,
    detail,
    kind: isMissing ? 'missing' : 'wrong',
    accepts: boundsOf(issue),
    idPrefix: idPrefixIn(issue),
    got,
  }
}

/** What an amount must stay below, as a person says it; that it is a positive one needs no money to be said. */
function boundInMoney(issue: Issue): string {
  if (issue.code === 'too_big') return ` (${money(Number(issue.maximum))})`
  return issue.code === 'invalid_type' ? ' of cents' : ''
}

/** The bounds of a number; the bounds of a text are told in the detail alone. */
function boundsOf(issue: Issue): Bounds | undefined {
  if (issue.code !== 'too_small' && issue.code !== 'too_big') return undefined
  if ((issue.origin !== 'number' && issue.origin !== 'int') || issue.inclusive === false) return undefined
  return issue.code === 'too_small' ? { minimum: Number(issue.minimum) } : { maximum: Number(issue.maximum) }
}

function idPrefixIn(issue: Issue): string | undefined {
  return issue.code === 'invalid_format' ? idPrefixOf(issue.pattern) : undefined
}

/** The prefix of the ids that match this pattern; zod gives a pattern with its slashes, JSON Schema without. */
export function idPrefixOf(pattern: unknown): string | undefined {
  return /^\/?\^([a-z]{3}_)/.exec(String(pattern))?.[1]
}

/** An RFC 6901 JSON Pointer. */
export function jsonPointer(path: readonly string[]): string {
  return path.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

function accepts(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeNames[issue.expected] ?? issue.expected
    case 'invalid_value':
      return issue.values.length === 1 ? show(issue.values[0]) : `one of ${issue.values.map(show).join(', ')}`
    case 'too_small':
      return bound('at least', 'more than', issue.origin, Number(issue.minimum), issue.inclusive !== false)
    case 'too_big':
      return bound('at most', 'less than', issue.origin, Number(issue.maximum), issue.inclusive !== false)
    case 'invalid_format':
      return formats[issue.format]?.(issue.pattern) ?? `in the format ${issue.format}`
    default:
      return issue.message
  }
}

const typeNames: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
}

const formats: Readonly<Record<string, (pattern: string | undefined) => string>> = {
  regex: (pattern) => {
    if (pattern?.includes('\\p{Cc}')) return 'one line of text that is not blank'
    const prefix = idPrefixOf(pattern)
    if (prefix === undefined) return `of the form ${pattern}`
    return `an id that begins with ${prefix}${pattern?.includes('{32}') ? ' and goes on with 32 digits 0-9a-f' : ''}`
  },
  datetime: () => 'an RFC 3339 timestamp such as 2026-01-31T12:00:00Z',
}

function bound(inclusive: string, exclusive: string, origin: string, limit: number, isInclusive: boolean): string {
  const unit = origin === 'string' ? ' characters long' : origin === 'array' ? ' entries long' : ''
  return `${isInclusive ? inclusive : exclusive} ${limit}${unit}`
}

function valueAt(input: unknown, path: readonly string[]): unknown {
  let value = input
  for (const part of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value
}
