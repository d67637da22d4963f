import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import type { HeldCall } from '../../core/held-call.ts'
import { timestamp } from '../../core/system.ts'
import { failedResult } from '../answers/results.ts'
import type { Decisions, Dependencies, Held, PendingPage } from '../dependencies.ts'
import { hostOf } from '../host.ts'
import { noteAnswer, noteQuestion, refusedResult } from '../run-notes.ts'
import { answerTo, askNoMore, isNotShown, maxRounds, openPage, pageWaitMs, stateOf } from './elicitation.ts'

/** The longest time that one call waits for a decision. Hosts give up on a request after a minute without progress. */
const longestWaitMs = 50_000
const progressEveryMs = 10_000

/** A question that a person answers on a page, with the call that depends on the answer. */
export interface PageQuestion {
  dependencies: Dependencies
  decisions: Decisions
  context: ServerContext
  /** The call to store. Its host and run are added when it is stored. */
  call: Omit<HeldCall, 'host' | 'instanceId'>
}

/** Stores the call until a person decides, and gives the model a link to show to the person. */
export async function holdForPerson(question: PageQuestion, hasChanged = false): Promise<CallToolResult> {
  const { answer, page } = await storeCall(question, 'person')
  if (page === undefined) return answer
  const { id, url, endsAtMs } = page
  const detail = hasChanged
    ? 'The effect of the call has changed since the person was asked, so they are asked again, on a page. Nothing was done.'
    : 'A person has to decide this, on a page. Nothing has been done yet.'
  return failedResult({
    code: 'confirmation_pending',
    detail,
    next: linkAdvice(question.call.tool, page, question.decisions.isLocal),
    decision: id,
    url,
    ends: timestamp(endsAtMs),
  })
}

/** Stores the call. Records the question in the run, unless the same call was already pending. */
async function storeCall(
  { dependencies, decisions, context, call }: PageQuestion,
  by: 'host' | 'person',
): Promise<{ page: PendingPage; answer?: undefined } | { page?: undefined; answer: CallToolResult }> {
  const { server, run } = dependencies
  const { tool: operation, arguments: hostArguments, facts, effect } = call
  const page = await decisions.keep({ ...call, host: hostOf(server, context)?.name, instanceId: run.id() }, by)
  if ('refused' in page) {
    const error = { ...unavailable, next: page.refused }
    return { answer: refusedResult(dependencies, context, { operation, arguments: hostArguments, error }) }
  }
  const way = by === 'host' ? 'page' : 'link'
  if (page.isNew) noteQuestion(dependencies, context, { way, operation, facts: [...facts, effect] })
  return { page }
}

const unavailable = {
  code: 'confirmation_unavailable',
  detail: 'A person has to decide this, and there is no way to ask them here. Nothing was done.',
}

function linkAdvice(tool: string, { id, url, endsAtMs }: PendingPage, isLocal: boolean): string {
  const ends = timestamp(endsAtMs)
  const advice = isLocal
    ? `A window was opened in the person's browser on this machine: tell them to decide there by ${ends}. ${url} only shows the question`
    : `Show the person this link: ${url} (it expires at ${ends}). Only they can decide there`
  return `${advice}; do not open it yourself. Then ${callWith(tool, id)}.`
}

function callWith(tool: string, id: string): string {
  return `call ${tool} again with the same arguments and decision ${JSON.stringify(id)}: it waits up to ${longestWaitMs / 1000} s for their decision, then carries out exactly this call, once`
}

/** Waits until the person decides, but at most `longestWaitMs`. Reports progress to the host in the meantime. */
export async function awaitDecision(
  { decisions, log }: Pick<PageQuestion, 'decisions'> & Pick<Dependencies, 'log'>,
  { id, ...before }: Held,
  context: ServerContext,
): Promise<Held> {
  const { signal, _meta } = context.mcpReq
  let held: Held = { id, ...before }
  for (let waitedMs = 0; held.state === 'pending' && waitedMs < longestWaitMs; waitedMs += progressEveryMs) {
    await decisions.wait(id, progressEveryMs, signal)
    held = (await decisions.find(id)) ?? { ...held, state: 'ended' }
    const progressToken = _meta?.progressToken
    if (progressToken === undefined || held.state !== 'pending') continue
    // Progress numbers must increase. When the call is sent, its first attempt reports 1, so this number stays below 1.
    const progress = (waitedMs + progressEveryMs) / (2 * longestWaitMs)
    context.mcpReq
      .notify({
        method: 'notifications/progress',
        params: { progressToken, progress, message: 'waiting for the person to decide' },
      })
      .catch((error: unknown) => log.warn({ err: error }, 'progress not delivered'))
  }
  return held
}

/** Returns the answer for a call that the person has not approved. */
export function notDecided({ id, state, call }: Held): CallToolResult {
  if (state === 'no') return failedResult(declined)
  if (state === 'pending') {
    const detail = 'The person has not decided yet. Nothing was done.'
    const next = `Ask them to decide on the page that you showed them; then ${callWith(call.tool, id)}. If you call it without decision, they are asked twice.`
    return failedResult({ code: 'confirmation_pending', detail, next, decision: id })
  }
  return failedResult({
    code: 'confirmation_ended',
    detail: 'The person did not decide in time, or the sandbox was reset in the meantime. Nothing was done.',
    next: 'Tell the person. If they still want it, call again without decision; they are then asked again.',
  })
}

export const declined = {
  code: 'confirmation_declined',
  detail: 'The person did not agree. Nothing was done.',
  next: askNoMore,
}

/** Stores the call, and asks the host to open the page where the person decides. */
export async function offerDecision(question: PageQuestion, round = 1): Promise<CallToolResult | InputRequiredResult> {
  const { answer, page } = await storeCall(question, 'host')
  if (page === undefined) return answer
  const { dependencies, context, call } = question
  const message = `${round === 1 ? 'Your decision is needed' : 'Your decision is still needed'}. Open the page to see the details and to decide.`
  const state = { fingerprint: call.fingerprint, step: 'decisionPage', round, decision: page.id } as const
  return openPage(dependencies, context, { message, url: page.address }, state)
}

/**
 * Returns the stored call if the person approved it on the page that the host was asked to open; otherwise the answer
 * for the host. Returns undefined if the host was not asked to open a page, or if the decision is not found.
 */
export async function afterDecisionPage(
  question: PageQuestion,
): Promise<{ held: Held } | { answer: CallToolResult | InputRequiredResult } | undefined> {
  const { dependencies, decisions, context, call } = question
  const state = stateOf(context, () => call.fingerprint, 'decisionPage')
  if (state?.decision === undefined) return undefined
  const answer = answerTo(context, 'decisionPage')
  if (answer.action !== 'accept') {
    if (isNotShown(dependencies, state, answer)) return { answer: await holdForPerson(question) }
    const runNote = { state, operation: call.tool, remark: 'The person at the host did not open the page.' }
    noteAnswer(dependencies, context, { ...runNote, outcome: 'disagreed' })
    return { answer: failedResult(declined) }
  }
  await decisions.wait(state.decision, pageWaitMs, context.mcpReq.signal)
  const held = await decisions.find(state.decision)
  if (held?.state === 'yes') return { held }
  if (held?.state !== 'pending') return held && { answer: notDecided(held) }
  const { round = maxRounds } = state
  return { answer: await (round < maxRounds ? offerDecision(question, round + 1) : holdForPerson(question)) }
}
