import { z } from 'zod'

const amounts = z.registry<{ isAmount: true }>()

/** Marks a number as an amount of money in cents; a schema that is made from it, with bounds or a description, is one too. */
export function amountInCents<Schema extends z.ZodType>(schema: Schema): Schema {
  amounts.add(schema, { isAmount: true })
  return schema
}

export function isAmount(schema: z.ZodType): boolean {
  return amounts.get(schema) !== undefined
}

/** The names of the fields of a schema, inside too, that hold an amount in cents. */
export function amountNames(schema: z.ZodType): ReadonlySet<string> {
  return namesOf(schema, isAmount)
}

/** The names of the fields of a schema, inside too, that pass. */
export function namesOf(schema: z.ZodType, passes: (field: z.ZodType) => boolean): ReadonlySet<string> {
  const names = new Set<string>()
  visit(schema, undefined, (name, field) => {
    if (passes(field)) names.add(name)
  })
  return names
}

/** The parts of zod's own description of a schema that tell what it wraps or holds. */
interface Definition {
  innerType?: z.ZodType
  element?: z.ZodType
  options?: readonly z.ZodType[]
  shape?: Readonly<Record<string, z.ZodType>>
  valueType?: z.ZodType
  /** What a preprocessed value becomes. */
  out?: z.ZodType
}

/** Goes through all fields. What a list holds has the list's name, and an object of free keys holds no field. */
function visit(schema: z.ZodType, name: string | undefined, each: (name: string, field: z.ZodType) => void): void {
  const { innerType, element, options = [], shape = {}, out } = schema.def as Definition
  const inside = [innerType, element, out, ...options].filter((inner) => inner !== undefined)
  for (const inner of inside) visit(inner, name, each)
  for (const [field, inner] of Object.entries(shape)) visit(inner, field, each)
  if (name !== undefined) each(name, schema)
}

/**
 * The schemas that a value may have to pass, from the outermost to those that wrap no other: several where one of several
 * is enough.
 */
export function layersOf(schema: z.ZodType): z.ZodType[] {
  const { innerType, options = [], out } = schema.def as Definition
  const inside = [innerType, out, ...options].filter((inner) => inner !== undefined)
  return [schema, ...inside.flatMap(layersOf)]
}

/** The layers of what stands under a key of an object, or at an index of a list. */
export function layersUnder(layers: readonly z.ZodType[], key: PropertyKey): z.ZodType[] {
  return layers
    .map((layer) => layer.def as Definition)
    .flatMap(({ shape = {}, element, valueType }) => {
      const named = Object.hasOwn(shape, key) ? shape[String(key)] : undefined
      return [named ?? element ?? valueType].filter((inner) => inner !== undefined)
    })
    .flatMap(layersOf)
}

/** The fields that one of the layers is known to have. */
export function fieldsOf(layers: readonly z.ZodType[]): string[] {
  return [...new Set(layers.flatMap((layer) => Object.keys((layer.def as Definition).shape ?? {})))]
}
