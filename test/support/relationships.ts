import { bodyPlaces } from '../../src/core/body-places.ts'
import type { OperationDefinition } from '../../src/core/operation.ts'

/** Returns the relationships of a body that names an agent; undefined if the operation's body has none. */
export function relationshipsFor({ attributes }: OperationDefinition, { agentId }: Record<string, string>) {
  if (attributes === undefined || bodyPlaces(attributes).relationships === undefined) return undefined
  return { agent: { data: { type: 'agent', id: agentId } } }
}
