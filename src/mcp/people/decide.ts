import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { prepare } from '../../client/input.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { failed } from '../answers/results.ts'
import { asksPeople, type Dependencies } from '../dependencies.ts'
import { afterPage, offerPage, pageFor } from './approval.ts'
import {
  answerTo,
  askNoMore,
  dashboardOf,
  decisionForm,
  type Fingerprint,
  fingerprint,
  isNotShown,
  modesOf,
  newKey,
  notShown,
  seal,
  stateOf,
} from './elicitation.ts'
import type { Question } from './question.ts'
import { questions } from './questions.ts'

export interface ToolCall {
  operation: OperationDefinition
  input: Record<string, unknown>
  idempotencyKey: string | undefined
}

/** Either the call may go on, under that key, or what the host gets instead. */
type Decision =
  | { go: true; of: Fingerprint; idempotencyKey: string | undefined }
  | { go: false; answer: CallToolResult | InputRequiredResult }

/**
 * Asks the person before what they are to decide. An answer counts for the call as it was shown only: the arguments and
 * what the service tells of them are compared with what is sealed, and another call, or changed data, asks again.
 */
export async function decide(dependencies: Dependencies, call: ToolCall, context: ServerContext): Promise<Decision> {
  const { operation, input, idempotencyKey } = call
  const page = pageFor(dependencies, operation.name, input)
  const decided = page === undefined ? undefined : await afterPage(dependencies, page, input, context)
  if (decided !== undefined) return { go: false, answer: decided }
  const question = await questionOf(dependencies, call, context)
  const shown = question === undefined ? '' : messageOf(question)
  const of = fingerprint(operation.name, { ...input, idempotencyKey }, shown)
  // The call goes on where there is nothing to decide, and where its second factor is checked after the decision.
  if (question === undefined || stateOf(context, of, 'verification') !== undefined)
    return { go: true, of, idempotencyKey }
  const state = stateOf(context, of, 'decision')
  const { action, confirmed } = answerTo(context, 'decision')
  if (state !== undefined && action !== 'missing') {
    if (confirmed) return { go: true, of, idempotencyKey: state.key }
    const unseen = isNotShown(dependencies, state, { action, confirmed })
    return {
      go: false,
      answer: unseen ? notShown(whereToDecide(dependencies, page)) : failed(declined),
    }
  }
  const modes = modesOf(dependencies.server, context)
  if (!modes.form) {
    const offered = page !== undefined && modes.url
    return {
      go: false,
      answer: offered ? await offerPage(dependencies, page, input, context) : cannotAsk(dependencies, page),
    }
  }
  const key = operation.idempotency === 'required' ? (idempotencyKey ?? newKey(dependencies)) : undefined
  const requestState = await seal(
    dependencies,
    { of: of(), step: 'decision', ...(key === undefined ? {} : { key }) },
    context,
  )
  return {
    go: false,
    answer: inputRequired({ inputRequests: { decision: decisionForm(shown, question.tick) }, requestState }),
  }
}

function whereToDecide(dependencies: Dependencies, page: string | undefined): string {
  return page === undefined ? `in ${dashboardOf(dependencies)}` : `at ${page}`
}

async function questionOf(dependencies: Dependencies, { operation, input }: ToolCall, context: ServerContext) {
  const { confirm, environment, client } = dependencies
  const rule = Object.hasOwn(questions, operation.name) ? questions[operation.name] : undefined
  if (rule === undefined || !asksPeople(confirm, environment)) return undefined
  // What the service would not accept is refused before anybody is asked.
  prepare(operation, input)
  if (rule.amount !== undefined && Number(input[rule.amount]) <= confirm.aboveCents) return undefined
  const { call } = await client()
  return await rule.ask(input, (read, arguments_, options) =>
    call(read, arguments_, { ...options, signal: context.mcpReq.signal }),
  )
}

function messageOf({ facts, effect }: Question): string {
  return [...facts.filter((fact) => fact !== undefined), effect].join('\n')
}

const declined = {
  code: 'confirmation_declined',
  detail: 'The person did not agree. Nothing was done.',
  next: askNoMore,
}

function cannotAsk(dependencies: Dependencies, page: string | undefined): CallToolResult {
  return failed({
    code: 'confirmation_unavailable',
    detail: 'A person has to decide this, and this host has no way to ask them (MCP elicitation). Nothing was done.',
    next: `Tell them: they can do it ${whereToDecide(dependencies, page)}, or use a host that supports elicitation. Whoever starts this server decides with PAYMENTS_CONFIRM (--confirm) when a person is asked. What you were told in the conversation does not count.`,
  })
}
