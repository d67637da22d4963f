import { z } from 'zod'

const amounts = z.registry<{ isAmount: true }>()

/** Marks a number as an amount of money in cents; a schema that is made from it, with bounds or a description, is one too. */
export function amountInCents<Schema extends z.ZodType>(schema: Schema): Schema {
  amounts.add(schema, { isAmount: true })
  return schema
}

/** The names of the fields of a schema, inside too, that hold an amount in cents. */
export function amountNames(schema: z.ZodType): ReadonlySet<string> {
  return namesOf(schema, (field) => amounts.get(field) !== undefined)
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
