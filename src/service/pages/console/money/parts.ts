import type { SignedIn } from '../../../oauth/sign-in.ts'
import { approvalWords } from '../../frame/approval-words.ts'
import { decisionWords } from '../../frame/decision-words.ts'
import type { Html } from '../../frame/document.ts'
import { versionOf } from '../console-page.ts'
import type { Drawn, Viewer } from '../live/streams.ts'
import { withoutCards } from '../without-cards.ts'
import type {
  CardAttributes,
  PaymentAttributes,
  PurchaseAttributes,
  RequestAttributes,
  TransferAttributes,
} from './lists-view.ts'
import type { MoneyReads } from './read-money.ts'
import type { SubscriptionAttributes, SubscriptionPaymentAttributes } from './subscriptions-view.ts'
import { listsPart, type PendingDecisions, walletsPart } from './view.ts'
import { type ListName, type ListPage, partAddress } from './words.ts'

const rowsAtOnce = '20'
/**
 * The number of subscriptions to show. It is small, because the payments of each subscription are read with a separate
 * request.
 */
const subscriptionsAtOnce = '6'

export async function walletsOf(reads: MoneyReads, { user }: Pick<Viewer, 'user'>) {
  return { nowMs: await reads.now(), ...(await reads.wallets(user)) }
}

export async function listsOf(reads: MoneyReads, { user }: Pick<Viewer, 'user'>, { list, cursor }: ListPage) {
  const query = (name: ListName, filter: Record<string, string> = {}) => ({
    query: { limit: rowsAtOnce, ...filter, ...(list === name && cursor !== undefined ? { cursor } : {}) },
  })
  const subscriptions = await reads.list<SubscriptionAttributes>(user, 'listSubscriptions', {
    query: { limit: subscriptionsAtOnce },
  })
  const cards = await reads.list<CardAttributes>(user, 'listAgentCards', query('cards'))
  const purchases = await reads.list<PurchaseAttributes>(user, 'listCardTransactions', query('purchases'))
  const payments = await reads.list<PaymentAttributes>(user, 'listPayments', query('payments'))
  const transfers = await reads.list<TransferAttributes>(user, 'listTransfers', query('transfers'))
  const ended = { includeCompleted: 'true', includeCanceled: 'true' }
  const requests = await reads.list<RequestAttributes>(user, 'listPaymentRequests', query('requests', ended))
  const incomingRequests = await reads.list<RequestAttributes>(user, 'listIncomingPaymentRequests', query('asked'))
  const agents = [cards, purchases, payments, transfers, requests].flatMap(({ rows }) =>
    rows.flatMap((row) => row.attributes.agentId ?? []),
  )
  return {
    cards,
    purchases,
    payments,
    transfers,
    requests,
    incomingRequests,
    owner: {
      partyId: user.partyId,
      payments: await reads.paymentNames(user, payments.rows),
      agents: await reads.ownAgents(user, [...new Set(agents)]),
    },
    subscriptions: await Promise.all(
      subscriptions.rows.map(async (subscription) => {
        const params = { subscriptionId: subscription.id }
        const { rows } = await reads.list<SubscriptionPaymentAttributes>(user, 'listSubscriptionPayments', { params })
        return { subscription, payments: rows }
      }),
    ),
    hasMoreSubscriptions: subscriptions.next !== null,
  }
}

/** Returns the user's pending approvals and decisions, each with a form token for the user's session. */
export async function waitingOf(
  reads: MoneyReads,
  { user, formToken, isProven: mayAgree }: SignedIn,
): Promise<PendingDecisions> {
  const [approvals, decisions] = [await reads.approvals(user), await reads.decisions(user)]
  return {
    approvals: approvals.map((review) => ({
      id: review.id,
      words: withoutCards(approvalWords(review)),
      token: formToken(`approval ${review.id}`),
    })),
    decisions: decisions.map((decision) => ({
      id: decision.id,
      words: withoutCards(decisionWords(decision)),
      token: formToken(`decision ${decision.id}`),
    })),
    mayAgree,
  }
}

/**
 * Redraws the parts of the money page after a change. The part with the pending decisions has forms that differ for
 * each session, so only the version of this part is sent. Each page that has a different version then requests the part
 * itself.
 */
export async function drawMoney(reads: MoneyReads, viewer: Viewer): Promise<readonly Drawn[]> {
  const text = async (part: Html) => String(await part)
  const waiting = await waitingOf(reads, { ...viewer, formToken: () => '' })
  return [
    { source: partAddress('wallets'), html: await text(walletsPart(await walletsOf(reads, viewer))) },
    { source: partAddress('lists'), html: await text(listsPart(await listsOf(reads, viewer, {}))) },
    { source: partAddress('waiting'), version: versionOf(waiting) },
  ]
}
