import { z } from 'zod'
import type { OperationDefinition } from '../../core/operation.ts'
import { withheldFromModels } from '../../core/secret-names.ts'

/** Returns an answer's data without the attributes that models must not see. Every tool and resource uses this. */
export function shownToModels(data: unknown): unknown {
  return Array.isArray(data) ? data.map(withoutWithheldAttributes) : withoutWithheldAttributes(data)
}

/** Returns a resource's schema without the withheld attributes. */
export function shownSchema(output: OperationDefinition['output']): OperationDefinition['output'] {
  const { shape = {} } = (output.shape.attributes ?? {}) as Partial<z.ZodObject>
  const visible = Object.entries(shape).filter(([name]) => !withheldFromModels.includes(name))
  if (visible.length === Object.keys(shape).length) return output
  return output.extend({ attributes: z.object(Object.fromEntries(visible)) })
}

function withoutWithheldAttributes(resource: unknown): unknown {
  const { attributes } = (resource ?? {}) as { attributes?: Record<string, unknown> }
  if (attributes === undefined) return resource
  const visible = Object.entries(attributes).filter(([name]) => !withheldFromModels.includes(name))
  return { ...(resource as object), attributes: Object.fromEntries(visible) }
}
