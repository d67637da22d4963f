/** A JSON Schema, with the types of its main keywords. */
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
  /** The path in the schema, such as `merchant.name` or `reasons[].type`. */
  path: string
  optional: boolean
  /** The type, such as `string|null`, or the only permitted value, such as `"wallet"`. */
  kind: string
  /** The constraints and the default in short form, such as `1..100`, `date-time` or `= 10`. */
  rules: string[]
  description: string | undefined
}

/** Returns the fields of a schema, including nested fields, in the order of the schema. */
export function fieldsOf(schema: Schema, path = '', optional = false): Field[] {
  const { type, const: value, description, anyOf, properties, required = [], items, ...others } = unwrapNullable(schema)
  const kind = value === undefined ? [type ?? []].flat().join('|') : JSON.stringify(value)
  const related = relationshipOf(schema)
  if (related !== undefined) return [{ path, optional, kind: related.kind, rules: related.rules, description }]
  const field = { path, optional, kind, rules: rulesOf(others), description }
  const named = Object.entries(properties ?? {}).flatMap(([name, property]) =>
    fieldsOf(property, path === '' ? name : `${path}.${name}`, !required.includes(name)),
  )
  const listed = items === undefined ? [] : fieldsOf(items, `${path}[]`)
  const either = (anyOf ?? []).flatMap((variant, index) => fieldsOf(variant, `${path}/${index + 1}`))
  const inner = [...named, ...listed, ...either]
  if (inner.length > 0 && path === '') return inner
  // A required object without a description or rules adds nothing to its fields, so it gets no line.
  if (named.length > 0 && !optional && kind === 'object' && !description && field.rules.length === 0) return inner
  const [only, ...more] = [...named, ...listed]
  if (only === undefined || more.length > 0 || either.length > 0) return [field, ...inner]
  return [{ ...field, ...mergeInto(field, only) }]
}

/** Merges a list with the type of its entries, or an object with its only field, so that both take one line. */
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

/** Returns the line that describes a field in a snapshot. */
export function fieldLine({ path, optional, kind, rules, description }: Field): string {
  const words = [`${path}${optional ? '?' : ''}`, kind, ...rules, description === undefined ? '' : `“${description}”`]
  return words.filter((word) => word !== '').join(' ')
}

/** Turns `anyOf: [X, null]` into X with null as one of its types. Returns any other schema unchanged. */
function unwrapNullable(schema: Schema): Schema {
  const [value, nullSchema] = schema.anyOf ?? []
  if (schema.anyOf?.length !== 2 || value === undefined || nullSchema?.type !== 'null') return schema
  const { anyOf: _, ...others } = schema
  return { ...unwrapNullable(value), ...others, type: [value.type ?? [], 'null'].flat() }
}

/** Returns a relationship, `{data: {type, id}}`, in short form: `→ "wallet"`. Returns undefined for other schemas. */
function relationshipOf(schema: Schema): Pick<Field, 'kind' | 'rules'> | undefined {
  const { data, ...more } = schema.properties ?? {}
  if (data === undefined || Object.keys(more).length > 0) return undefined
  const { type, properties: { type: named, id, ...others } = {} } = unwrapNullable(data)
  if (named === undefined || id === undefined || Object.keys(others).length > 0) return undefined
  const fields = fieldsOf(named, 'type').concat(fieldsOf(id, 'id'))
  const [kind] = fields.map((field) => field.kind)
  return {
    kind: `→ ${kind}${[type].flat().includes('null') ? '|null' : ''}`,
    rules: fields.flatMap(({ rules }) => rules),
  }
}

/** Returns the constraints and the default in short form. A keyword without a short form is shown unchanged. */
function rulesOf(schema: Schema): string[] {
  const { additionalProperties, propertyNames, format, pattern, enum: words, default: defaultValue, ...others } = schema
  const { minimum, exclusiveMinimum, maximum, minLength, maxLength, minItems, maxItems, ...otherKeywords } = others
  const lowerBound = exclusiveMinimum === undefined ? minimum : Number(exclusiveMinimum) + 1
  const rules = [
    words === undefined ? '' : (words as unknown[]).join('|'),
    format ?? '',
    range(lowerBound, maximum, ''),
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' entries'),
    // If there is a format, the pattern only repeats it.
    pattern === undefined || format !== undefined ? '' : `/${pattern}/`,
    defaultValue === undefined ? '' : `= ${JSON.stringify(defaultValue)}`,
    keysOrValues('of', additionalProperties),
    keysOrValues('by', propertyNames),
    ...Object.entries(otherKeywords).map(([keyword, value]) => `${keyword} ${JSON.stringify(value)}`),
  ]
  return rules.map(String).filter((rule) => rule !== '')
}

/** Returns a range such as `1..100`. Omits a bound that every safe integer meets. */
function range(min: unknown, max: unknown, unit: string): string {
  const [from, to] = [min, max].map((bound) => (Math.abs(Number(bound)) < Number.MAX_SAFE_INTEGER ? bound : ''))
  return from === '' && to === '' ? '' : `${from ?? ''}..${to ?? ''}${unit}`
}

/** Describes the keys ("by …") or the values ("of …") of an object with arbitrary keys. */
function keysOrValues(preposition: string, schema: unknown): string {
  if (typeof schema !== 'object' || schema === null) return ''
  return fieldsOf(schema as Schema, preposition)
    .map(fieldLine)
    .join(', ')
}
