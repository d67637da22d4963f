import { fail } from '../../../core/errors.ts'
import { timestamp } from '../../../core/system.ts'
import { declineRequest, payRequestByCard } from '../../operations/steps/pay-request.ts'
import { hashOfRequestToken } from '../../operations/steps/show-request.ts'
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
import { asOf, type PaymentRequestStatus } from '../../rules/payment-requests.ts'
import { type CardDecline, type CardTries, takesCards, tryCard } from '../../rules/request-cards.ts'
import { sandboxCard } from '../../rules/test-cards.ts'
import { findApprovalOf } from '../../store/approvals.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findParty } from '../../store/parties.ts'
import { findPaymentRequestByToken, saveCardTries } from '../../store/payment-requests.ts'
import { findPaymentOfAnyParty } from '../../store/payments.ts'
import { isSignatureOf, looksLikeSignature, rootKeys } from '../../store/root-keys.ts'
import type { PaymentRequestRow } from '../../store/schema/payment-requests.ts'
import type { UserRow } from '../../store/schema/users.ts'
import { listWallets } from '../../store/wallets.ts'

/** A payment request, as shown to anyone who has its link. Amounts are in cents. */
export interface ShownRequest {
  id: string
  status: PaymentRequestStatus
  /** The name of the party that requests the money. */
  requester: string
  /** The payer's name; if the name is unknown, the address to which the request was sent. */
  payer: string
  amountCents: number
  description: string | null
  expiresAtMs: number
  /** Whether the visitor may pay or decline as a user of the payer's party, as anybody with the link, or not at all. */
  answerer: Answerer
  /** Whether the payer has no account yet. If so, paying creates an account. */
  isNewPayer: boolean
  /** Whether the payer may still try a card. */
  takesCards: boolean
  /** The reason why the last card was declined; null if no card was declined. */
  lastDecline: CardDecline | null
  /** Whether the payment for this request is waiting for approval. */
  inReview: boolean
  /** A token that the form sends back. It is valid only while the request is unchanged. */
  formToken: string
  viewer: Viewer | null
}

/** The signed-in user who opened the page. */
export interface Viewer {
  relation: 'payer' | 'requester' | 'other'
  /** The wallets that the user can pay from; empty unless the user belongs to the payer's party. */
  wallets: { id: string; name: string | null; availableCents: number }[]
  /**
   * The id of the payment's pending approval; null if there is none, or if the user does not belong to the payer's
   * party.
   */
  approvalId: string | null
}

/** The card as the payer typed it. It is checked and never stored. */
export interface CardEntry {
  number: string
  expiry: string
  cvv: string
}

/**
 * The result of a submitted form. `declined` means that the payer declined the request, or that the card was declined.
 * `stale` means that nothing was done, because the request has changed since the page was shown.
 */
export type Outcome = 'paid' | 'declined' | 'stale'

/**
 * The operations of a payment request's page. A visitor needs only the secret token in the page's URL. But if the
 * payer's party is self-managed (`isSelfManaged`), only its signed-in users may pay or decline.
 */
export interface PaymentRequestPages {
  /** Returns the request with this token in its `paymentLinkUrl`; undefined if there is no such request. */
  open(token: string, user: UserRow | undefined): Promise<ShownRequest | undefined>
  /**
   * Pays a request by card.
   * @throws 403 if the form is not from this page, or if only users of the payer's party may pay and the visitor is not
   * one of them; 409 if the request cannot be paid by card; 422 for an invalid card field; 429 during the pause after
   * too many declined cards.
   */
  payByCard(token: string, formToken: string, paying: Paying): Promise<Outcome | undefined>
  /**
   * Declines the request for a payer that is not self-managed.
   * @throws 403 if the form is not from this page, or if the payer is self-managed; 409 if the request is not open.
   */
  decline(token: string, formToken: string): Promise<Outcome | undefined>
}

export function createPaymentRequestPages(dependencies: Dependencies): PaymentRequestPages {
  return {
    open: (token, user) =>
      runSettled(
        dependencies,
        async (context) => {
          const request = await findRequest(context.tx, token)
          return request && viewOf(context, asOf(request, context.nowMs), user)
        },
        requesterFinder(token),
      ),
    payByCard: (token, formToken, { card, user }) =>
      runChange(
        dependencies,
        (context) => applyForm(context, { token, formToken }, (request) => payAs(context, request, { card, user })),
        requesterFinder(token),
      ),
    decline: (token, formToken) =>
      runChange(
        dependencies,
        (context) =>
          applyForm(context, { token, formToken }, async (request) => {
            await requireAnswerer(context, request, undefined)
            await declineRequest(context, request)
            return { result: 'declined', acts: [actOfVisitor(request, { operation: 'decline_payment_request' })] }
          }),
        requesterFinder(token),
      ),
  }
}

async function findRequest(tx: Transaction, token: string): Promise<PaymentRequestRow | undefined> {
  return looksLikeSignature(token) ? findPaymentRequestByToken(tx, hashOfRequestToken(token)) : undefined
}

function requesterFinder(token: string): FindParty {
  return async (tx) => (await findRequest(tx, token))?.partyId
}

/**
 * Applies a form if the request is unchanged since the page was shown. The lock on the requester's party makes the
 * second submission of a double click wait for the first.
 */
async function applyForm(
  { tx }: ChangeContext,
  { token, formToken }: { token: string; formToken: string },
  work: (request: PaymentRequestRow) => Promise<Changed<Outcome>>,
): Promise<Changed<Outcome | undefined>> {
  const found = await findRequest(tx, token)
  if (found === undefined) return unchanged(undefined)
  await tx.lockParty(found.partyId)
  const request = await findRequest(tx, token)
  const [version = '', signature = ''] = formToken.split('.')
  const requestVersion = { id: found.id, version: Number(version) }
  if (!(await isSignatureOf(tx, formText(requestVersion), signature))) {
    fail('forbidden', { detail: 'This form was not sent from this page.' })
  }
  return request?.version === requestVersion.version ? work(request) : unchanged('stale')
}

interface Paying {
  card: CardEntry
  user: UserRow | undefined
}

/**
 * Pays the request by card. If the visitor is a user of the payer's party, that party's activity also records the
 * payment, as an act of the user.
 */
async function payAs(
  context: ChangeContext,
  request: PaymentRequestRow,
  { card, user }: Paying,
): Promise<Changed<Outcome>> {
  const answerer = await requireAnswerer(context, request, user)
  const paid = await pay(context, request, card)
  if (answerer !== 'own user' || user === undefined) return paid
  const userActs = paid.acts.map(({ operation, resourceIds, status }) =>
    actOfUser(user, { operation, resourceIds, status }),
  )
  return { ...paid, acts: inOrder([...paid.acts, ...userActs]) }
}

/**
 * Returns whether the visitor answers as a user of the payer's party or as anybody with the link.
 * @throws 403 `forbidden` if only users of the payer's party may answer and the visitor is not one of them.
 */
async function requireAnswerer(
  { tx }: ChangeContext,
  { payerPartyId }: PaymentRequestRow,
  user: UserRow | undefined,
): Promise<Answerer> {
  const answerer = await answererOf(tx, payerPartyId, user)
  if (answerer !== 'nobody') return answerer
  return fail('forbidden', { detail: 'Only a signed-in user of the payer’s account can answer.' })
}

async function pay(context: ChangeContext, request: PaymentRequestRow, entry: CardEntry): Promise<Changed<Outcome>> {
  const { tx, nowMs } = context
  const card = sandboxCard(entry, timestamp(nowMs))
  const declined = tryCard(triesOf(request), card, nowMs)
  const operation = 'pay_payment_request'
  if (declined !== null) {
    await saveCardTries(tx, request, declined)
    return { result: 'declined', acts: [actOfVisitor(request, { operation, status: 402 })] }
  }
  const payment = await payRequestByCard(context, request)
  return {
    result: 'paid',
    acts: [actOfVisitor(request, { operation, resourceIds: [request.id, payment.id] })],
  }
}

function triesOf({ cardTries }: PaymentRequestRow): CardTries | null {
  return cardTries === null ? null : (JSON.parse(cardTries) as CardTries)
}

function formText({ id, version }: { id: string; version: number }): string {
  return `payment request form ${id} ${version}`
}

async function viewOf(
  { tx }: ChangeContext,
  request: PaymentRequestRow,
  user: UserRow | undefined,
): Promise<ShownRequest> {
  const { id, version, status, amountCents, description, expiresAtMs, payerPartyId, paymentId } = request
  const payer = payerPartyId === null ? undefined : await findParty(tx, payerPartyId)
  const payment = paymentId === null ? undefined : await findPaymentOfAnyParty(tx, paymentId)
  const tries = triesOf(request)
  return {
    id,
    status,
    requester: (await findParty(tx, request.partyId))?.displayName ?? '',
    payer: request.payerName ?? payer?.displayName ?? request.payerValue,
    amountCents,
    description,
    expiresAtMs,
    answerer: await answererOf(tx, payerPartyId, user),
    isNewPayer: payerPartyId === null,
    takesCards: takesCards(tries),
    lastDecline: tries?.last ?? null,
    inReview: payment?.status === 'IN_REVIEW',
    formToken: `${version}.${(await rootKeys(tx)).sign(formText({ id, version }))}`,
    viewer: user === undefined ? null : await viewerOf(tx, request, user),
  }
}

/** The maximum number of wallets that the page offers. More would be hard to compare. */
const maxWallets = 50

async function viewerOf(tx: Transaction, request: PaymentRequestRow, user: UserRow): Promise<Viewer> {
  const { partyId, payerPartyId, paymentId } = request
  if (user.partyId !== payerPartyId) {
    return { relation: user.partyId === partyId ? 'requester' : 'other', wallets: [], approvalId: null }
  }
  const { rows } = await listWallets(tx, payerPartyId, { limit: maxWallets, beforeId: null })
  const active = rows.filter(({ status }) => status === 'active').sort((a, b) => b.isDefault - a.isDefault)
  const approval = paymentId === null ? undefined : await findApprovalOf(tx, { id: paymentId, partyId: payerPartyId })
  return {
    relation: 'payer',
    wallets: active.map(({ id, displayName: name, availableCents }) => ({ id, name, availableCents })),
    approvalId: approval?.status === 'pending' ? approval.id : null,
  }
}
