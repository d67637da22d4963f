import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { approvalPagePath, approvals } from '../../../tools/approvals.ts'
import { failedResult, success } from '../answers/results.ts'
import type { Dependencies } from '../dependencies.ts'
import { announceChanges } from '../resources/announce-changes.ts'
import { noteQuestion } from '../run-notes.ts'
import {
  answerTo,
  askNoMore,
  type Fingerprint,
  fingerprintCall,
  isNotShown,
  maxRounds,
  notShown,
  openPage,
  stateOf,
  waitsMs,
} from './elicitation.ts'

/**
 * Returns the address of the hosted page where a person decides on an approval. Returns undefined for any tool but
 * `approve_approval`, and if there are no hosted pages.
 */
export function pageFor(
  { people: { publicUrl, decisions } }: Dependencies,
  tool: string,
  input: Record<string, unknown>,
): string | undefined {
  if (publicUrl === undefined || decisions?.isLocal || tool !== approvals.approveApproval.name) return undefined
  return publicUrl + approvalPagePath(encodeURIComponent(String(input.approvalId)))
}

/** Asks the host to open the page for the person. */
export async function offerPage(
  dependencies: Dependencies,
  url: string,
  input: Record<string, unknown>,
  context: ServerContext,
  round = 1,
): Promise<InputRequiredResult> {
  const message =
    round === 1
      ? 'A payment is waiting for your decision. Open the page to see it and decide.'
      : 'The payment is still waiting for your decision. Open the page to see it and decide.'
  if (round === 1) {
    const { name: operation } = approvals.approveApproval
    noteQuestion(dependencies, context, { way: 'page', operation, facts: [`Decide on ${String(input.approvalId)}.`] })
  }
  return openPage(dependencies, context, { message, url }, { fingerprint: fingerprintOf(input)(), step: 'page', round })
}

/**
 * Waits for the decision on the page and returns the call's result; undefined if the host was not asked to open the
 * page.
 */
export async function afterPage(
  dependencies: Dependencies,
  url: string,
  input: Record<string, unknown>,
  context: ServerContext,
): Promise<CallToolResult | InputRequiredResult | undefined> {
  const state = stateOf(context, fingerprintOf(input), 'page')
  if (state === undefined) return undefined
  const answer = answerTo(context, 'page')
  if (answer.action !== 'accept') {
    return isNotShown(dependencies, state, answer) ? notShown(`at ${url}`) : failedResult(notOpened)
  }
  const { signal } = context.mcpReq
  const { call } = await dependencies.api.client()
  for (const waitMs of waitsMs) {
    await dependencies.system.sleep(waitMs, signal)
    const result = await call(approvals.getApproval, { approvalId: String(input.approvalId) }, { signal })
    if (result.data.attributes.status === 'pending') continue
    announceChanges(dependencies, input, result)
    return success(approvals.getApproval, result)
  }
  const { round = maxRounds } = state
  if (round < maxRounds) return await offerPage(dependencies, url, input, context, round + 1)
  return failedResult(undecided)
}

/**
 * Returns the fingerprint of a call. It covers the arguments, but no facts: the page itself shows the facts when the
 * person decides.
 */
function fingerprintOf(input: Record<string, unknown>): Fingerprint {
  return fingerprintCall(approvals.approveApproval.name, input, 'on a page')
}

const notOpened = {
  code: 'confirmation_declined',
  detail: 'The person did not open the page. Nothing was done.',
  next: askNoMore,
}

const undecided = {
  code: 'confirmation_pending',
  detail: 'The person has not decided on the page yet. This call did nothing.',
  next: 'When they say that they have decided, read the approval with get_approval.',
}
