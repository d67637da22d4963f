import { z } from 'zod'
import { catalogue } from '../../../tools/index.ts'
import { idPrefixOf } from '../../core/accepted-values.ts'
import { memoize } from '../../core/memoize.ts'
import { answersList, inputParts, type OperationDefinition, onlyReads } from '../../core/operation.ts'
import type { Dependencies as AllDependencies } from '../dependencies.ts'
import { operationsOf } from './offered-operations.ts'

/** The part of a connection's dependencies that this file uses. */
type Dependencies = Pick<AllDependencies, 'choice'>

const operations = Object.values<OperationDefinition>(catalogue)

/**
 * Returns the noun for records whose ids have this prefix. For example, `a card` comes from the tool title `Read a
 * card`.
 */
export function nounOf(idPrefix: string): string | undefined {
  const reader = operations.find((operation) => readsOne(operation) && outputPrefix(operation) === idPrefix)
  return /^Read (an? .+)$/.exec(reader?.title ?? '')?.[1]
}

/** Returns the connection's tool that lists the records whose ids have this prefix. */
export function listerOf(dependencies: Dependencies, idPrefix: string | undefined): string | undefined {
  if (idPrefix === undefined) return undefined
  const isList = (operation: OperationDefinition) =>
    operation.effect === 'read' && operation.result === 'page' && outputPrefix(operation) === idPrefix
  return operationsOf(dependencies.choice).find(isList)?.name
}

/** Returns the connection's tool that reads the operation's resource or, if there is none, lists such resources. */
export function readerOf(dependencies: Dependencies, operation: OperationDefinition): string | undefined {
  const given = Object.entries(operation.params?.shape ?? {}).map(([name, schema]) => `${name} ${prefixOf(schema)}`)
  const reads = operationsOf(dependencies.choice).find((candidate) => {
    const needed = Object.entries(candidate.params?.shape ?? {}).map(([name, schema]) => `${name} ${prefixOf(schema)}`)
    return readsOne(candidate) && needed.length > 0 && needed.every((parameter) => given.includes(parameter))
  })
  return reads?.name ?? listerOf(dependencies, outputPrefix(operation))
}

/** Returns the connection's tool that reads a single record of the kind that the operation lists. */
export function recordReaderOf(dependencies: Dependencies, operation: OperationDefinition): string | undefined {
  if (!answersList(operation)) return undefined
  const { output } = operation
  return operationsOf(dependencies.choice).find((candidate) => readsOne(candidate) && candidate.output === output)?.name
}

/** Returns the id prefix that this argument requires; undefined if the argument is not an id. */
export function argumentPrefix(operation: OperationDefinition, name: string): string | undefined {
  const schema = inputParts.map((part) => operation[part]?.shape[name]).find((found) => found !== undefined)
  return schema === undefined ? undefined : prefixOf(schema)
}

/** Returns whether the operation reads a single record. Revealing a card's number does not count as reading. */
export const readsOne = (operation: OperationDefinition) => onlyReads(operation) && !answersList(operation)

export const outputPrefix = ({ output }: OperationDefinition) => prefixOf(output.shape.id)

const idPrefix = memoize((schema: z.ZodType) =>
  idPrefixOf((z.toJSONSchema(schema, { io: 'input' }) as { pattern?: string }).pattern),
)

/** Returns the id prefix that this schema requires; undefined if the schema is not for ids. */
export function prefixOf(schema: unknown): string | undefined {
  return schema instanceof z.ZodType ? idPrefix(schema) : undefined
}
