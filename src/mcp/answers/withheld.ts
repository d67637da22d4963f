import { z } from 'zod'
import type { OperationDefinition } from '../../core/operation.ts'
import { withheldFromModels } from '../../core/secret-names.ts'

/** The data of what the API answered, as far as it is for a model: every tool and resource answers this. */
export function shownToModels(data: unknown): unknown {
  return Array.isArray(data) ? data.map(withoutWithheld) : withoutWithheld(data)
}

/** The schema of a resource without what is withheld. */
export function shownSchema(output: OperationDefinition['output']): OperationDefinition['output'] {
  const { shape = {} } = (output.shape.attributes ?? {}) as Partial<z.ZodObject>
  const kept = Object.entries(shape).filter(([name]) => !withheldFromModels.includes(name))
  if (kept.length === Object.keys(shape).length) return output
  return output.extend({ attributes: z.object(Object.fromEntries(kept)) })
}

function withoutWithheld(resource: unknown): unknown {
  const { attributes } = (resource ?? {}) as { attributes?: Record<string, unknown> }
  if (attributes === undefined) return resource
  const kept = Object.entries(attributes).filter(([name]) => !withheldFromModels.includes(name))
  return { ...(resource as object), attributes: Object.fromEntries(kept) }
}
