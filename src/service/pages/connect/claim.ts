import { sha256 } from '../../../core/system.ts'
import { type Dependencies, settled } from '../../request/change.ts'
import { findParty } from '../../store/parties.ts'
import { findClaimablePayment } from '../../store/payments.ts'
import type { PaymentRow } from '../../store/schema/payments.ts'

/** A payment to somebody without an account, as whoever has its link sees it. */
export interface Claim {
  /** Who sends it. */
  sender: string
  amountCents: number
  status: PaymentRow['status']
}

/** The payment whose `claimLink` has the token; undefined: there is none. */
export function openClaim(dependencies: Dependencies, token: string): Promise<Claim | undefined> {
  return settled(dependencies, async ({ tx }) => {
    const payment = await findClaimablePayment(tx, sha256(token))
    if (payment === undefined) return undefined
    const sender = (await findParty(tx, payment.partyId))?.displayName ?? ''
    return { sender, amountCents: payment.amountCents, status: payment.status }
  })
}
