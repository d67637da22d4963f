import type { z } from 'zod'
import { formatsInWords, idPrefixOf, messageOfRule, oneOf, patternInWords, typeNames } from './accepted-values.ts'
import { type Bounds, show } from './errors.ts'
import { centsIfDollars, money } from './money.ts'
import { amountNames } from './schema-fields.ts'

export type Issue = z.core.$ZodIssue

/** An invalid value, described in words: the field, the values that it accepts, and the value that was sent. */
export interface InvalidValue {
  /** The path from the root of the parsed value to the field. */
  path: string[]
  detail: string
  /** The kind of mistake: an unknown field, a missing value or a wrong value. */
  kind: 'unknown' | 'missing' | 'wrong'
  accepts: Bounds | undefined
  /** The prefix of the ids that the field accepts. It is set only if the value violates the pattern of an id. */
  idPrefix: string | undefined
  got: unknown
}

/** Describes everything that zod found wrong with `input`. Unknown properties come first. */
export function invalidValues(error: z.ZodError, input: unknown, schema: z.ZodType): [InvalidValue, ...InvalidValue[]] {
  const amounts = amountNames(schema)
  const found = error.issues
    .flatMap(withinUnion)
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys' ? unknownProperties(issue) : [wrongValue(issue, input, amounts)],
    )
  const [first, ...rest] = found.sort((a, b) => Number(b.kind === 'unknown') - Number(a.kind === 'unknown'))
  if (first === undefined) throw new Error('Bug: a parse error without an issue.')
  return [first, ...rest]
}

/**
 * Returns the issues of a union's member instead of the union's own issue, if exactly one member fits the value's type.
 */
export function withinUnion(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const isOtherType = ({ code, path }: Issue) => ['invalid_type', 'invalid_value'].includes(code) && path.length === 0
  const fitting = issue.errors.filter((found) => !found.some(isOtherType))
  const [only, ...others] = fitting
  if (only === undefined || others.length > 0) return [issue]
  return only.flatMap((inner) => withinUnion({ ...inner, path: [...issue.path, ...inner.path] }))
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
  const accepted = isAmount ? `${accepts(issue)}${amountSuffix(issue)}` : accepts(issue)
  const cents = isAmount ? centsIfDollars(got) : undefined
  const detail = isMissing
    ? `${field} is required: ${accepted}.`
    : `${field} must be ${accepted}, got ${show(got)}.${cents === undefined ? '' : ` If you meant dollars, write ${cents}.`}`
  return {
    path,
    detail,
    kind: isMissing ? 'missing' : 'wrong',
    accepts: boundsOf(issue),
    idPrefix: idPrefixIn(issue),
    got,
  }
}

/**
 * Returns the words to append to the accepted values of an amount: the upper bound in dollars, or the unit. The lower
 * bound only requires a positive amount, so it is not repeated in dollars.
 */
function amountSuffix(issue: Issue): string {
  if (issue.code === 'too_big') return ` (${money(Number(issue.maximum))})`
  return issue.code === 'invalid_type' ? ' of cents' : ''
}

/**
 * Returns the inclusive bound that a number violates; undefined for any other issue, such as a string that is too long.
 */
function boundsOf(issue: Issue): Bounds | undefined {
  if (issue.code !== 'too_small' && issue.code !== 'too_big') return undefined
  if ((issue.origin !== 'number' && issue.origin !== 'int') || issue.inclusive === false) return undefined
  return issue.code === 'too_small' ? { minimum: Number(issue.minimum) } : { maximum: Number(issue.maximum) }
}

function idPrefixIn(issue: Issue): string | undefined {
  return issue.code === 'invalid_format' ? idPrefixOf(issue.pattern) : undefined
}

/** Builds an RFC 6901 JSON Pointer. */
export function jsonPointer(path: readonly string[]): string {
  return path.map((part) => `/${part.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** Describes the values that the violated rule accepts. */
export function accepts(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeNames[issue.expected] ?? issue.expected
    case 'invalid_value':
      return oneOf(issue.values)
    case 'too_small':
      return boundInWords('at least', 'more than', issue.origin, Number(issue.minimum), issue.inclusive !== false)
    case 'too_big':
      return boundInWords('at most', 'less than', issue.origin, Number(issue.maximum), issue.inclusive !== false)
    case 'invalid_format':
      if (issue.format === 'regex') return messageOfRule(issue.message) ?? patternInWords(issue.pattern)
      return formatsInWords[issue.format] ?? `in the format ${issue.format}`
    case 'invalid_union':
      return alternatives(issue)
    case 'invalid_key':
      return issue.issues[0] === undefined ? issue.message : `under a key that is ${accepts(issue.issues[0])}`
    default:
      return messageOfRule(issue.message) ?? issue.message
  }
}

function alternatives(issue: Extract<Issue, { code: 'invalid_union' }>): string {
  if ('options' in issue && issue.options !== undefined) return oneOf(issue.options)
  const first = issue.errors.flatMap(([found]) => (found === undefined ? [] : [accepts(found)]))
  return first.length === 0 ? issue.message : [...new Set(first)].join(' or ')
}

function boundInWords(
  inclusive: string,
  exclusive: string,
  origin: string,
  limit: number,
  isInclusive: boolean,
): string {
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
