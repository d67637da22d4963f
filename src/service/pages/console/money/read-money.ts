import type { OperationKey } from '../../../../../tools/index.ts'
import { Failure } from '../../../../core/errors.ts'
import { type ApprovalReview, createApprovalReviews } from '../../../operations/steps/review-approval.ts'
import { readAsUser } from '../../../request/in-process.ts'
import { namesOfAgents } from '../../../store/agents.ts'
import { cardTransactionsById } from '../../../store/card-transactions.ts'
import { readTimes } from '../../../store/clock.ts'
import type { Transaction } from '../../../store/engine/store.ts'
import { listFailedEffects } from '../../../store/failed-effects.ts'
import { entriesOfParty, walletEntries } from '../../../store/ledger.ts'
import { paymentsById } from '../../../store/payments.ts'
import { type DecisionRecord, openDecision, waitingDecisions } from '../../../store/pending-decisions.ts'
import type { FailedEffectRow } from '../../../store/schema/failed-effects.ts'
import type { LedgerEntryRow } from '../../../store/schema/ledger.ts'
import type { UserRow } from '../../../store/schema/users.ts'
import type { WalletRow } from '../../../store/schema/wallets.ts'
import { findWallet, listWallets } from '../../../store/wallets.ts'
import type { ConsoleDependencies } from '../serve-page.ts'
import { parsedWithoutCards, withoutCards } from '../without-cards.ts'
import { type Step, stepsOf } from './plot.ts'

/** A resource in an API response. */
export interface Resource<Attributes> {
  id: string
  attributes: Attributes
  relationships: Record<string, { data: { id: string } | null } | undefined>
}

/** One page of a list from the API. It is empty if the user is not permitted to read the list. */
export interface ResourceList<Attributes> {
  rows: readonly Resource<Attributes>[]
  /** The cursor of the next page; null on the last page. */
  next: string | null
}

export interface WalletSummary extends Pick<WalletRow, 'id' | 'displayName' | 'status' | 'isDefault'> {
  availableCents: number
  heldCents: number
  steps: readonly Step[]
  /** Whether the wallet may have older entries that the plot does not cover. */
  isCut: boolean
}

export interface WalletOverview {
  wallets: WalletSummary[]
  /** Whether the party has more wallets than `wallets` contains. */
  hasMore: boolean
  /** The party's due effects that failed and will be tried again. */
  failed: readonly FailedEffectRow[]
}

export interface WalletDetails extends WalletSummary {
  entries: readonly (LedgerEntryRow & { instanceId: string | null | undefined; name: string | null })[]
  next: string | null
}

/** The maximum number of ledger entries in the plot on a wallet's own page. */
export const maxPlotted = 1000
/** The maximum number of ledger entries in all plots of the money page taken together. */
const maxOverviewEntries = 2000
const maxWallets = 20
const maxWaiting = 20
const entriesAtOnce = 50

/** Creates the functions that read the data of the money pages. */
export function createMoneyReads(dependencies: ConsoleDependencies) {
  const { store } = dependencies
  const approvals = createApprovalReviews(dependencies)
  return {
    now: () => store.read(async (tx) => (await readTimes(tx)).nowMs),
    wallets: ({ partyId }: UserRow): Promise<WalletOverview> =>
      store.read(async (tx) => {
        const { rows, lastId } = await listWallets(tx, partyId, { limit: maxWallets, beforeId: null })
        const entries = await entriesOfParty(tx, partyId, maxOverviewEntries)
        const entriesByWallet = Map.groupBy(entries, ({ walletId }) => walletId)
        const isCut = entries.length === maxOverviewEntries
        const wallets = rows.map((wallet) => walletSummary(wallet, entriesByWallet.get(wallet.id) ?? [], isCut))
        const failed = await listFailedEffects(tx, partyId, maxWaiting)
        return { wallets, hasMore: lastId !== null, failed }
      }),
    /**
     * Returns the names of the agents in `ids` that belong to the party, by agent id. The console shows neither the
     * names nor the runs of other parties' agents.
     */
    ownAgents: async ({ partyId }: UserRow, ids: readonly string[]): Promise<ReadonlyMap<string, string>> =>
      new Map(withoutCards([...(await store.read((tx) => namesOfAgents(tx, partyId, ids)))])),
    wallet: ({ partyId }: UserRow, id: string, before: string | null): Promise<WalletDetails | undefined> =>
      store.read(async (tx) => {
        const wallet = await findWallet(tx, partyId, id)
        if (wallet === undefined) return undefined
        const key = { partyId, walletId: id }
        const plotted = await walletEntries(tx, key, { limit: maxPlotted, beforeId: null })
        const { rows, lastId } = await walletEntries(tx, key, { limit: entriesAtOnce, beforeId: before })
        const ids = [...new Set(rows.flatMap(({ sourceId }) => sourceId ?? []))]
        const causes = await sourcesOf(tx, partyId, ids)
        const agentNames = await namesOfAgents(tx, partyId, [
          ...new Set(causes.flatMap(({ agentId }) => agentId ?? [])),
        ])
        const ownCauses = causes.filter(({ agentId }) => agentId === null || agentNames.has(agentId))
        const runs = new Map(ownCauses.map(({ id: recordId, instanceId }) => [recordId, instanceId]))
        const entries = rows.map((row) => ({
          ...row,
          instanceId: row.sourceId === null ? undefined : runs.get(row.sourceId),
          name: withoutCards(causes.find(({ id: recordId }) => recordId === row.sourceId)?.name ?? null),
        }))
        return { ...walletSummary(wallet, plotted.rows, plotted.lastId !== null), entries, next: lastId }
      }),
    /** Returns the description or payee of each of the party's own payments in `payments`, by payment id. */
    paymentNames: async ({ partyId }: UserRow, payments: readonly { id: string }[]) => {
      const ids = payments.map(({ id }) => id)
      const named = await store.read((tx) => sourcesOf(tx, partyId, ids))
      return new Map(withoutCards(named.map(({ id, name }) => [id, name] as const)))
    },
    list: <Attributes>(user: UserRow, key: OperationKey, input: ListInput = {}) =>
      readList<Attributes>(dependencies, user, key, input),
    approvals: (user: UserRow): Promise<ApprovalReview[]> => approvals.waiting(user, maxWaiting),
    decisions: ({ partyId }: UserRow): Promise<DecisionRecord[]> =>
      store.read(async (tx) => {
        const { realNowMs: nowMs } = await readTimes(tx)
        const rows = await waitingDecisions(tx, { partyId, nowMs, limit: maxWaiting })
        return Promise.all(rows.map((row) => openDecision(tx, row)))
      }),
  }
}

export type MoneyReads = ReturnType<typeof createMoneyReads>

/**
 * Returns the party's card transactions and payments with the given ids. `name` is the merchant of a card transaction,
 * and the description or payee of a payment.
 */
async function sourcesOf(tx: Transaction, partyId: string, ids: readonly string[]) {
  const purchases = await cardTransactionsById(tx, partyId, ids)
  const payments = await paymentsById(tx, partyId, ids)
  return [
    ...purchases.map((row) => ({ ...row, name: row.merchantName })),
    ...payments.map((row) => ({ ...row, name: row.description ?? row.claimant })),
  ]
}

function walletSummary(wallet: WalletRow, entries: readonly LedgerEntryRow[], isCut: boolean): WalletSummary {
  const { id, displayName, status, isDefault, availableCents, heldCents } = wallet
  const steps = stepsOf({ availableCents, heldCents }, entries)
  return { id, displayName: withoutCards(displayName), status, isDefault, availableCents, heldCents, steps, isCut }
}

interface ListInput {
  params?: Record<string, string>
  query?: Record<string, string>
}

/** Reads one page of a list through the API with the user's permissions. */
async function readList<Attributes>(
  dependencies: ConsoleDependencies,
  user: UserRow,
  key: OperationKey,
  { params = {}, query = {} }: ListInput,
): Promise<ResourceList<Attributes>> {
  const { cursor, ...rest } = query
  const { status, body } = await readAsUser(dependencies, user, key, { params, query })
  // The cursor may be invalid or out of date, so the list is read again from its first page.
  if (status === 400 && cursor !== undefined) return readList(dependencies, user, key, { params, query: rest })
  if (status === 403) return { rows: [], next: null }
  if (status !== 200) throw new Failure('service_unavailable', { detail: `A list could not be read: ${body}` })
  const { data, meta } = parsedWithoutCards(body) as {
    data: Resource<Attributes>[]
    meta?: { pagination?: { nextCursor: string | null } }
  }
  return { rows: data, next: meta?.pagination?.nextCursor ?? null }
}
