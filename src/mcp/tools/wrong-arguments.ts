import type { WrongArgument } from '../../client/input.ts'
import { Failure, show } from '../../core/errors.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { nearestWord } from '../../core/spelling.ts'
import type { Dependencies } from '../dependencies.ts'
import { argumentPrefix, listerOf, nounOf } from './id-kinds.ts'
import { callAgain, correction, sentence } from './next-steps.ts'

/** The refusal of a call whose arguments are invalid. Its `next` advises how to correct them. */
export class WrongArguments extends Failure {
  readonly next: string

  constructor(options: { detail: string; next: string } & Partial<Pick<WrongArgument, 'source' | 'status'>>) {
    super('invalid_value', options)
    this.next = options.next
  }
}

/** Combines refusals into one refusal, which has the source and status of `first`. */
export function combineRefusals(first: WrongArguments, others: readonly WrongArguments[]): WrongArguments {
  if (others.length === 0) return first
  const all = [first, ...others]
  const detail = all.map(({ message }) => message).join(' ')
  const next = [...new Set(all.map((wrong) => wrong.next))].join(' ')
  const { source } = first
  const status = first.status as WrongArgument['status']
  return new WrongArguments({ detail, next, status, ...(source === undefined ? {} : { source }) })
}

/** The maximum number of invalid arguments in a refusal. A model that makes more mistakes should read the schema. */
const maxListed = 8

/** Builds the refusal of a call whose arguments are invalid. @param argumentNames the names of the tool's arguments */
export function wrongArgumentsOf(
  dependencies: Dependencies,
  operation: OperationDefinition,
  wrong: readonly [WrongArgument, ...WrongArgument[]],
  argumentNames: readonly string[],
): WrongArguments {
  const { source, status } = wrong[0]
  const first = wrong.slice(0, maxListed)
  const details = first.map((argument) => inWords(dependencies, operation, argument, argumentNames))
  const corrections = new Set(first.map((argument) => correctionOf(operation, argument, argumentNames)))
  return new WrongArguments({
    detail: details.join(' '),
    next: sentence([...corrections], callAgain(operation)),
    source,
    status,
  })
}

function inWords(
  dependencies: Dependencies,
  operation: OperationDefinition,
  argument: WrongArgument,
  argumentNames: readonly string[],
): string {
  const { kind, path, got, detail } = argument
  const name = path.join('.')
  if (kind === 'unknown' && path.length === 1) {
    const [name = ''] = path
    const similar = nearestWord(name, argumentNames)
    const takes = argumentNames.length === 0 ? 'no arguments' : argumentNames.join(', ')
    const instead = similar === undefined ? '' : ` Did you mean ${similar}?`
    return `There is no argument ${show(name)}; ${operation.name} takes ${takes}.${instead}`
  }
  const prefix = argument.idPrefix ?? argumentPrefix(operation, name)
  if (kind === 'unknown' || prefix === undefined) return detail
  const lister = listerOf(dependencies, prefix)
  const origin = `begins with ${prefix}${lister === undefined ? '' : ` and comes from ${lister}`}`
  if (kind === 'missing') return `${name} is required: it ${origin}.`
  const noun = nounOf(/^[a-z]{3}_/.exec(String(got))?.[0] ?? '')
  if (noun === undefined || String(got).startsWith(prefix)) return `${detail} ${name} ${origin}.`
  return `${name} got ${show(got)}: that is ${noun}'s id; ${name} ${origin}.`
}

function correctionOf(
  operation: OperationDefinition,
  argument: WrongArgument,
  argumentNames: readonly string[],
): string {
  const { kind, path, accepts } = argument
  const name = path.map((part) => show(part).slice(1, -1)).join('.')
  if (kind === 'missing') return `add ${name}`
  if (kind === 'wrong') return correction({ operation, name, accepts })
  const similar = path.length === 1 ? nearestWord(name, argumentNames) : undefined
  return similar === undefined ? `leave out ${name}` : `send ${similar} instead of ${name}`
}
