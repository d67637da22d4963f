import { isDeepStrictEqual } from 'node:util'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { Failure, show } from '../../core/errors.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { success } from '../answers/results.ts'
import type { Dependencies, Held } from '../dependencies.ts'
import { awaitDecision, notDecided } from '../people/pending-decisions.ts'
import { refusedResult } from '../run-notes.ts'
import { isNothing, type TakenArguments, takeArguments } from './arguments.ts'
import { takesDecision } from './inputs.ts'
import type { Parsed, Planned } from './phases.ts'
import { WrongArguments } from './wrong-arguments.ts'

type Values = Record<string, unknown>

/**
 * Parses the arguments. If they contain `decision`, waits until the person decides, and then continues with the call
 * that the person was asked about. The other arguments must be the same as in that call, or omitted.
 */
export async function parse(call: Planned): Promise<Parsed | { answer: CallToolResult }> {
  const { dependencies, context, operation } = call
  const { choice, people } = dependencies
  const { decision, ...others } = call.hostArguments
  if (people.decisions === undefined || isNothing(decision) || !takesDecision(choice, operation)) {
    return { ...call, ...takeArguments(dependencies, operation, call.hostArguments), held: undefined }
  }
  const refuse = (error: Parameters<typeof refusedResult>[2]['error']) => ({
    answer: refusedResult(dependencies, context, { operation: operation.name, arguments: others, error }),
  })
  const found = typeof decision === 'string' ? await people.decisions.find(decision) : undefined
  if (found?.call.tool !== operation.name) return refuse(unknownDecision(decision))
  const taken = takeArguments(dependencies, operation, found.call.arguments)
  if (!isSame(dependencies, operation, { taken, held: found, hostArguments: others }))
    return refuse(differingCall(operation, found.id))
  const held = await awaitDecision({ ...dependencies, decisions: people.decisions }, found, context)
  const answer = answerOf(operation, held) ?? (held.state === 'yes' ? undefined : notDecided(held))
  return answer === undefined ? { ...call, ...taken, hostArguments: held.call.arguments, held } : { answer }
}

/** Runs calls with the same decision one after another. */
export function inTurn<T>({ dependencies, held }: Parsed, call: () => Promise<T>): Promise<T> {
  return (held && dependencies.people.decisions?.inTurn(held.id, call)) ?? call()
}

/** Returns the answer to an earlier call with the same decision; undefined if there is none. */
export async function earlierAnswer({ dependencies, operation, held }: Parsed): Promise<CallToolResult | undefined> {
  const now = held && (await dependencies.people.decisions?.find(held.id))
  return now && answerOf(operation, now)
}

function answerOf(operation: OperationDefinition, { answer }: Held): CallToolResult | undefined {
  return answer && success(operation, { meta: undefined, ...answer }, { replayed: true })
}

/** Returns whether the arguments sent with a decision equal those that the person was asked about, or are omitted. */
function isSame(
  dependencies: Dependencies,
  operation: OperationDefinition,
  { taken, held, hostArguments }: { taken: TakenArguments; held: Held; hostArguments: Values },
): boolean {
  const sent = Object.entries(hostArguments).filter(([, value]) => !isNothing(value))
  try {
    const now = takeArguments(dependencies, operation, { ...held.call.arguments, ...Object.fromEntries(sent) })
    return isDeepStrictEqual(now.input, taken.input) && now.idempotencyKey === taken.idempotencyKey
  } catch (error) {
    if (error instanceof WrongArguments || error instanceof Failure) return false
    throw error
  }
}

const unknownDecision = (decision: unknown) => ({
  code: 'confirmation_unknown',
  detail: `No decision ${show(decision)} is pending for this tool and connection: it has ended, or it belongs to another tool or connection. Nothing was done.`,
  next: 'If the person still wants it, call again without decision; they are then asked again.',
})

const differingCall = ({ name }: OperationDefinition, id: string) => ({
  code: 'confirmation_differs',
  detail: 'The arguments differ from those that the person was asked about. Nothing was done.',
  next: `To continue the call that the person was asked about, call ${name} with decision ${JSON.stringify(id)} alone or with the same arguments. To make a new call, omit decision; the person is then asked again.`,
})
