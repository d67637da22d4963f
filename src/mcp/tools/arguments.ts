import { z } from 'zod'
import { wrongArguments } from '../../client/input.ts'
import { show } from '../../core/errors.ts'
import { memoize } from '../../core/memoize.ts'
import { inputParts, type OperationDefinition } from '../../core/operation.ts'
import { leavesOut } from '../answers/texts.ts'
import type { Dependencies } from '../dependencies.ts'
import { clearableOf, onlyValues, operationArguments, shapeOf, takesDecision, takesKey } from './inputs.ts'
import { combineRefusals, WrongArguments, wrongArgumentsOf } from './wrong-arguments.ts'

type Values = Record<string, unknown>

/** The arguments of a tool call, converted to the form that the operation takes. */
export interface TakenArguments {
  input: Values
  idempotencyKey: string | undefined
  /** The names of unknown arguments, which are ignored because the operation only reads. */
  ignored: readonly string[]
  /** Whether the answer's text includes hashes, which are left out by default. */
  withHashes: boolean
}

/** Arguments that hosts add to every tool call for their own use. Gemini CLI adds `wait_for_previous`. */
const hostArguments: ReadonlySet<string> = new Set(['wait_for_previous'])

/**
 * Converts and checks a call's arguments. Tolerates the usual deviations of models and hosts: for an optional argument,
 * null and "" count as omitted, and a number may be sent as a string. Reads ignore unknown arguments. Any other call
 * with an unknown argument is refused: a payment with a misspelled `customerPartyId` would come from the wrong wallet.
 * @throws {WrongArguments} with all mistakes
 */
export function takeArguments(
  dependencies: Dependencies,
  operation: OperationDefinition,
  sentValues: Values,
): TakenArguments {
  const shape = shapeOf(operation)
  const { idempotencyKey, clear, detail, decision, ...rest } = operationArguments(operation, sentValues)
  const undeclared = {
    ...(takesKey(operation) ? {} : { idempotencyKey }),
    ...(takesDecision(dependencies.choice, operation) ? {} : { decision }),
    ...(clearableOf(operation).length > 0 ? {} : { clear }),
    ...(leavesOut(operation) ? {} : { detail }),
  }
  const sent = Object.entries({ ...rest, ...undeclared }).filter(
    ([name, value]) => value !== undefined && !hostArguments.has(name),
  )
  const isIgnored = (name: string) => operation.effect === 'read' && !Object.hasOwn(shape, name)
  const ignored = sent.map(([name]) => name).filter(isIgnored)
  const input: Values = Object.fromEntries(sent.filter(([name]) => !isIgnored(name)))
  for (const [name, value] of Object.entries(onlyValues(operation))) if (isNothing(input[name])) input[name] = value
  const problems: WrongArguments[] = []
  const take = collectMistakes(problems)
  const emptied = take(() => clearFields(operation, clear, input))
  const taken: Values = { ...(convert(schemaOf(operation), input) as Values), ...emptied }
  const [first, ...others] = wrongArguments(operation, taken)
  if (first !== undefined) {
    problems.unshift(wrongArgumentsOf(dependencies, operation, [first, ...others], argumentNames(operation)))
  }
  const withHashes = take(() => leavesOut(operation) && isFull(detail))
  const key = take(() => (takesKey(operation) ? uniqueKey(operation, idempotencyKey) : undefined))
  const [problem, ...more] = problems
  if (problem !== undefined) throw combineRefusals(problem, more)
  return {
    input: withDefaultLimit(shape, taken),
    idempotencyKey: key,
    withHashes: withHashes === true,
    ignored: ignored.slice(0, 10).map((name) => show(name).slice(1, -1)),
  }
}

/**
 * Returns a function that runs a step and returns its result. A thrown `WrongArguments` is added to `problems` instead.
 */
function collectMistakes(problems: WrongArguments[]) {
  return <Value>(work: () => Value): Value | undefined => {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof WrongArguments)) throw error
      problems.push(error)
      return undefined
    }
  }
}

/** Fills in the tool's default page size, which differs from the service's. */
function withDefaultLimit({ limit }: Readonly<Record<string, z.ZodType>>, input: Values): Values {
  return limit === undefined || input.limit !== undefined ? input : { ...input, limit: limit.parse(undefined) }
}

function isFull(detail: unknown): boolean {
  if (isNothing(detail) || detail === 'full') return detail === 'full'
  throw new WrongArguments({
    detail: `detail must be "full", got ${show(detail)}.`,
    source: { parameter: 'detail' },
    next: 'Correct or leave out detail and call again.',
  })
}

/**
 * Returns the schema of a tool's arguments. It is cached, because compiling it takes a tenth of the CPU time of a call
 * with a repeat guard.
 */
export const schemaOf = memoize((operation: OperationDefinition) => z.object(shapeOf(operation)))

function argumentNames(operation: OperationDefinition): string[] {
  return [
    ...inputParts.flatMap((part) => Object.keys(operation[part]?.shape ?? {})),
    ...(clearableOf(operation).length > 0 ? ['clear'] : []),
    ...(leavesOut(operation) ? ['detail'] : []),
    ...(takesKey(operation) ? ['idempotencyKey'] : []),
  ]
}

/**
 * The minimum length of an idempotency key that counts as unique. Models invent short keys, and keys that are words. If
 * two models invented the same key, the second model would get the answer to the first model's call.
 */
const minKeyLength = 16

function uniqueKey({ adds }: OperationDefinition, key: unknown): string | undefined {
  if (isNothing(key)) return undefined
  if (typeof key === 'string' && key.length >= minKeyLength && !/^\p{L}+$/u.test(key)) return key
  const onPurpose = ` To repeat an equal call on purpose, use a key of ${minKeyLength} or more random letters and digits.`
  throw new WrongArguments({
    detail: `idempotencyKey ${show(key)} cannot be unique: leave it out, unless an answer told you to send one.`,
    source: { header: 'Idempotency-Key' },
    next: `Call again without idempotencyKey.${adds === true ? onPurpose : ''}`,
  })
}

/** Returns the fields that `clear` lists, each with the value null, which tells the service to clear the field. */
function clearFields(operation: OperationDefinition, names: unknown, input: Values): Values {
  const clearable = clearableOf(operation)
  if (clearable.length === 0 || isNothing(names)) return {}
  const list: readonly unknown[] = Array.isArray(names) ? names : [names]
  for (const name of list) {
    const isGiven = typeof name === 'string' && !isNothing(input[name])
    if (!isGiven && clearable.some((candidate) => candidate === name)) continue
    const detail = isGiven
      ? `clear lists ${show(name)}, which also has a value: either set it or clear it.`
      : `clear must be a list of ${clearable.join(', ')}; got ${show(name)}.`
    throw new WrongArguments({
      detail,
      source: { parameter: 'clear' },
      next: `Correct or leave out clear and call again without idempotencyKey.`,
    })
  }
  return Object.fromEntries(list.map((name) => [name, null]))
}

export const isNothing = (value: unknown) => value === undefined || value === null || value === ''

/** The type and the inner schemas in zod's definition of a schema. */
interface Definition {
  type: string
  innerType?: z.ZodType
  element?: z.ZodType
  shape?: Record<string, z.ZodType>
}

/** A whole number of at most 15 digits, which JavaScript represents exactly. */
const wholeNumber = /^-?(0|[1-9]\d{0,14})$/

/** Converts a value to the schema's type. A value that cannot be converted is returned unchanged and refused later. */
function convert(schema: z.ZodType, value: unknown): unknown {
  const { type, innerType, element, shape } = schema.def as unknown as Definition
  if (innerType !== undefined) return convert(innerType, value)
  if (type === 'number' && typeof value === 'string' && wholeNumber.test(value)) return Number(value)
  if (element !== undefined && Array.isArray(value)) return value.map((item) => convert(element, item))
  if (shape === undefined || typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const present = Object.entries(value).filter(
    ([name, field]) => !(isNothing(field) && Object.hasOwn(shape, name) && shape[name]?.safeParse(undefined).success),
  )
  return Object.fromEntries(
    present.map(([name, field]) => {
      const inner = Object.hasOwn(shape, name) ? shape[name] : undefined
      return [name, inner === undefined ? field : convert(inner, field)]
    }),
  )
}
