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
  /** Identifies the call, which must come back unchanged. */
  fingerprint: Fingerprint
}

/**
 * Answers a call for card details that are masked. The model gets the last four digits. The person gets a page with the
 * number, at an address that the model never sees.
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
    const remark = 'The model got the card without its number, and nothing could show the number to the person.'
    note(dependencies, context, { kind: 'happened', outcome: 'happened', operation, remark })
    return masked(result, unavailableText(dependencies))
  }
  noteQuestion(dependencies, context, {
    way: 'page',
    operation,
    facts: ['See the number of the card on a page that opens once.'],
  })
  const message = 'Open this page to see the number of the card. It opens once.'
  return openPage(dependencies, context, { message, url }, { fingerprint: fingerprint(), step: 'card' })
}

/** Returns the address of a page that shows the number once; undefined if the API does not create such pages. */
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
    // The card existed a moment ago, so the error means that the API lacks this operation, which is an extension.
    if (error instanceof ApiError && (error.code === 'not_found' || error.code === 'not_implemented')) return undefined
    throw error
  }
}

const unshown = 'The host did not show the question to the person, or they closed it unanswered.'

const outcomes = {
  accept: 'The person was shown the number. They pay the merchant with it.',
  decline: 'The person did not want to see the number. Call again only if they ask for it.',
  cancel: unshown,
  missing: 'The host did not say whether the person saw the number. Call again if they ask for it.',
} as const

function unavailableText(dependencies: Dependencies): string {
  return `The number is for the person only, and nothing here can show it to them. ${inDashboard(dependencies)}`
}

function inDashboard(dependencies: Dependencies): string {
  return `They can find the card in ${dashboardOf(dependencies)}.`
}

function masked({ data, meta }: CardRequest['result'], next: string): CallToolResult {
  return success(agentCards.getAgentCardDetails, { data: maskedCard(data), meta }, { next })
}
