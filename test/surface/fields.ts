/** The parts of JSON Schema that this file reads. Other parts are shown unchanged. */
export interface Schema {
  [keyword: string]: unknown
  type?: string | string[]
  description?: string | undefined
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: boolean | Schema
}

/** One field of a schema, at any depth. */
export interface Field {
  /** Its path: `merchant.name`, `reasons[].type`. */
  path: string
  optional: boolean
  /** Its type or its only value: `string|null`. */
  kind: string
  /** Its bounds, values, format and default, in short form. */
  rules: string[]
  description: string | undefined
}

/** Returns every field of a schema, in order. */
export function fieldsOf(schema: Schema, path = '', optional = false): Field[] {
  const { type, const: value, description, anyOf, properties, required = [], items, ...others } = unwrapNullable(schema)
  const kind = value === undefined ? [type ?? []].flat().join('|') : JSON.stringify(value)
  const related = relatedOf(schema)
  if (related !== undefined) return [{ path, optional, kind: related.kind, rules: related.rules, description }]
  const field = { path, optional, kind, rules: rulesOf(others), description }
  const named = Object.entries(properties ?? {}).flatMap(([name, property]) =>
    fieldsOf(property, path === '' ? name : `${path}.${name}`, !required.includes(name)),
  )
  const listed = items === undefined ? [] : fieldsOf(items, `${path}[]`)
  const either = (anyOf ?? []).flatMap((variant, index) => fieldsOf(variant, `${path}/${index + 1}`))
  const inner = [...named, ...listed, ...either]
  if (inner.length > 0 && path === '') return inner
  // An object that is always present and undescribed is represented by its fields.
  if (named.length > 0 && !optional && kind === 'object' && !description && field.rules.length === 0) return inner
  const [only, ...more] = [...named, ...listed]
  if (only === undefined || more.length > 0 || either.length > 0) return [field, ...inner]
  return [{ ...field, ...mergeInto(field, only) }]
}

/** Merges a list with its plain values, or an object with its only field, so that they take one line. */
function mergeInto(outer: Field, inner: Field): Partial<Field> {
  if (!inner.path.endsWith('[]')) {
    const name = inner.path.slice(outer.path.length + 1)
    return { rules: [...outer.rules, `{${fieldLine({ ...inner, path: name, description: undefined })}}`] }
  }
  const descriptions = [outer.description, inner.description].filter((text) => text !== undefined)
  return {
    kind: `${outer.kind} of ${inner.kind}`,
    rules: [...outer.rules, ...inner.rules],
    description: descriptions.length === 0 ? undefined : descriptions.join('; '),
  }
}

/** Returns everything known about a field. */
export function fieldLine({ path, optional, kind, rules, description }: Field): string {
  const words = [`${path}${optional ? '?' : ''}`, kind, ...rules, description === undefined ? '' : `“${description}”`]
  return words.filter((word) => word !== '').join(' ')
}

/** Returns `anyOf: [X, null]` as X with null among its types. */
function unwrapNullable(schema: Schema): Schema {
  const [value, nothing] = schema.anyOf ?? []
  if (schema.anyOf?.length !== 2 || value === undefined || nothing?.type !== 'null') return schema
  const { anyOf: _, ...others } = schema
  return { ...unwrapNullable(value), ...others, type: [value.type ?? [], 'null'].flat() }
}

/** Returns `{data: {type, id}}` as one field: `→ wallet`. */
function relatedOf(schema: Schema): Pick<Field, 'kind' | 'rules'> | undefined {
  const { data, ...more } = schema.properties ?? {}
  if (data === undefined || Object.keys(more).length > 0) return undefined
  const { type, properties: { type: named, id, ...others } = {} } = unwrapNullable(data)
  if (named === undefined || id === undefined || Object.keys(others).length > 0) return undefined
  const words = fieldsOf(named, 'type').concat(fieldsOf(id, 'id'))
  const [kind] = words.map((word) => word.kind)
  return {
    kind: `→ ${kind}${[type].flat().includes('null') ? '|null' : ''}`,
    rules: words.flatMap(({ rules }) => rules),
  }
}

function rulesOf(schema: Schema): string[] {
  const { additionalProperties, propertyNames, format, pattern, enum: words, default: defaultValue, ...others } = schema
  const { minimum, exclusiveMinimum, maximum, minLength, maxLength, minItems, maxItems, ...unread } = others
  const lowerBound = exclusiveMinimum === undefined ? minimum : Number(exclusiveMinimum) + 1
  const rules = [
    words === undefined ? '' : (words as unknown[]).join('|'),
    format ?? '',
    range(lowerBound, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' entries'),
    // A format implies its pattern.
    pattern === undefined || format !== undefined ? '' : `/${pattern}/`,
    defaultValue === undefined ? '' : `= ${JSON.stringify(defaultValue)}`,
    wordsOf('of', additionalProperties),
    wordsOf('by', propertyNames),
    ...Object.entries(unread).map(([keyword, value]) => `${keyword} ${JSON.stringify(value)}`),
  ]
  return rules.map(String).filter((rule) => rule !== '')
}

/** Returns a range as text, without the bounds that every safe integer meets. */
function range(min: unknown, max: unknown, unit: string): string {
  const [from, to] = [min, max].map((bound) => (Math.abs(Number(bound)) < Number.MAX_SAFE_INTEGER ? bound : ''))
  return from === '' && to === '' ? '' : `${from ?? ''}..${to ?? ''}${unit}`
}

function wordsOf(title: string, schema: unknown): string {
  if (typeof schema !== 'object' || schema === null) return ''
  return fieldsOf(schema as Schema, title)
    .map(fieldLine)
    .join(', ')
}
