import { camelCase, type OperationDefinition } from '../../src/core/operation.ts'
import type { OperationKey } from '../../tools/index.ts'
import * as make from './makers.ts'
import { type CredentialKind, credentialKinds, limitedGrants } from './places.ts'
import { expectedStatus, type Target } from './rules.ts'
import { type Sample, samples } from './samples.ts'

/** A request to test, and the status that it must get. */
export interface Cell {
  operation: OperationDefinition
  sample: Sample
  credential: CredentialKind
  target: Target
  /** The query parameter that filters a list. Its value is an id that belongs to the target. */
  filter?: string
  expected: number
}

const sampleFor = ({ name }: OperationDefinition) => samples[camelCase(name) as OperationKey]

const mainKinds = credentialKinds.filter((kind) => !(limitedGrants as readonly CredentialKind[]).includes(kind))

export function cellsOf(operation: OperationDefinition): Cell[] {
  const sample = sampleFor(operation)
  return credentialKinds.flatMap((credential) => {
    // A request without the needed scope is refused before its target is looked up, so one target is enough.
    const isLimited = (limitedGrants as readonly CredentialKind[]).includes(credential)
    const cells: Cell[] = (isLimited ? (['own'] as const) : targetsOf(operation, sample)).map((target) => {
      const expected = expectedStatus(credential, sample, target, operation)
      return { operation, sample, credential, target, expected }
    })
    if (isLimited) return cells
    const foreign = ['granted, unnamed', 'stranger'] as const
    for (const filter of sample.filters ?? []) {
      for (const target of foreign) {
        // A request that filters a list by another party's id is not refused. It gets an empty list.
        const expected = expectedStatus(credential, sample, 'own', operation)
        cells.push({ operation, sample, credential, target, filter, expected })
      }
    }
    return cells
  })
}

/** Returns the targets to try with an operation. Requests without ids differ only in the customer that they name. */
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

/** Returns one request per credential. Each request reads a list from a cursor that another party's list returned. */
export function cursorCells(operation: OperationDefinition): Cell[] {
  const sample = sampleFor(operation)
  return mainKinds.map((credential) => {
    const allowed = expectedStatus(credential, sample, 'own', operation)
    return { operation, sample, credential, target: 'stranger', expected: allowed === 200 ? 400 : allowed }
  })
}

/**
 * Returns one request per credential. Each request repeats another party's request, with the same idempotency key but
 * with its own credential.
 */
export function replayCells(operation: OperationDefinition): Cell[] {
  const sample = sampleFor(operation)
  const target = sample.make === make.nothing ? 'own' : 'stranger'
  return mainKinds.map((credential) => {
    return { operation, sample, credential, target, expected: expectedStatus(credential, sample, target, operation) }
  })
}
