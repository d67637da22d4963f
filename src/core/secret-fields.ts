import type { z } from 'zod'
import type { OperationDefinition } from './operation.ts'

const marked = new WeakSet<z.core.$ZodType>()

/**
 * Marks an attribute of an answer as a secret, because anyone who has it can pay, sign in or act with it. Only the
 * caller may see it. Apply the mark last, because a schema derived from a marked one loses the mark.
 */
export function secret<Schema extends z.ZodType>(schema: Schema): Schema {
  marked.add(schema)
  return schema
}

export function isSecret(schema: z.core.$ZodType): boolean {
  return marked.has(schema)
}

/** Returns the secret attributes of an operation's answer. */
export function secretFields({ output }: Pick<OperationDefinition, 'output'>): readonly string[] {
  const { shape = {} } = (output.shape.attributes ?? {}) as Partial<z.ZodObject>
  return Object.keys(shape).filter((name) => isSecret(shape[name] as z.core.$ZodType))
}

/** Returns whether an answer of the operation contains one of its secrets. A secret that is null does not count. */
export function containsSecret(operation: Pick<OperationDefinition, 'output'>, data: unknown): boolean {
  const names = secretFields(operation)
  const items = (Array.isArray(data) ? data : [data]) as ({ attributes?: Record<string, unknown> } | undefined)[]
  return names.some((name) => items.some((item) => (item?.attributes?.[name] ?? null) !== null))
}
