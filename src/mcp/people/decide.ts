import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { prepare } from '../../client/input.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { failedResult } from '../answers/results.ts'
import { asksPeople, type Dependencies, type Held } from '../dependencies.ts'
import { noteAnswer, noteQuestion, refusedResult } from '../run-notes.ts'
import { afterPage, offerPage, pageFor } from './approval.ts'
import {
  answerTo,
  dashboardOf,
  decisionForm,
  type Fingerprint,
  fingerprintCall,
  isNotShown,
  modesOf,
  newKey,
  notShown,
  seal,
  stateOf,
} from './elicitation.ts'
import { afterDecisionPage, declined, holdForPerson, offerDecision, type PageQuestion } from './pending-decisions.ts'
import type { Question as DraftQuestion } from './question.ts'
import { questions } from './questions.ts'

/** A question from which undefined facts have been removed. */
type Question = DraftQuestion & { facts: string[] }

export interface ToolCall {
  operation: OperationDefinition
  input: Record<string, unknown>
  idempotencyKey: string | undefined
  /** The arguments as the host sent them. */
  hostArguments: Record<string, unknown>
  /** A person's earlier decision about this call. */
  held: Held | undefined
}

type Answer = CallToolResult | InputRequiredResult

/** Either a call that may proceed, or the answer for the host. */
type Decision = AllowedCall | { isAllowed: false; answer: Answer }

/** A call that may proceed. */
export interface AllowedCall {
  isAllowed: true
  fingerprint: Fingerprint
  /** The idempotency key for the call. */
  idempotencyKey: string | undefined
  /** Whether a person agreed to the call. */
  decided: boolean
  /** The person's decision, if they made it on a page. */
  held: Held | undefined
}

/** A call about which a person is asked. */
interface PendingCall {
  dependencies: Dependencies
  context: ServerContext
  call: ToolCall
  question: Question
  questionText: string
  fingerprint: Fingerprint
  /** The address of the approval's hosted page, if the call decides on an approval and hosted pages are available. */
  page: string | undefined
}

/**
 * Asks the person before a call that needs their decision. Their answer counts only if the arguments and the facts from
 * the service are still the same. If not, the person is asked again. `wasDecided` returns whether an equal call was
 * already sent with the person's agreement. If so, the person is not asked again.
 */
export async function decide(
  dependencies: Dependencies,
  call: ToolCall,
  context: ServerContext,
  wasDecided: () => Promise<boolean>,
): Promise<Decision> {
  const { operation, input, idempotencyKey, held } = call
  const page = pageFor(dependencies, operation.name, input)
  const pageAnswer = page === undefined ? undefined : await afterPage(dependencies, page, input, context)
  if (pageAnswer !== undefined) return { isAllowed: false, answer: pageAnswer }
  const agreedBefore = held === undefined && mayAsk(dependencies, operation) && (await wasDecided())
  const question = agreedBefore ? undefined : await questionOf(dependencies, call, context)
  const questionText = question === undefined ? '' : [...question.facts, question.effect].join('\n')
  const fingerprint = fingerprintCall(operation.name, { ...input, idempotencyKey }, questionText)
  const key = held === undefined ? idempotencyKey : attemptKey(held)
  // The call proceeds if there is nothing to decide, or if the person agreed and was then asked to verify.
  const mayProceed = question === undefined || stateOf(context, fingerprint, 'verification') !== undefined
  const decided = agreedBefore || question !== undefined
  if (mayProceed || held?.call.fingerprint === fingerprint())
    return { isAllowed: true, fingerprint, idempotencyKey: key, decided, held }
  const pending = { dependencies, context, call, question, questionText, fingerprint, page }
  return (await decisionFromAnswer(pending)) ?? { isAllowed: false, answer: await ask(pending) }
}

/** Returns the decision from the person's answer; undefined if there is no answer yet. */
async function decisionFromAnswer(pending: PendingCall): Promise<Decision | undefined> {
  const { dependencies, context, fingerprint, call } = pending
  const pageQuestion = pageQuestionFor(pending)
  const onPage = pageQuestion && (await afterDecisionPage(pageQuestion))
  if (onPage !== undefined && 'answer' in onPage) return { isAllowed: false, answer: onPage.answer }
  if (onPage !== undefined) {
    return { isAllowed: true, fingerprint, idempotencyKey: attemptKey(onPage.held), decided: true, held: onPage.held }
  }
  const state = stateOf(context, fingerprint, 'decision')
  const { action, confirmed } = answerTo(context, 'decision')
  if (state === undefined || action === 'missing') return undefined
  const runNote = { state, operation: call.operation.name, remark: 'The person at the host answered the form.' }
  if (confirmed) {
    noteAnswer(dependencies, context, { ...runNote, outcome: 'agreed' })
    return { isAllowed: true, fingerprint, idempotencyKey: state.key, decided: true, held: undefined }
  }
  if (isNotShown(dependencies, state, { action, confirmed })) {
    return { isAllowed: false, answer: await sendToPage(notShown, pending) }
  }
  noteAnswer(dependencies, context, { ...runNote, outcome: 'disagreed' })
  return { isAllowed: false, answer: failedResult(declined) }
}

/**
 * Asks the person: on a page that the host opens, with a form in the host, or through a link from the model. Refuses
 * the call if none of these is possible.
 */
async function ask(pending: PendingCall): Promise<Answer> {
  const { dependencies, context, call, question, questionText, fingerprint, page } = pending
  const modes = modesOf(dependencies.server, context)
  const pageQuestion = pageQuestionFor(pending)
  if (modes.url && (pageQuestion !== undefined || !modes.form)) {
    if (page !== undefined) return offerPage(dependencies, page, call.input, context)
    if (pageQuestion !== undefined) return offerDecision(pageQuestion)
  }
  const { operation, hostArguments } = call
  const refuse = (where: string) =>
    refusedResult(dependencies, context, {
      operation: operation.name,
      arguments: hostArguments,
      error: cannotAsk(where),
    })
  if (!modes.form) return sendToPage(refuse, pending)
  const key = keyFor(dependencies, call)
  // If the host repeats the call without an answer, the same question is shown again, but it is recorded only once.
  if (stateOf(context, fingerprint, 'decision') === undefined) {
    noteQuestion(dependencies, context, { way: 'form', ...questionNote(pending) })
  }
  const state = { fingerprint: fingerprint(), step: 'decision', ...(key === undefined ? {} : { key }) } as const
  return inputRequired({
    inputRequests: { decision: decisionForm(questionText, question.approveLabel) },
    requestState: await seal(dependencies, state, context),
  })
}

/**
 * Gives the model a link to a page where the person decides. If there are no such pages, calls `otherwise` with the
 * place where the person can act.
 */
async function sendToPage(otherwise: (where: string) => CallToolResult, pending: PendingCall): Promise<CallToolResult> {
  const { dependencies, call, page } = pending
  const pageQuestion = pageQuestionFor(pending)
  if (pageQuestion !== undefined) return holdForPerson(pageQuestion, call.held !== undefined)
  return otherwise(page === undefined ? `in ${dashboardOf(dependencies)}` : `at ${page}`)
}

/** Returns the question for a page where the person decides; undefined if there are no such pages. */
function pageQuestionFor({ dependencies, context, call, ...asked }: PendingCall): PageQuestion | undefined {
  const { decisions } = dependencies.people
  if (decisions === undefined) return undefined
  const { name: tool } = call.operation
  const spends = questions[tool]?.amount !== undefined
  const key = keyFor(dependencies, call)
  const held = { tool, arguments: call.hostArguments, key, fingerprint: asked.fingerprint(), ...asked.question, spends }
  return { dependencies, decisions, context, call: held }
}

/** Returns the question as it is recorded in the run. */
function questionNote({ call: { operation, input }, question: { facts, effect } }: PendingCall) {
  const { name } = operation
  const amount = Number(input[questions[name]?.amount ?? ''])
  const amountCents = Number.isSafeInteger(amount) ? amount : undefined
  return { operation: name, facts: [...facts, effect], amountCents }
}

/**
 * Returns the idempotency key with which the call is sent after the person agrees; undefined if the operation requires
 * no key.
 */
function keyFor(dependencies: Dependencies, { operation, idempotencyKey }: ToolCall): string | undefined {
  return operation.idempotency === 'required' ? (idempotencyKey ?? newKey(dependencies)) : undefined
}

/**
 * Returns the idempotency key of the next attempt. If a second factor is missing, the API refuses the call and records
 * the refusal under the attempt's key. So each further attempt needs a new key.
 */
function attemptKey({ call: { key }, tries }: Held): string | undefined {
  return key === undefined || tries === 0 ? key : `${key}.${tries}`
}

function mayAsk({ people, choice }: Dependencies, { name }: OperationDefinition): boolean {
  return Object.hasOwn(questions, name) && asksPeople(people.confirm, choice.environment)
}

async function questionOf(
  dependencies: Dependencies,
  { operation, input }: ToolCall,
  context: ServerContext,
): Promise<Question | undefined> {
  const { people, api } = dependencies
  const rule = mayAsk(dependencies, operation) ? questions[operation.name] : undefined
  if (rule === undefined) return undefined
  // This throws if the input is invalid, so that nobody is asked about a call that the service would refuse.
  prepare(operation, input)
  if (rule.amount !== undefined && Number(input[rule.amount]) <= people.confirm.aboveCents) return undefined
  const { call } = await api.client()
  const question = await rule.ask(input, (read, arguments_, options) =>
    call(read, arguments_, { ...options, signal: context.mcpReq.signal }),
  )
  return question && { ...question, facts: question.facts.filter((fact) => fact !== undefined) }
}

function cannotAsk(where: string) {
  return {
    code: 'confirmation_unavailable',
    detail: 'A person has to decide this, and this host has no way to ask them (MCP elicitation). Nothing was done.',
    next: `Tell the person that they can do it ${where}, or use a host that supports elicitation. The operator of this server can set PAYMENTS_CONFIRM (--confirm) to choose when a person is asked. Nothing said in the conversation counts as their decision.`,
  }
}
