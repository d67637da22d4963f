import type { z } from 'zod'
import { show } from './errors.ts'

type Issue = z.core.$ZodIssue

/** What is wrong with a value, in words: the field, what it accepts, what it got. */
export interface InvalidValue {
  /** From the root of the parsed value to the field. */
  path: string[]
  detail: string
  /** The field is not one that exists. */
  unknown: boolean
}

/** The first issue that zod found with `input`; an unknown property comes before a wrong value. */
export function invalidValue(error: z.ZodError, input: unknown): InvalidValue {
  const issues = error.issues
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]
  if (issue === undefined) throw new Error('Bug: a parse error without an issue.')
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0] ?? ''
    return {
      path: [...path, key],
      detail: `${[...path, show(key).slice(1, -1)].join('.')} is not a known property.`,
      unknown: true,
    }
  }
  const got = valueAt(input, path)
  const field = path.join('.') || 'The value'
  const detail =
    got === undefined
      ? `${field} is required: ${accepts(issue)}.`
      : `${field} must be ${accepts(issue)}, got ${show(got)}.`
  return { path, detail, unknown: false }
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
  regex: (pattern) => (pattern?.includes('\\p{Cc}') ? 'one line of text that is not blank' : `of the form ${pattern}`),
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
