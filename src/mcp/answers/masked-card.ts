import { AgentCardDetails } from '../../../tools/agent-cards.ts'
import type { OperationDefinition } from '../../core/operation.ts'

/** The description of the card-details tool when it does not reveal the number. */
export const maskedCardDetails = {
  title: 'Show a card to the person',
  description:
    "Shows the person a card's number, on a page that opens once, to pay its merchant. You see only its last four digits and expiration.",
  output: AgentCardDetails.extend({ attributes: AgentCardDetails.shape.attributes.omit({ cvv: true }) }),
} as const satisfies Partial<OperationDefinition>

/** Returns the card details for the model if only the person may see the number. */
export function maskedCard(card: unknown) {
  const { type, id, attributes } = card as { type: string; id: string; attributes: Record<string, unknown> }
  const { number, expirationMonth, expirationYear } = attributes
  const lastFour = /\d{4}$/.exec(String(number))?.[0] ?? '????'
  // Fields are picked one by one, so that extra fields of a deployed service do not get through.
  return { type, id, attributes: { number: `•••• ${lastFour}`, expirationMonth, expirationYear } }
}
