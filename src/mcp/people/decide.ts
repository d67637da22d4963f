import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { prepare } from '../../client/input.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { failed } from '../answers/results.ts'
import { asksPeople, type Dependencies, type Held } from '../dependencies.ts'
import { noteAnswer, noteQuestion, refused } from '../noted.ts'
import { afterPage, offerPage, pageFor } from './approval.ts'
import {
  answerTo,
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
import { type Asking, afterDecisionPage, declined, holdForPerson, offerDecision } from './pending.ts'
import type { Question } from './question.ts'
import { questions } from './questions.ts'

export interface ToolCall {
  operation: OperationDefinition
  input: Record<string, unknown>
  idempotencyKey: string | undefined
  /** The arguments as the host sent them. */
  given: Record<string, unknown>
  /** What a person decided about this call before. */
  held: Held | undefined
}

type Answer = CallToolResult | InputRequiredResult

/** Either the call may go on, or the host gets the answer instead. */
type Decision = Go | { go: false; answer: Answer }

/** A call that may go on. */
export interface Go {
  go: true
  of: Fingerprint
  /** The key under which it goes on. */
  idempotencyKey: string | undefined
  /** Whether a person decided about it. */
  decided: boolean
  /** The decision that was made on a page. */
  held: Held | undefined
}

/** What a person is asked about a call. */
interface Asked {
  call: ToolCall
  question: Question
  shown: string
  of: Fingerprint
}

/**
 * Asks the person before what they are to decide. An answer counts for the call as it was shown only: the arguments and
 * what the service tells of them are compared with what is sealed, and another call, or changed data, asks again. They are
 * not asked twice of a call that was sent because they agreed to it, as `wasDecided` tells.
 */
export async function decide(
  dependencies: Dependencies,
  call: ToolCall,
  context: ServerContext,
  wasDecided: () => Promise<boolean>,
): Promise<Decision> {
  const { operation, input, idempotencyKey, held } = call
  const page = pageFor(dependencies, operation.name, input)
  const decided = page === undefined ? undefined : await afterPage(dependencies, page, input, context)
  if (decided !== undefined) return { go: false, answer: decided }
  const before = held === undefined && mayAsk(dependencies, operation) && (await wasDecided())
  const question = before ? undefined : await questionOf(dependencies, call, context)
  const shown = question === undefined ? '' : messageOf(question)
  const of = fingerprint(operation.name, { ...input, idempotencyKey }, shown)
  const key = held === undefined ? idempotencyKey : keyOf(held)
  // The call goes on where there is nothing to decide, and where its second factor is checked after the decision.
  const goesOn = question === undefined || stateOf(context, of, 'verification') !== undefined
  const decidedBefore = before || question !== undefined
  if (goesOn || held?.call.of === of()) return { go: true, of, idempotencyKey: key, decided: decidedBefore, held }
  const asked = { call, question, shown, of }
  return (await answered(dependencies, asked, page, context)) ?? (await ask(dependencies, asked, page, context))
}

/** What the person answered to the question; undefined: they were not asked it. */
async function answered(
  dependencies: Dependencies,
  asked: Asked,
  page: string | undefined,
  context: ServerContext,
): Promise<Decision | undefined> {
  const { of, call } = asked
  const { decisions } = dependencies.people
  if (decisions !== undefined) {
    const onPage = await afterDecisionPage({ ...dependencies, decisions }, askingOf(dependencies, asked), of, context)
    if (onPage !== undefined && 'answer' in onPage) return { go: false, answer: onPage.answer }
    if (onPage !== undefined) {
      return { go: true, of, idempotencyKey: keyOf(onPage.held), decided: true, held: onPage.held }
    }
  }
  const state = stateOf(context, of, 'decision')
  const { action, confirmed } = answerTo(context, 'decision')
  if (state === undefined || action === 'missing') return undefined
  const told = { state, operation: call.operation.name, remark: 'The person at the host answered the form.' }
  if (confirmed) {
    noteAnswer(dependencies, context, { ...told, outcome: 'agreed' })
    return { go: true, of, idempotencyKey: state.key, decided: true, held: undefined }
  }
  const isUnseen = isNotShown(dependencies, state, { action, confirmed })
  if (!isUnseen) {
    noteAnswer(dependencies, context, { ...told, outcome: 'disagreed' })
    return { go: false, answer: failed(declined) }
  }
  return { go: false, answer: await onPageOr(notShown, dependencies, asked, page, context) }
}

/** Asks in the first way that the host has: by the address of a page, by a form, or through the model by a link. */
async function ask(
  dependencies: Dependencies,
  asked: Asked,
  page: string | undefined,
  context: ServerContext,
): Promise<Decision> {
  const { call, question, shown, of } = asked
  const { people, server } = dependencies
  const { decisions } = people
  const modes = modesOf(server, context)
  if (modes.url && (decisions !== undefined || !modes.form)) {
    if (page !== undefined) return { go: false, answer: await offerPage(dependencies, page, call.input, context) }
    const offer = decisions && offerDecision({ ...dependencies, decisions }, askingOf(dependencies, asked), of, context)
    if (offer !== undefined) return { go: false, answer: await offer }
  }
  const { operation, given } = call
  const cannot = (where: string) =>
    refused(dependencies, context, { operation: operation.name, arguments: given, error: cannotAsk(where) })
  if (!modes.form) return { go: false, answer: await onPageOr(cannot, dependencies, asked, page, context) }
  const key = keyFor(dependencies, call)
  // A host that sends the call again without an answer shows its person the same question.
  if (stateOf(context, of, 'decision') === undefined) {
    noteQuestion(dependencies, context, { way: 'form', ...toldOf(asked) })
  }
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

/** Leads the person to a page through the model; where there is none, says where they can do it. */
async function onPageOr(
  otherwise: (where: string) => CallToolResult,
  dependencies: Dependencies,
  asked: Asked,
  page: string | undefined,
  context: ServerContext,
): Promise<CallToolResult> {
  const { decisions } = dependencies.people
  if (decisions === undefined) return otherwise(whereToDecide(dependencies, page))
  const hasChanged = asked.call.held !== undefined
  return await holdForPerson({ ...dependencies, decisions }, askingOf(dependencies, asked), context, hasChanged)
}

function askingOf(dependencies: Dependencies, { call, question, of }: Asked): Asking {
  const { facts, effect, tick } = question
  const told = facts.filter((fact) => fact !== undefined)
  const key = keyFor(dependencies, call)
  const { name } = call.operation
  const spends = questions[name]?.amount !== undefined
  return { tool: name, arguments: call.given, key, of: of(), facts: told, effect, tick, spends }
}

/** What a person is asked, for the run. */
function toldOf({ call: { operation, input }, question: { facts, effect } }: Asked) {
  const { name } = operation
  const amount = Number(input[questions[name]?.amount ?? ''])
  const told = [...facts.filter((fact) => fact !== undefined), effect]
  return { operation: name, facts: told, amountCents: Number.isSafeInteger(amount) ? amount : undefined }
}

/** The key under which the call is to be carried out once the person agreed. */
function keyFor(dependencies: Dependencies, { operation, idempotencyKey }: ToolCall): string | undefined {
  return operation.idempotency === 'required' ? (idempotencyKey ?? newKey(dependencies)) : undefined
}

/** A refusal for want of a second factor is recorded under its key, so the next try has another, the same for all. */
function keyOf({ call: { key }, tries }: Held): string | undefined {
  return key === undefined || tries === 0 ? key : `${key}.${tries}`
}

function whereToDecide(dependencies: Dependencies, page: string | undefined): string {
  return page === undefined ? `in ${dashboardOf(dependencies)}` : `at ${page}`
}

function mayAsk({ people, choice }: Dependencies, { name }: OperationDefinition): boolean {
  return Object.hasOwn(questions, name) && asksPeople(people.confirm, choice.environment)
}

async function questionOf(dependencies: Dependencies, { operation, input }: ToolCall, context: ServerContext) {
  const { people, api } = dependencies
  const rule = mayAsk(dependencies, operation) ? questions[operation.name] : undefined
  if (rule === undefined) return undefined
  // What the service would not accept is refused before anybody is asked.
  prepare(operation, input)
  if (rule.amount !== undefined && Number(input[rule.amount]) <= people.confirm.aboveCents) return undefined
  const { call } = await api.client()
  return await rule.ask(input, (read, arguments_, options) =>
    call(read, arguments_, { ...options, signal: context.mcpReq.signal }),
  )
}

function messageOf({ facts, effect }: Question): string {
  return [...facts.filter((fact) => fact !== undefined), effect].join('\n')
}

function cannotAsk(where: string) {
  return {
    code: 'confirmation_unavailable',
    detail: 'A person has to decide this, and this host has no way to ask them (MCP elicitation). Nothing was done.',
    next: `Tell them: they can do it ${where}, or use a host that supports elicitation. Whoever starts this server decides with PAYMENTS_CONFIRM (--confirm) when a person is asked. What you were told in the conversation does not count.`,
  }
}
