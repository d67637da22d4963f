import { z } from 'zod'
import type { OperationDefinition } from './operation.ts'
import { remembered } from './remembered.ts'

const related = new WeakSet<z.core.$ZodType>()
const beside = new WeakSet<z.core.$ZodType>()

/**
 * Marks an id among the attributes that a body names as a relationship: `agentId` stands in it as
 * `data.relationships.agent` (docs/service.md#bodies). The mark goes outermost, for a schema that is made from it is another one.
 */
export function asRelationship<Schema extends z.ZodType>(id: Schema): Schema {
  related.add(id)
  return id
}

/** Marks attributes whose `partyId` may stand beside `data` too, where the published client sends it. */
export function partyBeside<Schema extends z.ZodObject>(attributes: Schema): Schema {
  beside.add(attributes)
  return attributes
}

/** Tells whether a body may name the party beside `data`. */
export function takesPartyBeside({ attributes }: Pick<OperationDefinition, 'attributes'>): boolean {
  return attributes !== undefined && beside.has(attributes)
}

/** The fields of a body, by where they stand in it. */
interface BodyPlaces {
  /** `data.attributes`. */
  attributes: z.ZodObject
  /** `data.relationships`; undefined for most operations, whose bodies have none. */
  relationships: z.ZodObject | undefined
}

/** Returns where the fields of a body stand in it. */
export const bodyPlaces = remembered((attributes: z.ZodObject): BodyPlaces => {
  const { ids, own = [] } = Object.groupBy(Object.entries(attributes.shape), ([, field]) =>
    related.has(field) ? 'ids' : 'own',
  )
  const strict = (fields: typeof own) => z.strictObject(Object.fromEntries(fields))
  return ids === undefined
    ? { attributes, relationships: undefined }
    : { attributes: strict(own), relationships: strict(ids) }
})

/** Names the relationship that an id is: `agentId` is `agent`, which is its type too. */
export function relationshipOf(field: string): string {
  return field.replace(/Id$/, '')
}
