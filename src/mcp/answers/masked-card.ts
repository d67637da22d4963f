import { AgentCardDetails } from '../../../tools/agent-cards.ts'
import type { OperationDefinition } from '../../core/operation.ts'

/** How the tool that reveals a card's number is described where it does not. */
export const maskedCardDetails = {
  title: 'Show a card to the person',
  description:
    "Shows a card's number to the person on a page that opens once, to pay its merchant. You get its last four digits and expiration.",
  output: AgentCardDetails.extend({ attributes: AgentCardDetails.shape.attributes.omit({ cvv: true }) }),
} as const satisfies Partial<OperationDefinition>

/** Returns the details of a card that a model may see where the number is for the person only. */
export function maskedCard(card: unknown) {
  const { type, id, attributes } = card as { type: string; id: string; attributes: Record<string, unknown> }
  const { number, expirationMonth, expirationYear } = attributes
  const lastFour = /\d{4}$/.exec(String(number))?.[0] ?? '????'
  // Named one by one: what else a deployed service may send stays here.
  return { type, id, attributes: { number: `•••• ${lastFour}`, expirationMonth, expirationYear } }
}
