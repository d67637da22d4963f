import { html } from 'hono/html'
import { approvalPagePath } from '../../../../../tools/approvals.ts'
import { decisionPath } from '../../../../core/held-call.ts'
import { timestamp } from '../../../../core/system.ts'
import { table } from '../../../../display/table.ts'
import { runIdOf } from '../../../request/run-log.ts'
import { approvalFacts } from '../../frame/approval-facts.ts'
import type { ApprovalWords } from '../../frame/approval-words.ts'
import { decisionButtons, decisionFacts } from '../../frame/decision-facts.ts'
import type { DecisionWords } from '../../frame/decision-words.ts'
import type { Html } from '../../frame/document.ts'
import { idLink, namedIdLink } from '../../frame/ids.ts'
import { askForProof } from '../../frame/proof.ts'
import { dollars, shortMomentOf } from '../../frame/texts.ts'
import { livePart, versionOf } from '../console-page.ts'
import { reasonText } from '../ledger-words.ts'
import { kindWords } from '../sandbox/words.ts'
import {
  type CardAttributes,
  cardsSection,
  incomingRequestsSection,
  type ListOwner,
  type PaymentAttributes,
  type PurchaseAttributes,
  paymentsSection,
  purchasesSection,
  type RequestAttributes,
  requestsSection,
  type TransferAttributes,
  transfersSection,
} from './lists-view.ts'
import { balancePlot, balanceTable } from './plot.ts'
import {
  maxPlotted,
  type ResourceList,
  type WalletDetails,
  type WalletOverview,
  type WalletSummary,
} from './read-money.ts'
import { type SubscriptionWithPayments, subscriptionsSection } from './subscriptions-view.ts'
import { partAddress, walletName } from './words.ts'

export interface PendingDecisions {
  approvals: readonly { id: string; words: ApprovalWords; token: string }[]
  decisions: readonly { id: string; words: DecisionWords; token: string }[]
  /** Whether this session is permitted to approve. If it is not, the user can only refuse. */
  mayAgree: boolean
}

export interface MoneyPageData extends WalletOverview {
  nowMs: number
  hasMoreSubscriptions: boolean
  owner: ListOwner
  /**
   * The address of the live part with the lists. If one of the lists shows a page other than its first, the address
   * contains the name of that list and the cursor of that page.
   */
  lists: string
  cards: ResourceList<CardAttributes>
  purchases: ResourceList<PurchaseAttributes>
  payments: ResourceList<PaymentAttributes>
  transfers: ResourceList<TransferAttributes>
  requests: ResourceList<RequestAttributes>
  incomingRequests: ResourceList<RequestAttributes>
  subscriptions: readonly SubscriptionWithPayments[]
}

/** Renders the money page: the pending decisions, the wallets, and the lists. */
export function moneyMain(state: MoneyPageData, waiting: PendingDecisions): Html {
  return html`<h1>Money</h1>
${livePart('money', partAddress('waiting'), waitingPart(waiting), versionOf(waiting))}
${livePart('money', partAddress('wallets'), walletsPart(state))}
${livePart('money', state.lists, listsPart(state))}`
}

function failedSection(failed: WalletOverview['failed']): Html | '' {
  if (failed.length === 0) return ''
  const item = ({ kind, recordId, attempts, retryAtMs }: (typeof failed)[number]) =>
    html`<li id="failed-${kind}-${recordId}">${kindWords[kind]}: ${idLink(recordId)}<br><span class="aside">failed ${attempts === 1 ? 'once' : `${attempts} times`}, next attempt ${shortMomentOf(retryAtMs)}</span></li>`
  return html`<section aria-labelledby="failed"><h2 id="failed">Failed events</h2>
<p>These scheduled events are overdue because they failed. They will be retried. Run <code>payments-mcp doctor</code> to see why they failed.</p>
<ul class="list">${failed.map(item)}</ul></section>`
}

/** Renders the live part with the failed events and the wallets. */
export function walletsPart({ wallets, nowMs, hasMore, failed }: WalletOverview & Pick<MoneyPageData, 'nowMs'>): Html {
  return html`${failedSection(failed)}<section aria-labelledby="wallets"><h2 id="wallets">Wallets</h2><ul class="tiles">${wallets.map(
    (
      wallet,
    ) => html`<li id="${wallet.id}"><h3><a href="/console/money/wallets/${wallet.id}" id="link-${wallet.id}"><bdi>${walletName(wallet.displayName)}</bdi></a>${wallet.isDefault === 1 ? ' (default)' : ''}${wallet.status === 'active' ? '' : html` <span class="state bad">${wallet.status}</span>`}</h3>
${balances(wallet)}${balancePlot({ ...wallet, name: walletName(wallet.displayName) }, nowMs)}</li>`,
  )}</ul>${hasMore ? html`<p class="aside">Showing the newest ${wallets.length}. The tool list_wallets returns all.</p>` : ''}</section>`
}

function balances({ availableCents, heldCents }: Pick<WalletSummary, 'availableCents' | 'heldCents'>): Html {
  return html`<dl class="figures"><div><dt>Available</dt><dd><strong>${dollars(availableCents)}</strong></dd></div>
<div><dt>Held</dt><dd>${dollars(heldCents)}</dd></div><div><dt>Total</dt><dd>${dollars(availableCents + heldCents)}</dd></div></dl>`
}

/** Renders the live part with the lists. */
export function listsPart({
  owner,
  cards,
  purchases,
  payments,
  transfers,
  requests,
  incomingRequests,
  subscriptions,
  hasMoreSubscriptions,
}: Omit<MoneyPageData, keyof WalletOverview | 'nowMs' | 'lists'>): Html {
  return html`${incomingRequestsSection(incomingRequests)}
${cardsSection(cards, owner)}
${purchasesSection(purchases, owner)}
${paymentsSection(payments, owner)}
${requestsSection(requests, owner)}
${transfersSection(transfers, owner)}
${subscriptionsSection(subscriptions, hasMoreSubscriptions)}`
}

/**
 * Renders the pending decisions. The forms are sent to the pages of the approvals and decisions, which check the user's
 * permissions.
 */
export function waitingPart({ approvals, decisions, mayAgree }: PendingDecisions): Html {
  if (approvals.length === 0 && decisions.length === 0) return html``
  return html`<section aria-labelledby="waiting"><h2 id="waiting">Pending decisions</h2><ul class="list">
${mayAgree ? '' : html`<li id="proof" class="note stack">${askForProof('agree', '/console/money')}</li>`}
${decisions.map(
  ({ id, words, token }) => html`<li id="${id}" class="note stack">${decisionFacts(words)}
<form method="post" action="${decisionPath(id)}"><input type="hidden" name="formToken" value="${token}">
${mayAgree ? decisionButtons(words.yes) : html`<div class="choices"><button type="submit" name="decision" value="no" class="danger">No</button></div>`}</form></li>`,
)}
${approvals.map(
  ({
    id,
    words,
    token,
  }) => html`<li id="${id}" class="note stack">${approvalFacts(words)}${words.check === null ? '' : html`<p class="aside">${words.check}</p>`}
<form method="post" action="${approvalPagePath(id)}"><input type="hidden" name="formToken" value="${token}">
<div class="choices">${mayAgree ? html`<button type="submit" name="decision" value="approve">Approve</button>` : ''}<button type="submit" name="decision" value="deny" class="danger">Deny</button><a href="${approvalPagePath(id)}">Deny with a reason</a></div></form></li>`,
)}</ul><p><a href="/decisions">All pending decisions</a></p></section>`
}

/** Renders a wallet's own page. */
export function walletMain(content: Html, name: string, source: string): Html {
  return html`<p class="aside"><a href="/console/money">Money</a></p>
<h1><bdi>${name}</bdi></h1>
${livePart('money', source, content)}`
}

/** Renders the live part of a wallet's own page: balance, plot and transactions. */
export function walletPart(wallet: WalletDetails, { partyId, nowMs }: { partyId: string; nowMs: number }): Html {
  const { id, displayName, steps, isCut, entries, next } = wallet
  const name = walletName(displayName)
  return html`<section aria-label="Balance">${balances(wallet)}${balancePlot({ ...wallet, name }, nowMs)}
${isCut && steps.length > 0 ? html`<p class="aside">Based on the newest ${maxPlotted} ledger entries. Older entries are not shown.</p>` : ''}
${steps.length === 0 ? '' : balanceTable(steps)}</section>
<section aria-labelledby="movements"><h2 id="movements">Transactions</h2>
${
  entries.length === 0
    ? html`<p class="aside">${next === null ? 'No transactions yet.' : 'No transactions among the newest ledger entries.'}</p>`
    : movementsTable(entries, partyId)
}
${next === null ? '' : html`<p><a href="/console/money/wallets/${id}?before=${next}">Older transactions</a></p>`}</section>`
}

const movementsTable = (entries: WalletDetails['entries'], partyId: string) =>
  table<WalletDetails['entries'][number]>(
    'Transactions, newest first',
    [
      { name: 'Type', cell: ({ reason }) => reasonText(reason) },
      { name: 'Account', cell: ({ account }) => account },
      { name: 'Amount', isNumber: true, cell: ({ amountCents }) => dollars(amountCents) },
      {
        name: 'When',
        cell: ({ createdAtMs }) =>
          html`<time datetime="${timestamp(createdAtMs)}">${shortMomentOf(createdAtMs)}</time>`,
      },
      { name: 'For', cell: ({ sourceId, name }) => (sourceId === null ? '–' : namedIdLink(sourceId, name)) },
      {
        name: 'Run',
        cell: ({ instanceId, sourceId }) =>
          instanceId === undefined
            ? '–'
            : html`<a href="/console/runs/${runIdOf(partyId, instanceId)}">View run<span class="unseen">: ${sourceId}</span></a>`,
      },
    ],
    entries,
    ({ id }) => id,
  )
