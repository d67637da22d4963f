import { isDeepStrictEqual } from 'node:util'
import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import { Failure, show } from '../../core/errors.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { success } from '../answers/results.ts'
import type { Decisions, Dependencies, Held } from '../dependencies.ts'
import { refused } from '../noted.ts'
import { awaitDecision, notDecided } from '../people/pending.ts'
import { isNothing, type Taken, takeArguments } from './arguments.ts'
import { takesDecision } from './inputs.ts'
import { WrongArguments } from './wrong-arguments.ts'

type Values = Record<string, unknown>

/** The call that a person said yes to, as it was when they were asked; or what the host gets instead. */
type Decided = { taken: Taken; held: Held } | { answer: CallToolResult }

/**
 * Waits for what the person decides about the call that `decision` names. undefined: the arguments name none. What the
 * person agreed to is carried out, never what is sent now: that may be left out, or has to be the same.
 */
export async function decidedCall(
  dependencies: Dependencies,
  operation: OperationDefinition,
  { decision, ...given }: Values,
  context: ServerContext,
): Promise<Decided | undefined> {
  const { decisions } = dependencies
  if (decisions === undefined || isNothing(decision) || !takesDecision(dependencies, operation)) return undefined
  const held = typeof decision === 'string' ? await decisions.find(decision) : undefined
  const call = { operation: operation.name, arguments: given }
  if (held?.call.tool !== operation.name) {
    return { answer: refused(dependencies, context, { ...call, error: unknownDecision(decision) }) }
  }
  const taken = takeArguments(dependencies, operation, held.call.arguments)
  if (!isSame(dependencies, operation, { taken, held, given })) {
    return { answer: refused(dependencies, context, { ...call, error: differs(operation, held.id) }) }
  }
  return await waitFor({ ...dependencies, decisions }, operation, { taken, held }, context)
}

async function waitFor(
  dependencies: Dependencies & { decisions: Decisions },
  operation: OperationDefinition,
  { taken, held: before }: { taken: Taken; held: Held },
  context: ServerContext,
): Promise<Decided> {
  const held = await awaitDecision(dependencies, before, context)
  const answer = answerOf(operation, held)
  if (answer !== undefined) return { answer }
  return held.state === 'yes' ? { taken, held } : { answer: notDecided(held) }
}

/** What a call was answered that was made by the same decision and is through since. */
export async function answerBefore(
  { decisions }: Dependencies,
  operation: OperationDefinition,
  { id }: Held,
): Promise<CallToolResult | undefined> {
  const held = await decisions?.find(id)
  return held && answerOf(operation, held)
}

function answerOf(operation: OperationDefinition, { answer }: Held): CallToolResult | undefined {
  return answer && success(operation, { meta: undefined, ...answer }, { replayed: true })
}

/** Whether what is sent beside the decision is what the person was asked about, as the operation takes it. */
function isSame(
  dependencies: Dependencies,
  operation: OperationDefinition,
  { taken, held, given }: { taken: Taken; held: Held; given: Values },
): boolean {
  const sent = Object.entries(given).filter(([, value]) => !isNothing(value))
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
  detail: `There is no decision ${show(decision)} of this tool that waits for this connection: it is over, or was of another. Nothing was done.`,
  next: 'If the person still wants it, call again without decision: they are asked anew.',
})

const differs = ({ name }: OperationDefinition, id: string) => ({
  code: 'confirmation_differs',
  detail: 'The arguments are not those that the person was asked about. Nothing was done.',
  next: `For the call that they were asked about, call ${name} with decision ${JSON.stringify(id)} alone or with the same arguments. For this one, call without decision: they are asked anew.`,
})
