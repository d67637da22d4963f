import { z } from 'zod'
import type { OperationDefinition } from '../../core/operation.ts'

/**
 * Attributes that no answer of this server has, whatever the API answers: a client secret is for the payer's browser
 * (docs/service.md#client-secret), and what a model reads is written down by its host.
 */
const withheld = ['clientSecret'] as const

/** The data of what the API answered, as far as it is for a model: every tool and resource answers this. */
export function shownToModels(data: unknown): unknown {
  return Array.isArray(data) ? data.map(withoutWithheld) : withoutWithheld(data)
}

/** The schema of a resource without what is withheld. */
export function shownSchema(output: OperationDefinition['output']): OperationDefinition['output'] {
  const { shape = {} } = (output.shape.attributes ?? {}) as Partial<z.ZodObject>
  const kept = Object.entries(shape).filter(([name]) => !isWithheld(name))
  if (kept.length === Object.keys(shape).length) return output
  return output.extend({ attributes: z.object(Object.fromEntries(kept)) })
}

function withoutWithheld(resource: unknown): unknown {
  const { attributes } = (resource ?? {}) as { attributes?: Record<string, unknown> }
  if (attributes === undefined) return resource
  const kept = Object.entries(attributes).filter(([name]) => !isWithheld(name))
  return { ...(resource as object), attributes: Object.fromEntries(kept) }
}

function isWithheld(name: string): boolean {
  return withheld.some((one) => one === name)
}
