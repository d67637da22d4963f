import { bodyPlaces } from '../../src/core/body-places.ts'
import type { OperationDefinition } from '../../src/core/operation.ts'

/**
 * Returns the relationships for a request body, with the given agent. Returns undefined if the body of the operation
 * has no relationships.
 */
export function relationshipsFor({ attributes }: OperationDefinition, { agentId }: Record<string, string>) {
  if (attributes === undefined || bodyPlaces(attributes).relationships === undefined) return undefined
  return { agent: { data: { type: 'agent', id: agentId } } }
}
