import { maskSecrets } from '../../../core/errors.ts'
import { timestamp } from '../../../core/system.ts'
import { cardStatus } from '../../rules/agent-cards.ts'
import {
  type Counted,
  cardFigures,
  declinesOf,
  merchantFigures,
  type ReportApproval,
  type RunReport,
  totalsOf,
} from '../../rules/run-report.ts'
import type { RunDetail } from '../../rules/runs.ts'
import { actsAbout, actsOfRun } from '../../store/activity.ts'
import { cardsById } from '../../store/agent-cards.ts'
import { findAgent } from '../../store/agents.ts'
import { approvalsOf } from '../../store/approvals.ts'
import { transactionsOfCards } from '../../store/card-transactions.ts'
import type { Store, Transaction } from '../../store/engine/store.ts'
import { paymentsById } from '../../store/payments.ts'
import { runEntriesAfter } from '../../store/runs.ts'
import type { ActivityRow } from '../../store/schema/activity.ts'
import type { ApprovalRow } from '../../store/schema/approvals.ts'
import type { RunEntryRow, RunRow } from '../../store/schema/runs.ts'
import { subscriptionsById } from '../../store/subscriptions.ts'
import { findUser } from '../../store/users.ts'

/** How much of a run its report is made of at most. */
export interface Bounds {
  entries: number
  changes: number
}

/** A page is drawn at once whatever the run came to; a file may take longer. */
export const boundsOfPage: Bounds = { entries: 2000, changes: 2000 }
export const boundsOfFile: Bounds = { entries: 1_000_000, changes: 100_000 }

const batch = 500
/** A report is read: of what there is more of, the figures tell. */
const mostQuestions = 500

/** Makes the report of a run. It reads in small steps and writes nothing. */
export async function runReport(
  store: Pick<Store, 'read'>,
  run: RunRow,
  { bounds, nowMs }: { bounds: Bounds; nowMs: number },
): Promise<RunReport> {
  const told = await tally(store, run, bounds.entries)
  const acts = await changes(store, run, bounds.changes)
  const read = <T>(work: (tx: Transaction) => Promise<T>) => store.read(work)
  const { partyId } = run
  const named = (prefix: string) => [...acts.ids].filter((id) => id.startsWith(prefix)).sort()
  const issued = await read((tx) => cardsById(tx, partyId, named('pcd_')))
  const own = issued.filter(({ instanceId }) => instanceId === run.instanceId).sort(byId)
  const cards = own.map((card) => ({ ...card, status: cardStatus(card, nowMs) }))
  const purchases = await read((tx) =>
    transactionsOfCards(
      tx,
      partyId,
      cards.map(({ id }) => id),
    ),
  )
  const paid = await read((tx) => paymentsById(tx, partyId, [...named('pay_'), ...named('tfr_')]))
  const subscriptions = await read((tx) => subscriptionsById(tx, partyId, named('sub_')))
  const approvals = await read((tx) =>
    approvalsOf(
      tx,
      partyId,
      paid.map(({ id }) => id),
    ),
  )
  const { agentId } = run
  const agent = agentId === null ? undefined : await read((tx) => findAgent(tx, partyId, agentId))
  return {
    runId: run.id,
    partyId,
    instanceId: run.instanceId,
    agent: agent === undefined ? null : { id: agent.id, name: agent.name },
    host: run.host,
    from: timestamp(run.firstAtMs),
    to: timestamp(run.lastAtMs),
    calls: run.calls,
    refused: run.refused,
    evaluated: { entries: told.entries, changes: acts.rows, complete: told.complete && acts.complete },
    totals: totalsOf(cards, purchases),
    cards: cards.map((card) => cardFigures(card, purchases)),
    merchants: merchantFigures(purchases),
    declines: declinesOf(cards, purchases),
    payments: paid.sort(byId).map(({ id, kind, status, amountCents, description }) => ({
      ...{ id, kind, status, amountCents },
      description: description === null ? null : maskSecrets(description),
    })),
    subscriptions: subscriptions.sort(byId).map(({ id, status }) => ({ id, status })),
    approvals: await Promise.all(approvals.sort(byId).map((one) => decided(store, one))),
    questions: told.questions,
    repeats: told.repeats.counts(),
    faults: told.faults.counts(),
    refusals: told.refusals.counts(),
    wallets: told.wallets(),
    postings: told.postings,
    chain: chainOf(acts.first, acts.last),
  }
}

const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1)

/** What a run changed: ids only, as the activity has them. */
async function changes(store: Pick<Store, 'read'>, run: RunRow, most: number) {
  const ids = new Set<string>()
  let first: ActivityRow | undefined
  let last: ActivityRow | undefined
  let [rows, after] = [0, 0]
  for (;;) {
    const [behind, limit] = [after, Math.min(batch, most - rows)]
    const found: ActivityRow[] = await store.read((tx) => actsOfRun(tx, run, behind, limit))
    for (const row of found) for (const id of JSON.parse(row.resourceIds) as string[]) ids.add(id)
    first ??= found[0]
    last = found.at(-1) ?? last
    after = last?.sequence ?? 0
    rows += found.length
    if (found.length < batch || rows >= most) break
  }
  return { ids, rows, complete: rows < most, first, last }
}

/** The party's chain from the first that the run changed to the last, with what happened in other runs between. */
function chainOf(first: ActivityRow | undefined, last: ActivityRow | undefined): RunReport['chain'] {
  if (first === undefined || last === undefined) return { rows: 0, first: null, last: null }
  const place = ({ sequence, hash }: ActivityRow) => ({ sequence, hash })
  return { rows: last.sequence - first.sequence + 1, first: place(first), last: place(last) }
}

class Tally {
  readonly #counts = new Map<string, Counted>()

  add(what: string, operation: string): void {
    const name = `${what} ${operation}`
    const known = this.#counts.get(name)
    if (known === undefined) this.#counts.set(name, { what, operation, count: 1 })
    else known.count++
  }

  counts(): Counted[] {
    return [...this.#counts.values()].sort((one, other) => other.count - one.count || (one.what < other.what ? -1 : 1))
  }
}

/** What the entries of a run come to. */
async function tally(store: Pick<Store, 'read'>, run: RunRow, most: number) {
  const told = {
    entries: 0,
    complete: true,
    repeats: new Tally(),
    faults: new Tally(),
    refusals: new Tally(),
    questions: [] as RunReport['questions'],
    postings: { count: 0, sumCents: 0, unbalanced: 0 },
  }
  const wallets = new Map<string, RunReport['wallets'][number]>()
  let afterId = ''
  for (;;) {
    const limit = Math.min(batch, most - told.entries)
    const scope = { partyId: run.partyId, runId: run.id }
    const found = await store.read((tx) => runEntriesAfter(tx, scope, { afterId, limit }))
    for (const entry of found) take(entry, told, wallets)
    told.entries += found.length
    afterId = found.at(-1)?.id ?? afterId
    if (found.length < batch) break
    if (told.entries >= most) {
      told.complete = false
      break
    }
  }
  return { ...told, wallets: () => [...wallets.values()].sort(byId) }
}

interface Told {
  repeats: Tally
  faults: Tally
  refusals: Tally
  questions: RunReport['questions']
  postings: RunReport['postings']
}

function take(entry: RunEntryRow, told: Told, wallets: Map<string, RunReport['wallets'][number]>): void {
  const { operation, outcome, kind, code, fault } = entry
  if (outcome === 'repeated' || outcome === 'replayed') told.repeats.add(outcome, operation)
  if (fault !== null) told.faults.add(fault, operation)
  if (code !== null) told.refusals.add(code, operation)
  const detail = JSON.parse(entry.detail) as RunDetail
  if ((kind === 'question' || kind === 'decision') && told.questions.length < mostQuestions) {
    const { facts = [], remark = null } = detail
    told.questions.push({ at: timestamp(entry.atMs), operation, outcome, facts, remark })
  }
  if (outcome === 'repeated' || outcome === 'replayed') return
  for (const { entries } of detail.postings ?? []) {
    const sum = entries.reduce((total, { amountCents }) => total + amountCents, 0)
    told.postings.count++
    told.postings.sumCents += sum
    if (sum !== 0) told.postings.unbalanced++
    for (const { account, walletId, amountCents } of entries) {
      if (walletId === null) continue
      const wallet = wallets.get(walletId) ?? { id: walletId, availableCents: 0, heldCents: 0 }
      if (account === 'held') wallet.heldCents += amountCents
      else wallet.availableCents += amountCents
      wallets.set(walletId, wallet)
    }
  }
}

/** Who decided, as the activity of the approval tells it. */
async function decided(store: Pick<Store, 'read'>, approval: ApprovalRow): Promise<ReportApproval> {
  const { id, partyId, paymentId, status, resolvedAtMs } = approval
  const acts = resolvedAtMs === null ? [] : await store.read((tx) => actsAbout(tx, partyId, id, 50))
  const act = acts.findLast((one) => one.status < 300 && /approv|den|decid/.test(one.operation))
  const userId = act?.userId ?? null
  const user = userId === null ? undefined : await store.read((tx) => findUser(tx, userId))
  return {
    ...{ id, paymentId, status },
    decidedBy: user?.name ?? userId ?? act?.keyId ?? null,
    by: act === undefined ? null : act.keyId === act.userId ? 'page' : 'api',
    decidedAt: resolvedAtMs === null ? null : timestamp(resolvedAtMs),
  }
}
