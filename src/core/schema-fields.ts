import { z } from 'zod'

const amounts = z.registry<{ isAmount: true }>()

/**
 * Marks the schema of a number as an amount in cents. Schemas derived from the marked schema, such as one with bounds
 * or a description, keep the mark.
 */
export function amountInCents<Schema extends z.ZodType>(schema: Schema): Schema {
  amounts.add(schema, { isAmount: true })
  return schema
}

export function isAmount(schema: z.ZodType): boolean {
  return amounts.get(schema) !== undefined
}

/** Returns the names of the fields, including nested ones, that contain an amount in cents. */
export function amountNames(schema: z.ZodType): ReadonlySet<string> {
  return namesOf(schema, isAmount)
}

/** Returns the names of the fields, including nested ones, whose schemas pass the test. */
export function namesOf(schema: z.ZodType, passes: (field: z.ZodType) => boolean): ReadonlySet<string> {
  const names = new Set<string>()
  visit(schema, undefined, (name, field) => {
    if (passes(field)) names.add(name)
  })
  return names
}

/** The properties of a zod schema's definition that contain other schemas. */
interface Definition {
  innerType?: z.ZodType
  element?: z.ZodType
  options?: readonly z.ZodType[]
  shape?: Readonly<Record<string, z.ZodType>>
  valueType?: z.ZodType
  /** The schema that checks a value after preprocessing. */
  out?: z.ZodType
}

/**
 * Calls `each` for every field, including nested fields. The items of a list are visited under the name of the list.
 * The arbitrary keys of a record are not visited.
 */
function visit(schema: z.ZodType, name: string | undefined, each: (name: string, field: z.ZodType) => void): void {
  const { innerType, element, options = [], shape = {}, out } = schema.def as Definition
  const inside = [innerType, element, out, ...options].filter((inner) => inner !== undefined)
  for (const inner of inside) visit(inner, name, each)
  for (const [field, inner] of Object.entries(shape)) visit(inner, field, each)
  if (name !== undefined) each(name, schema)
}

/**
 * Returns the layers of a schema: the schema itself and all schemas that it wraps, outermost first. A union wraps all
 * of its members.
 */
export function layersOf(schema: z.ZodType): z.ZodType[] {
  const { innerType, options = [], out } = schema.def as Definition
  const inside = [innerType, out, ...options].filter((inner) => inner !== undefined)
  return [schema, ...inside.flatMap(layersOf)]
}

/** Returns the layers of the value under a key of an object, or at an index of a list. */
export function layersUnder(layers: readonly z.ZodType[], key: PropertyKey): z.ZodType[] {
  return layers
    .map((layer) => layer.def as Definition)
    .flatMap(({ shape = {}, element, valueType }) => {
      const named = Object.hasOwn(shape, key) ? shape[String(key)] : undefined
      return [named ?? element ?? valueType].filter((inner) => inner !== undefined)
    })
    .flatMap(layersOf)
}

/** Returns the names of the fields of all layers, each name once. */
export function fieldsOf(layers: readonly z.ZodType[]): string[] {
  return [...new Set(layers.flatMap((layer) => Object.keys((layer.def as Definition).shape ?? {})))]
}
