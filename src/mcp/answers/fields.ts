import type { z } from 'zod'
import { idPrefixOf } from '../../core/accepted-values.ts'
import { isObject } from '../../core/json.ts'
import { memoize } from '../../core/memoize.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { amountNames, namesOf } from '../../core/schema-fields.ts'
import { secretFields } from '../../core/secret-fields.ts'
import { hashes } from './columns.ts'
import { money, quoted, quotedWhole } from './quoted-text.ts'

/** A record's values as text. Each key is an attribute, a dotted path to an inner attribute, or a relationship. */
export type Fields = ReadonlyMap<string, string>

/** The form of values: `whole` in a single record; `short` in a list, where strings are cut and times omit seconds. */
type Form = 'whole' | 'short'

/** A resource as the API sends it. A deployed API may send more fields than the schema has, or fewer. */
export interface Resource {
  type?: unknown
  id?: unknown
  attributes?: unknown
  relationships?: unknown
}

/** The names of the fields in an operation's answers that need special treatment, grouped by kind. */
interface Kinds {
  /** Fields that hold cents. */
  amounts: ReadonlySet<string>
  /**
   * Fields whose strings the service itself writes: words of a fixed list, ids, times, addresses. In all other fields,
   * strings are quoted, except ids and secrets.
   */
  serviceFields: ReadonlySet<string>
  secrets: ReadonlySet<string>
  /** Fields that contain an object with arbitrary keys. */
  freeKeyed: ReadonlySet<string>
}

interface Scope {
  path: string
  kinds: Kinds
  form: Form
  /** The currency that the nearest enclosing object states. */
  currency: unknown
}

/**
 * Returns a record's fields. Leaves out the type, the id, and fields that are null or empty. Leaves out hashes too,
 * unless `withHashes` is true.
 */
export function fieldsOf(operation: OperationDefinition, record: Resource, form: Form, withHashes = false): Fields {
  const { type: _, id: __, attributes, relationships, ...others } = record
  const scope = { path: '', kinds: kindsOf(operation), form, currency: undefined }
  const attributeFields = isObject(attributes) && !withHashes ? withoutFields(attributes, hashes) : attributes
  const found = [
    ...entriesIn(attributeFields, scope),
    ...Object.entries(isObject(relationships) ? relationships : {}).flatMap(([name, ref]) => related(name, ref, scope)),
    ...entriesIn(others, scope),
  ]
  const fields = new Map(found)
  // An update time equal to the creation time adds nothing.
  if (fields.get('updatedAt') === fields.get('createdAt')) fields.delete('updatedAt')
  return fields
}

/** Returns the fields of an answer's `meta`. */
export function metaFields(operation: OperationDefinition, meta: object): Fields {
  return new Map(entriesIn(meta, { path: '', kinds: kindsOf(operation), form: 'whole', currency: undefined }))
}

/** Renders an id, in quotation marks if needed. */
export const idInWords = (id: unknown) => (plainForm.test(String(id)) ? String(id) : quotedWhole(id))

function related(name: string, ref: unknown, scope: Scope): [string, string][] {
  const data = isObject(ref) ? ref.data : undefined
  if (!isObject(data)) return []
  return [[name, idInWords(data.id)], ...entriesIn(data.attributes, { ...scope, path: `${name}.` })]
}

function entriesIn(object: unknown, scope: Scope): [string, string][] {
  if (!isObject(object)) return []
  const currency = object.currency ?? scope.currency
  return Object.entries(object).flatMap(([name, value]): [string, string][] => {
    const path = `${scope.path}${nameInWords(name)}`
    if (isObject(value) && !scope.kinds.freeKeyed.has(name))
      return entriesIn(value, { ...scope, path: `${path}.`, currency })
    const text = inWords(name, value, { ...scope, currency })
    return text === '' ? [] : [[path, text]]
  })
}

/** Renders a value as text. Returns an empty string for null and undefined. */
function inWords(name: string, value: unknown, scope: Scope): string {
  const { kinds, form, currency } = scope
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return listInWords(name, value, scope)
  if (isObject(value)) {
    const inner = { ...scope, path: '', kinds: kinds.freeKeyed.has(name) ? noKinds : kinds }
    return entriesIn(value, inner)
      .map(([path, text]) => `${path} ${text}`)
      .join(', ')
  }
  if (typeof value !== 'string') {
    return kinds.amounts.has(name) && typeof value === 'number' ? money(value, currency) : String(value)
  }
  // The dollar sign of an amount already shows its currency.
  if (name === 'currency' && value === 'USD') return ''
  if (kinds.secrets.has(name)) return plainForm.test(value) ? value : quotedWhole(value)
  const unquotedForm = kinds.serviceFields.has(name) ? plainForm : idForm
  if (unquotedForm.test(value)) return form === 'short' ? value.replace(time, '$1Z') : value
  return form === 'short' ? quoted(value, longestInRow).replaceAll('|', '¦') : quotedWhole(value)
}

function listInWords(name: string, values: readonly unknown[], scope: Scope): string {
  const texts = values.map((value) => inWords(name, value, scope)).filter((text) => text !== '')
  return values.some(isObject) ? texts.map((text) => `(${text})`).join(' ') : texts.join(', ')
}

const longestInRow = 60

/** Quotes a free-form key, unless it is a plain word. */
const nameInWords = (name: string) => (/^\w{1,60}$/.test(name) ? name : quoted(name))

/** Matches a string that needs no quotation marks: ASCII without spaces and without `|`, which separates columns. */
const plainForm = /^[\x21-\x7b}~]{1,2000}$/
const idForm = /^[a-z]{3}_[\w-]{1,140}$/
/** An ISO timestamp. The group captures everything before the seconds. */
const time = /^(\d{4}-\d\d-\d\dT\d\d:\d\d):\d\d(?:\.\d+)?Z$/

/**
 * Fields whose values are words that the service chooses. The schemas do not list these words, because a deployed
 * service may send new ones.
 */
const chosenByService = ['status', 'operation', 'permissions', 'scopes', 'code', 'eventType', 'enabledEvents']

const noKinds: Kinds = { amounts: new Set(), serviceFields: new Set(), secrets: new Set(), freeKeyed: new Set() }

const kindsOf = memoize((operation: OperationDefinition): Kinds => {
  const { output, meta } = operation
  const schema = meta === undefined ? output : output.extend({ meta })
  return {
    amounts: amountNames(schema),
    serviceFields: new Set([...namesOf(schema, isServiceWritten), ...chosenByService]),
    secrets: new Set(secretFields(operation)),
    freeKeyed: namesOf(schema, ({ def }) => def.type === 'record'),
  }
})

/**
 * Returns whether the schema allows only strings that the service itself writes: words of a fixed list, ids, times or
 * addresses.
 */
function isServiceWritten({ def }: z.ZodType): boolean {
  const { type, checks = [], format } = def as { type: string; checks?: readonly z.core.$ZodCheck[]; format?: string }
  if (type !== 'string') return type === 'enum' || type === 'literal'
  const hasPrefix = ({ _zod }: z.core.$ZodCheck) => idPrefixOf((_zod.def as { pattern?: RegExp }).pattern) !== undefined
  return format !== undefined || checks.some(hasPrefix)
}

function withoutFields(object: Record<string, unknown>, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}
