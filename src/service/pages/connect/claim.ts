import { fail } from '../../../core/errors.ts'
import { sha256 } from '../../../core/system.ts'
import { claimPayment } from '../../operations/steps/claim-payment.ts'
import { actOfVisitor } from '../../request/activity.ts'
import { type Changed, change, type Dependencies, settled, unchanged, type Whose } from '../../request/change.ts'
import type { ChangeContext } from '../../request/due.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findParty } from '../../store/parties.ts'
import { findClaimablePayment } from '../../store/payments.ts'
import { rootKeys } from '../../store/root-keys.ts'
import type { PaymentRow } from '../../store/schema/payments.ts'

/** A payment to somebody without an account, as whoever has its link sees it. */
export interface Claim {
  /** Who sends it. */
  sender: string
  /** The address that it was sent to. */
  claimant: string
  amountCents: number
  description: string | null
  status: PaymentRow['status']
  /** The page's form sends it back. It fits this payment in this state only, so the form counts once. */
  formToken: string
}

/** Opens a payment for its recipient, who has the token in its address instead of a credential. */
export interface Claims {
  /** The payment whose `claimLink` has the token; undefined: there is none. */
  open(token: string): Promise<Claim | undefined>
  /**
   * Takes the money as the recipient. The first click of a double click or of two tabs counts; the others see what it did.
   * @throws 403 `forbidden` when the form was not the page's.
   */
  take(token: string, formToken: string): Promise<Claim | undefined>
}

export function createClaims(dependencies: Dependencies): Claims {
  return {
    open: (token) =>
      settled(
        dependencies,
        async ({ tx }) => {
          const payment = await paymentAt(tx, token)
          return payment && viewOf(tx, payment)
        },
        senderAt(token),
      ),
    take: (token, formToken) => change(dependencies, (context) => take(context, token, formToken), senderAt(token)),
  }
}

function paymentAt(tx: Transaction, token: string): Promise<PaymentRow | undefined> {
  return findClaimablePayment(tx, sha256(token))
}

function senderAt(token: string): Whose {
  return async (tx) => (await paymentAt(tx, token))?.partyId
}

async function take(context: ChangeContext, token: string, formToken: string): Promise<Changed<Claim | undefined>> {
  const { tx } = context
  const found = await paymentAt(tx, token)
  if (found === undefined) return unchanged(undefined)
  // The second of two clicks waits here, and a payment that was taken back meanwhile is gone.
  await tx.lockParty(found.partyId)
  const payment = await paymentAt(tx, token)
  if (payment?.status !== 'PENDING_CLAIM') return unchanged(payment && (await viewOf(tx, payment)))
  if (!(await rootKeys(tx)).verify(formText(payment), formToken)) {
    fail('forbidden', { detail: 'The page is out of date. Open the payment again.' })
  }
  const after = await claimPayment(context, payment)
  const act = actOfVisitor(after, { operation: 'claim_payment' })
  return { result: await viewOf(tx, after), acts: [act] }
}

function formText({ id, version }: PaymentRow): string {
  return `claim form ${id} ${version}`
}

async function viewOf(tx: Transaction, payment: PaymentRow): Promise<Claim> {
  const { partyId, claimant, amountCents, description, status } = payment
  return {
    sender: (await findParty(tx, partyId))?.displayName ?? '',
    claimant: claimant ?? '',
    amountCents,
    description,
    status,
    formToken: (await rootKeys(tx)).sign(formText(payment)),
  }
}
