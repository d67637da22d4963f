import { AgentCardDetails } from '../../../tools/agent-cards.ts'
import type { OperationDefinition } from '../../core/operation.ts'

/** The definition of the card-details tool for connections on which only the person may see card numbers. */
export const maskedCardDetails = {
  title: 'Show a card to the person',
  description:
    "Shows the person a card's number on a one-time page, to pay its merchant. You see only the last four digits and expiration.",
  output: AgentCardDetails.extend({ attributes: AgentCardDetails.shape.attributes.omit({ cvv: true }) }),
} as const satisfies Partial<OperationDefinition>

/** Returns the card details that the model gets if only the person may see the number. */
export function maskedCard(card: unknown) {
  const { type, id, attributes } = card as { type: string; id: string; attributes: Record<string, unknown> }
  const { number, expirationMonth, expirationYear } = attributes
  const lastFour = /\d{4}$/.exec(String(number))?.[0] ?? '????'
  // Copies only these fields, because a deployed service may send others that the model must not see.
  return { type, id, attributes: { number: `•••• ${lastFour}`, expirationMonth, expirationYear } }
}
