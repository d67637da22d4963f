import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server'
import { agentCards } from '../../../tools/agent-cards.ts'
import { ApiError } from '../../client/api-error.ts'
import type { CallResult } from '../../client/client.ts'
import type { OperationDefinition } from '../../core/operation.ts'
import { maskedCard } from '../answers/masked-card.ts'
import { success } from '../answers/results.ts'
import type { Dependencies } from '../dependencies.ts'
import { note, noteAnswer, noteQuestion } from '../run-notes.ts'
import { answerTo, dashboardOf, type Fingerprint, isNotShown, modesOf, openPage, stateOf } from './elicitation.ts'

interface CardRequest {
  result: CallResult<OperationDefinition>
  input: Record<string, unknown>
  /**
   * The fingerprint of the call. It shows whether the arguments are still the same when the host repeats the call with
   * the person's answer.
   */
  fingerprint: Fingerprint
}

/**
 * Answers `get_agent_card_details` without revealing the card number to the model, which gets only the last four
 * digits. The person gets a page that shows the number; the model never sees the page's address.
 */
export async function showMasked(
  dependencies: Dependencies,
  { result, input, fingerprint }: CardRequest,
  context: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
  const { server } = dependencies
  const { name: operation } = agentCards.getAgentCardDetails
  const sealedState = stateOf(context, fingerprint, 'card')
  if (sealedState !== undefined) {
    const answer = answerTo(context, 'card')
    const unseen = answer.action !== 'accept' && isNotShown(dependencies, sealedState, answer)
    if (!unseen && answer.action !== 'missing') {
      const outcome = answer.action === 'accept' ? 'agreed' : 'disagreed'
      noteAnswer(dependencies, context, {
        state: sealedState,
        operation,
        outcome,
        remark: 'The person at the host answered.',
      })
    }
    return masked(result, unseen ? `${unshown} ${inDashboard(dependencies)}` : outcomes[answer.action])
  }
  const url = modesOf(server, context).url ? await pageWithNumber(dependencies, input, context) : undefined
  if (url === undefined) {
    const remark = 'The model got the card without its number, and there was no way to show the number to the person.'
    note(dependencies, context, { kind: 'happened', outcome: 'happened', operation, remark })
    return masked(result, unavailableText(dependencies))
  }
  noteQuestion(dependencies, context, {
    way: 'page',
    operation,
    facts: ['See the card number on a page that can be opened only once.'],
  })
  const message = 'Open this page to see the card number. You can open it only once.'
  return openPage(dependencies, context, { message, url }, { fingerprint: fingerprint(), step: 'card' })
}

/**
 * Creates a page that shows the card number once. Returns the page's address; undefined if the API has no such pages.
 */
async function pageWithNumber(
  { api }: Dependencies,
  { cardId, customerPartyId }: Record<string, unknown>,
  { mcpReq: { signal } }: ServerContext,
): Promise<string | undefined> {
  const { call } = await api.client()
  const forCustomer = typeof customerPartyId === 'string' ? { customerPartyId } : {}
  try {
    const { data } = await call(
      agentCards.createAgentCardDetailsPage,
      { cardId: String(cardId), ...forCustomer },
      { signal },
    )
    return data.attributes.url
  } catch (error) {
    // The card exists, because it has just been read. So the error means that the API lacks this operation, which is an
    // extension.
    if (error instanceof ApiError && (error.code === 'not_found' || error.code === 'not_implemented')) return undefined
    throw error
  }
}

const unshown = 'The host did not show the question, or the person closed it without an answer.'

const outcomes = {
  accept: 'The person was shown the number. They pay the merchant with it themselves.',
  decline: 'The person did not want to see the number. Call again only if they ask for it.',
  cancel: unshown,
  missing: 'The host did not say whether the person saw the number. Call again if they ask for it.',
} as const

function unavailableText(dependencies: Dependencies): string {
  return `Only the person may see the number, and there is no way to show it to them here. ${inDashboard(dependencies)}`
}

function inDashboard(dependencies: Dependencies): string {
  return `They can find the card in ${dashboardOf(dependencies)}.`
}

function masked({ data, meta }: CardRequest['result'], next: string): CallToolResult {
  return success(agentCards.getAgentCardDetails, { data: maskedCard(data), meta }, { next })
}
