import type { z } from 'zod'
import type { OperationDefinition } from './operation.ts'

const marked = new WeakSet<z.core.$ZodType>()

/**
 * Marks an attribute of an answer as a secret: anyone who has its value can pay, sign in or act with it. Only the
 * caller may see the value. Apply the mark last, because a schema derived from a marked one loses the mark.
 */
export function secret<Schema extends z.ZodType>(schema: Schema): Schema {
  marked.add(schema)
  return schema
}

export function isSecret(schema: z.core.$ZodType): boolean {
  return marked.has(schema)
}

/** Returns the names of the secret attributes in an operation's answer. */
export function secretFields({ output }: Pick<OperationDefinition, 'output'>): readonly string[] {
  const { shape = {} } = (output.shape.attributes ?? {}) as Partial<z.ZodObject>
  return Object.keys(shape).filter((name) => isSecret(shape[name] as z.core.$ZodType))
}

/** Returns whether an answer has a value other than null for any of the operation's secret attributes. */
export function containsSecret(operation: Pick<OperationDefinition, 'output'>, data: unknown): boolean {
  const names = secretFields(operation)
  const items = (Array.isArray(data) ? data : [data]) as ({ attributes?: Record<string, unknown> } | undefined)[]
  return names.some((name) => items.some((item) => (item?.attributes?.[name] ?? null) !== null))
}
