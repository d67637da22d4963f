import { z } from 'zod'
import { isObject } from '../core/json.ts'
import { secret } from '../core/secret-fields.ts'
import { momentMs } from './world-times.ts'

/**
 * Accepts an id in the form that the service uses (docs/service.md#identifiers). A chosen id also decides the object's
 * position in lists, because the service sorts lists by id.
 */
export const FixedId = (prefix: string) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}_[0-9a-f]{32}$`), `must be ${prefix}_ and 32 lower-case hexadecimal digits`)
    .optional()
    .describe(`Its id: ${prefix}_ and 32 hexadecimal digits. Lists are sorted by id. Default: a new id`)

/** A name that the rest of the file can use to refer to an object. */
export const Ref = z
  .string()
  .regex(/^[A-Za-z][\w.-]{0,63}$/, 'must be a name: a letter, then letters, digits, dots, dashes and underscores')

/** Accepts the name or the id of another object in the file. */
export const RefTo = (description: string) => z.string().min(1).max(200).describe(description)

/** A timestamp, a day, or an offset from the world's clock. `momentMs` converts all three. */
export const Moment = z
  .string()
  .refine(
    (text) => !Number.isNaN(momentMs(text, 0)),
    "must be a time such as 2026-01-31T09:00:00Z, a day such as 2026-01-31, or an offset from the world's clock such as -3d, +2h or -45m",
  )

/**
 * Accepts objects of one kind, as a list or as a map from names to objects. The parsed value is always a list, so the
 * paths of errors contain indexes. `pathInFile` converts the indexes in a map back to names.
 */
export function listOf<Item extends z.ZodObject>(item: Item, keyField: string & keyof Item['shape'] = 'ref') {
  return z.preprocess((value) => listItems(value, keyField), z.array(item).max(10_000)).meta({ keyField })
}

/** Converts a map to a list whose items have their key in the field `keyField`. Returns any other input unchanged. */
export function listItems(input: unknown, keyField: string): unknown {
  if (!isObject(input)) return input
  return Object.entries(input).map(([name, value]) => {
    // YAML parses an empty entry as null.
    const fields = value ?? {}
    return isObject(fields) ? { [keyField]: name, ...fields } : fields
  })
}

/** Converts a path in the parsed value to the path in the file, where map entries have names instead of indexes. */
export function pathInFile(file: unknown, path: readonly PropertyKey[]): PropertyKey[] {
  let at = file
  return path.map((step) => {
    const key = typeof step === 'number' && isObject(at) ? (Object.keys(at)[step] ?? step) : step
    at = typeof at === 'object' && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined
    return key
  })
}

const derived =
  "derived from the database's root key. Startup prints two keys of the first party: its first API key and its first agent's first key"

/** Accepts a key's secret, with or without the prefix that all keys of its kind have. */
export const KeySecret = (letters: string) =>
  secret(z.string().regex(/^[A-Za-z0-9_-]{24,150}$/, 'must be 24 to 150 letters, digits, dashes and underscores'))
    .optional()
    .describe(`The whole key (${letters}_ntl_sandbox_…), or the part after that prefix. Default: ${derived}`)

/** Accepts the token in a link that opens a page for anyone who has the link. */
export const LinkToken = (description: string) =>
  secret(z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be 43 letters, digits, dashes and underscores'))
    .optional()
    .describe(`The last part of ${description}. Default: a random one`)
