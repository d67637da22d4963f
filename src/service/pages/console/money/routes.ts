import type { Context, Hono } from 'hono'
import type { SignedIn } from '../../../oauth/sign-in.ts'
import { accountOf, notYoursPage } from '../../frame/account.ts'
import type { Show } from '../../frame/answers.ts'
import { approvalWords } from '../../frame/approval-words.ts'
import { decisionWords } from '../../frame/decision-words.ts'
import type { Html } from '../../frame/document.ts'
import { consoleHeaders } from '../../frame/headers.ts'
import { consolePage } from '../console-page.ts'
import { type ConsoleDependencies, showAt } from '../shown.ts'
import type { CardTold, PaymentTold, PurchaseTold } from './lists-view.ts'
import { createMoneyReads, type MoneyReads } from './read-money.ts'
import type { SubscriptionPaymentTold, SubscriptionTold } from './subscriptions-view.ts'
import { listsPart, moneyMain, type WaitingShown, waitingPart, walletMain, walletsPart } from './view.ts'
import { walletName } from './words.ts'

interface MoneyPages extends ConsoleDependencies {
  reads: MoneyReads
}

const rowsAtOnce = '20'
/** Each of them is asked for its payments, too. */
const subscriptionsAtOnce = '6'

/** The money of a party: wallets, cards, purchases, payments, subscriptions, and what waits for a person. */
export function mountMoney(app: Hono, dependencies: ConsoleDependencies): void {
  const pages: MoneyPages = { ...dependencies, reads: createMoneyReads(dependencies) }
  showAt(app, '/console/money', dependencies, (c, _, signedIn) => showMoney(c, pages, signedIn))
  showAt(app, '/console/money/wallets/:walletId', dependencies, (c, _, signedIn) => showWallet(c, pages, signedIn))
}

const showMoney: Show<MoneyPages> = async (c, pages, signedIn) => {
  const { reads } = pages
  const part = c.req.query('part')
  if (part === 'waiting') return c.html(waitingPart(await waitingFor(pages, signedIn)), 200, consoleHeaders)
  if (part === 'lists') return c.html(listsPart(await listsOf(c, pages, signedIn)), 200, consoleHeaders)
  const shown = { nowMs: await reads.now(), ...(await reads.wallets(signedIn)) }
  if (part === 'wallets') return c.html(walletsPart(shown), 200, consoleHeaders)
  const shownPage = Object.fromEntries(['list', 'cursor'].flatMap((name) => pairOf(name, c.req.query(name))))
  const lists = `/console/money?${new URLSearchParams({ part: 'lists', ...shownPage })}`
  const all = { ...shown, lists, ...(await listsOf(c, pages, signedIn)) }
  return page(c, pages, signedIn, 'Money', moneyMain(all, await waitingFor(pages, signedIn)))
}

const pairOf = (name: string, value: string | undefined): [string, string][] =>
  value === undefined ? [] : [[name, value]]

async function listsOf(c: Context, { reads }: MoneyPages, signedIn: SignedIn) {
  const [of, cursor] = [c.req.query('list'), c.req.query('cursor')]
  const query = (name: string): { query: Record<string, string> } => ({
    query: { limit: rowsAtOnce, ...(of === name && cursor !== undefined ? { cursor } : {}) },
  })
  const subscriptions = await reads.list<SubscriptionTold>(signedIn, 'listSubscriptions', {
    query: { limit: subscriptionsAtOnce },
  })
  const cards = await reads.list<CardTold>(signedIn, 'listAgentCards', query('cards'))
  const purchases = await reads.list<PurchaseTold>(signedIn, 'listCardTransactions', query('purchases'))
  const payments = await reads.list<PaymentTold>(signedIn, 'listPayments', query('payments'))
  const agents = [cards, purchases, payments].flatMap(({ rows }) => rows.flatMap((row) => row.attributes.agentId ?? []))
  return {
    ...{ cards, purchases, payments },
    whose: { partyId: signedIn.user.partyId, own: await reads.ownAgents(signedIn, [...new Set(agents)]) },
    subscriptions: await Promise.all(
      subscriptions.rows.map(async (told) => {
        const params = { subscriptionId: told.id }
        const { rows } = await reads.list<SubscriptionPaymentTold>(signedIn, 'listSubscriptionPayments', { params })
        return { told, payments: rows }
      }),
    ),
    hasMoreSubscriptions: subscriptions.next !== null,
  }
}

async function waitingFor({ reads }: MoneyPages, signedIn: SignedIn): Promise<WaitingShown> {
  const { formToken, isProven: mayAgree } = signedIn
  const [approvals, decisions] = [await reads.approvals(signedIn), await reads.decisions(signedIn)]
  return {
    approvals: approvals.map((review) => ({
      id: review.id,
      words: approvalWords(review),
      token: formToken(`approval ${review.id}`),
    })),
    decisions: decisions.map((decision) => ({
      id: decision.id,
      words: decisionWords(decision),
      token: formToken(`decision ${decision.id}`),
    })),
    mayAgree,
  }
}

const showWallet: Show<MoneyPages> = async (c, pages, signedIn) => {
  const { reads } = pages
  const wallet = await reads.wallet(signedIn, c.req.param('walletId') ?? '', c.req.query('before') ?? null)
  if (wallet === undefined) {
    return c.html(notYoursPage('There is no such wallet of yours.', signedIn, c.req.path), 404, consoleHeaders)
  }
  const main = walletMain(wallet, { partyId: signedIn.user.partyId, nowMs: await reads.now() })
  return page(c, pages, signedIn, walletName(wallet.displayName), main)
}

const styles = ['/styles/console-sandbox.css', '/styles/console-money.css'] as const

function page(c: Context, { environment }: MoneyPages, signedIn: SignedIn, title: string, main: Html) {
  const framed = consolePage({ title, tab: 'money', account: accountOf(signedIn), environment, main, styles })
  return c.html(framed, 200, consoleHeaders)
}
