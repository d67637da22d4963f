import { camelCase, type OperationDefinition } from '../../src/core/operation.ts'
import type { OperationKey } from '../../tools/index.ts'
import * as make from './makers.ts'
import { type CredentialKind, credentialKinds, limitedGrants } from './places.ts'
import { expectedStatus, type Target } from './rules.ts'
import { type Sample, samples } from './samples.ts'

/** A request of the table, and the status that the rules require. */
export interface Cell {
  operation: OperationDefinition
  sample: Sample
  credential: CredentialKind
  target: Target
  /** The name of the created id by which a list is filtered. */
  filter?: string
  expected: number
}

const sampleFor = ({ name }: OperationDefinition) => samples[camelCase(name) as OperationKey]

const mainKinds = credentialKinds.filter((kind) => !(limitedGrants as readonly CredentialKind[]).includes(kind))

export function cellsOf(operation: OperationDefinition): Cell[] {
  const sample = sampleFor(operation)
  return credentialKinds.flatMap((credential) => {
    // Scopes are checked before the target, so one target is enough.
    const isLimited = (limitedGrants as readonly CredentialKind[]).includes(credential)
    const cells: Cell[] = (isLimited ? (['own'] as const) : targetsOf(operation, sample)).map((target) => {
      const expected = expectedStatus(credential, sample, target, operation)
      return { operation, sample, credential, target, expected }
    })
    if (isLimited) return cells
    const foreign = ['granted, unnamed', 'stranger'] as const
    for (const filter of sample.filters ?? []) {
      for (const target of foreign) {
        // A list filtered by a foreign id is empty, not refused.
        const expected = expectedStatus(credential, sample, 'own', operation)
        cells.push({ operation, sample, credential, target, filter, expected })
      }
    }
    return cells
  })
}

/** Returns the targets of an operation. For a list without ids, only the named party can vary. */
function targetsOf(operation: OperationDefinition, { reach, make: maker }: Sample): Target[] {
  const byPartyId =
    operation.query?.shape.partyId === undefined ? [] : (['granted, by partyId', 'stranger, by partyId'] as const)
  const named = ['granted', 'ungranted', 'stranger, named', ...byPartyId] as const
  const isList = operation.result === 'page' && operation.params === undefined
  const hasIds = !isList && maker !== make.nothing
  if (reach === 'self') return ['own']
  if (reach === 'connected') return ['own', 'granted', 'ungranted', 'stranger']
  if (reach === 'party') return hasIds ? ['own', 'granted', 'ungranted', 'stranger'] : ['own']
  if (!hasIds) return ['own', ...named]
  return ['own', ...named, 'stranger', 'granted, unnamed', 'own, naming a customer']
}

/** Returns requests that continue a list with a cursor from another party's list. */
export function cursorCells(operation: OperationDefinition): Cell[] {
  const sample = sampleFor(operation)
  return mainKinds.map((credential) => {
    const allowed = expectedStatus(credential, sample, 'own', operation)
    return { operation, sample, credential, target: 'stranger', expected: allowed === 200 ? 400 : allowed }
  })
}

/** Returns requests that repeat a stranger's request, with the same idempotency key but another party's credentials. */
export function replayCells(operation: OperationDefinition): Cell[] {
  const sample = sampleFor(operation)
  const target = sample.make === make.nothing ? 'own' : 'stranger'
  return mainKinds.map((credential) => {
    return { operation, sample, credential, target, expected: expectedStatus(credential, sample, target, operation) }
  })
}
