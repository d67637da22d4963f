import { z } from 'zod'
import { memoize } from './memoize.ts'
import type { OperationDefinition } from './operation.ts'

const relationshipIds = new WeakSet<z.core.$ZodType>()
const withSiblingParty = new WeakSet<z.core.$ZodType>()

/**
 * Marks the schema of an id that is sent in a body's relationships, not in its attributes: `agentId` is sent as
 * `data.relationships.agent` (docs/service.md#bodies). Mark the final schema: a schema derived from a marked one is not
 * marked.
 */
export function asRelationship<Schema extends z.ZodType>(id: Schema): Schema {
  relationshipIds.add(id)
  return id
}

/**
 * Marks attributes that contain `partyId`. The published client sends this field next to `data`, so a body may have the
 * field in either place.
 */
export function withPartyNextToData<Schema extends z.ZodObject>(attributes: Schema): Schema {
  withSiblingParty.add(attributes)
  return attributes
}

/** Returns whether the body of an operation may have `partyId` next to `data`. */
export function acceptsPartyNextToData({ attributes }: Pick<OperationDefinition, 'attributes'>): boolean {
  return attributes !== undefined && withSiblingParty.has(attributes)
}

/** The fields of a body, grouped by the object that contains them. */
interface BodyPlaces {
  /** The fields of `data.attributes`. */
  attributes: z.ZodObject
  /** The fields of `data.relationships`; undefined if the body has no relationships, as in most operations. */
  relationships: z.ZodObject | undefined
}

/** Returns the fields of a body, grouped by the object that contains them. */
export const bodyPlaces = memoize((attributes: z.ZodObject): BodyPlaces => {
  const { ids, own: attributeFields = [] } = Object.groupBy(Object.entries(attributes.shape), ([, field]) =>
    relationshipIds.has(field) ? 'ids' : 'own',
  )
  const strictShape = (fields: typeof attributeFields) => z.strictObject(Object.fromEntries(fields))
  return ids === undefined
    ? { attributes, relationships: undefined }
    : { attributes: strictShape(attributeFields), relationships: strictShape(ids) }
})

/**
 * Returns the name of an id field's relationship: `agentId` becomes `agent`, which is also the related resource's type.
 */
export function relationshipOf(field: string): string {
  return field.replace(/Id$/, '')
}
