import { fail } from '../../../core/errors.ts'
import { sha256 } from '../../../core/system.ts'
import { claimPayment, findClaimant } from '../../operations/steps/claim-payment.ts'
import { actOfUser, actOfVisitor, inOrder } from '../../request/activity.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import {
  type Changed,
  type Dependencies,
  type FindParty,
  runChange,
  runSettled,
  unchanged,
} from '../../request/settled-transaction.ts'
import { type Answerer, answererOf } from '../../request/simulated-party.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findParty } from '../../store/parties.ts'
import { findClaimablePayment } from '../../store/payments.ts'
import { isSignatureOf, rootKeys } from '../../store/root-keys.ts'
import type { PaymentRow } from '../../store/schema/payments.ts'
import type { UserRow } from '../../store/schema/users.ts'

/** A payment to someone who had no account when the payment was sent, as shown to anyone who has the link. */
export interface Claim {
  /** The name of the sender. */
  sender: string
  /** The email address or phone number that the payment was sent to. */
  claimant: string
  /**
   * Whether the visitor may claim the payment: like anybody, as a user of the recipient's account, or not at all. The
   * recipient may have created the account after the payment was sent.
   */
  answerer: Answerer
  amountCents: number
  description: string | null
  status: PaymentRow['status']
  /**
   * A token that the page's form sends back. It is valid only while the payment is unchanged, so a form takes effect
   * only once.
   */
  formToken: string
}

/**
 * The recipient's operations on a payment. A visitor needs only the token in the page's URL. If the recipient is
 * self-managed, the visitor must also be signed in as a user of the recipient's account
 * (docs/service.md#self-managed-parties).
 */
export interface Claims {
  /** Returns the payment whose `claimLink` contains the token; undefined if there is none. */
  open(token: string, user: UserRow | undefined): Promise<Claim | undefined>
  /**
   * Claims the money for the recipient. If the form is sent twice, by a double click or from two tabs, the second call
   * changes nothing and returns the same result.
   * @throws 403 `forbidden` if the form token is wrong or out of date, or if the visitor may not claim the money; 409
   * `conflict` if the recipient cannot be paid now.
   */
  take(token: string, formToken: string, user: UserRow | undefined): Promise<Claim | undefined>
}

export function createClaims(dependencies: Dependencies): Claims {
  return {
    open: (token, user) =>
      runSettled(
        dependencies,
        async ({ tx }) => {
          const payment = await paymentAt(tx, token)
          return payment && viewOf(tx, payment, user)
        },
        senderAt(token),
      ),
    take: (token, formToken, user) =>
      runChange(dependencies, (context) => take(context, token, { formToken, user }), senderAt(token)),
  }
}

function paymentAt(tx: Transaction, token: string): Promise<PaymentRow | undefined> {
  return findClaimablePayment(tx, sha256(token))
}

function senderAt(token: string): FindParty {
  return async (tx) => (await paymentAt(tx, token))?.partyId
}

async function take(
  context: ChangeContext,
  token: string,
  { formToken, user }: { formToken: string; user: UserRow | undefined },
): Promise<Changed<Claim | undefined>> {
  const { tx } = context
  const found = await paymentAt(tx, token)
  if (found === undefined) return unchanged(undefined)
  // While this code waits for the lock, another click may claim the payment, or the sender may cancel it. The payment
  // is therefore read again.
  await tx.lockParty(found.partyId)
  const payment = await paymentAt(tx, token)
  if (payment?.status !== 'PENDING_CLAIM') return unchanged(payment && (await viewOf(tx, payment, user)))
  if (!(await isSignatureOf(tx, formText(payment), formToken))) {
    fail('forbidden', { detail: 'The page is out of date. Open the payment again.' })
  }
  const answerer = await answererIn(tx, payment, user)
  if (answerer === 'nobody')
    fail('forbidden', { detail: 'Only a signed-in user of the recipient’s account can claim this payment.' })
  const after = await claimPayment(context, payment)
  const act = { operation: 'claim_payment', resourceIds: [after.id] }
  const acts = [actOfVisitor(after, act)]
  if (answerer === 'own user' && user !== undefined) acts.push(actOfUser(user, act))
  return { result: await viewOf(tx, after, user), acts: inOrder(acts) }
}

function formText({ id, version }: PaymentRow): string {
  return `claim form ${id} ${version}`
}

async function answererIn(tx: Transaction, payment: PaymentRow, user: UserRow | undefined): Promise<Answerer> {
  return answererOf(tx, (await findClaimant(tx, payment))?.id, user)
}

async function viewOf(tx: Transaction, payment: PaymentRow, user: UserRow | undefined): Promise<Claim> {
  const { partyId, claimant, amountCents, description, status } = payment
  return {
    sender: (await findParty(tx, partyId))?.displayName ?? '',
    claimant: claimant ?? '',
    answerer: await answererIn(tx, payment, user),
    amountCents,
    description,
    status,
    formToken: (await rootKeys(tx)).sign(formText(payment)),
  }
}
