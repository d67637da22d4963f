import type { Failure } from '../../../core/errors.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import { declineReason, frozenRefusal } from '../../rules/agent-cards.ts'
import type { PayableCard } from '../../store/agent-cards.ts'
import { enterPurchase, type Paid } from '../../store/purchases.ts'
import type { CardTransactionRow } from '../../store/schema/card-transactions.ts'
import { purchaseRefusal } from './check-spending-limits.ts'

/** A merchant's attempt to charge a card, and the agent and the run that make the purchase. */
type Attempt = Pick<CardTransactionRow, 'merchantName' | 'amountCents' | 'agentId' | 'instanceId'>

/** The result if no charge was attempted, because the card is frozen or the agent would exceed a limit. */
interface NotAttempted {
  notAttempted: 'card_frozen' | 'over_agent_limit'
  refusal: Failure
}

/**
 * Charges a card for a merchant, and records the approved or declined purchase (docs/service.md#card-declines). If the
 * card is frozen or the agent would exceed a limit, nothing is recorded (docs/service.md#frozen-cards).
 */
export async function authorizeCard(
  { tx, system, nowMs }: ChangeContext,
  { card, wallet, agent }: Omit<PayableCard, 'hasPermission'>,
  attempt: Attempt,
): Promise<Paid | NotAttempted> {
  const frozen = frozenRefusal(card, nowMs)
  if (frozen !== undefined) return { notAttempted: 'card_frozen', refusal: frozen }
  const { amountCents } = attempt
  // There is no decline code for a frozen wallet, so such a wallet counts as empty (docs/service.md#card-declines).
  const availableCents = wallet.status === 'active' ? wallet.availableCents : 0
  const declineCode = declineReason({ card, amountCents, availableCents, nowMs })
  if (declineCode === null) {
    const refusal = await purchaseRefusal(tx, { ...card, agent }, amountCents, nowMs)
    if (refusal !== undefined) return { notAttempted: 'over_agent_limit', refusal }
  }
  const purchase = await enterPurchase({ tx, system, atMs: nowMs }, { card, wallet }, { ...attempt, declineCode })
  return { purchase, wallet }
}
