import { cardTransitions } from './agent-cards.ts'
import { approvalTransitions } from './approvals.ts'
import { bankTransitions } from './bank-transfers.ts'
import { purchaseTransitions } from './card-purchases.ts'
import { paymentTransitions } from './payments.ts'
import { shopMoves } from './shop-orders.ts'
import { hasEnded } from './subscriptions.ts'
import type { Transitions } from './transitions.ts'

/** Returns a function that checks whether a status is final: no transition leads to a different status. */
function isFinalIn(machine: Transitions<string, string>) {
  return (status: string) => Object.values(machine[status] ?? {}).every((after) => after === status)
}

/** Returns whether the money has arrived. Callers do not wait for a return by the bank, which may come much later. */
const isMoved = (status: string) => status === 'COMPLETED'

/** For each type of resource that a caller can wait for, a function that returns whether a status is final. */
const finals: Readonly<Record<string, (status: string) => boolean>> = {
  payment: (status) => isMoved(status) || (isFinalIn(paymentTransitions)(status) && isFinalIn(bankTransitions)(status)),
  transfer: (status) => isMoved(status) || isFinalIn(bankTransitions)(status),
  approval: isFinalIn(approvalTransitions),
  cardTransaction: isFinalIn(purchaseTransitions),
  agentCard: isFinalIn(cardTransitions),
  subscription: hasEnded,
  // COMPLETED counts as final here too, although a bank may still return the payment.
  paymentRequest: (status) => status !== 'OPEN' && status !== 'PROCESSING',
  // A shipped order counts as final, because only a return by the buyer could still change it.
  shopOrder: isFinalIn(shopMoves),
}

/** Returns whether the resource's status is final, so that a caller has nothing more to wait for. */
export function isFinal({ type, attributes }: { type: string; attributes: { status: string } }): boolean {
  const final = finals[type]
  if (final === undefined) throw new Error(`Bug: the final states of a ${type} are not declared.`)
  return final(attributes.status)
}
