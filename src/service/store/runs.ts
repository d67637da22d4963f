import { entryIdFrom, type RunDetail, type RunOutcome } from '../rules/runs.ts'
import { readTimes } from './clock.ts'
import { deletingOldest } from './engine/deletions.ts'
import { finderOf } from './engine/find.ts'
import { insertingSeveral } from './engine/insert.ts'
import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { prepared, writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { addToMinutes, isFailed, type RunScope, totalsOf } from './run-minutes.ts'
import type { RunEntryRow, RunRow } from './schema/runs.ts'

/** An entry with the values that are stored only in its run. */
export interface NotedEntry {
  row: Omit<RunEntryRow, 'recordedAtMs'>
  instanceId: string | null
  host: string | null
  /** The money that it took from the party's available balance. */
  spentCents: number
  /** The sandbox's epoch in which the entry's event happened; undefined for the current epoch. */
  epoch?: number | undefined
}

/**
 * Inserts recorded entries and updates their runs in the order of the runs' ids, so that two such transactions do not
 * deadlock. Entries from before a reset of the sandbox are skipped. Returns the entries that it inserted.
 */
export async function insertRunEntries(tx: Transaction, noted: readonly NotedEntry[]): Promise<readonly NotedEntry[]> {
  // Runs alone, so that no request waits for the rows of runs that this transaction locks.
  tx.runAlone()
  const { realNowMs: recordedAtMs, epoch } = await readTimes(tx)
  const current = noted
    .filter((entry) => entry.epoch === undefined || entry.epoch === epoch)
    .sort(({ row: a }, { row: b }) => (a.id < b.id ? -1 : 1))
  const entries = await withRepeated(tx, current)
  await insertEntries(
    tx,
    entries.map(({ row }) => ({ ...row, recordedAtMs })),
  )
  const byRun = Map.groupBy(entries, ({ row }) => `${row.partyId} ${row.runId}`)
  for (const [, of] of [...byRun].sort(([a], [b]) => (a < b ? -1 : 1))) await addToRun(tx, of, recordedAtMs)
  return entries
}

/** Links the entries of replayed or repeated calls to the entry of the original call. */
async function withRepeated(tx: Transaction, noted: readonly NotedEntry[]): Promise<NotedEntry[]> {
  const originals = new Map<string, string>()
  const entries: NotedEntry[] = []
  for (const entry of noted) {
    const { partyId, keyHash, outcome, supportId } = entry.row
    const name = `${partyId} ${keyHash}`
    const isRepeat = outcome === 'replayed' || outcome === 'repeated'
    if (keyHash === null || !isRepeat) {
      if (keyHash !== null && supportId !== null) originals.set(name, supportId)
      entries.push(entry)
      continue
    }
    const original = originals.get(name) ?? (await originalOf(tx, entry.row)).rows[0]?.supportId ?? undefined
    const detail: RunDetail = JSON.parse(entry.row.detail)
    const repeats = original === undefined ? {} : { repeats: original }
    entries.push({ ...entry, row: { ...entry.row, detail: JSON.stringify({ ...detail, ...repeats }) } })
  }
  return entries
}

/** The maximum number of a run's calls to one operation that are searched for a call with the same key. */
const maxSearched = 1000

const originalOf = prepared((db, by: Pick<RunEntryRow, 'partyId' | 'runId' | 'operation' | 'keyHash'>) =>
  db
    .selectFrom(
      db
        .selectFrom('runEntries')
        .select(['id', 'supportId', 'keyHash', 'outcome'])
        .where('partyId', '=', by.partyId)
        .where('runId', '=', by.runId)
        .where('operation', '=', by.operation)
        .orderBy('id', 'desc')
        .limit(maxSearched)
        .as('last'),
    )
    .select('supportId')
    .where('keyHash', '=', by.keyHash)
    .where('outcome', 'not in', ['replayed', 'repeated'])
    .orderBy('id', 'desc')
    .limit(1),
)

const insertEntries = insertingSeveral('runEntries')

/** A record that moves money, with the agent and run that created it. */
export interface RecordOfRun {
  id: string
  agentId: string | null
  instanceId: string | null
}

/** The tables of records with due effects that move money without a call. */
const movedFor = ['cardTransactions', 'payments', 'subscriptions'] as const

/** Finds the records that have one of these ids and were created in the party's runs. */
export async function recordsOfRuns(
  { db }: Transaction,
  partyId: string,
  ids: readonly string[],
): Promise<RecordOfRun[]> {
  const found = movedFor.map((table) =>
    db
      .selectFrom(table)
      .select(['id', 'agentId', 'instanceId'])
      .where('partyId', '=', partyId)
      .where('id', 'in', ids)
      .where('instanceId', 'is not', null)
      .execute(),
  )
  return (await Promise.all(found)).flat()
}

async function addToRun(tx: Transaction, entries: readonly NotedEntry[], recordedAtMs: number): Promise<void> {
  const [first, last] = [entries[0], entries.at(-1)]
  if (first === undefined || last === undefined) return
  const { partyId, runId: id, atMs: lastAtMs, id: lastEntryId } = last.row
  await upsert(tx, {
    ...{ partyId, id, lastAtMs, lastEntryId, recordedAtMs },
    // A run belongs to its agent even if the party's own key or a user also made calls in it.
    agentId: entries.findLast(({ row }) => row.agentId !== null)?.row.agentId ?? null,
    instanceId: last.instanceId,
    host: entries.findLast(({ host }) => host !== null)?.host ?? null,
    ...totalsOf(entries),
    problemId: entries.findLast(isFailed)?.row.id ?? null,
    firstAtMs: first.row.atMs,
  })
  await addToMinutes(tx, entries, recordedAtMs)
}

const upsert = writing((db, row: RunRow) =>
  db
    .insertInto('runs')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['partyId', 'id']).doUpdateSet((run) => ({
        agentId: run.fn.coalesce(run.val(row.agentId), 'runs.agentId'),
        host: run.fn.coalesce(run.val(row.host), 'runs.host'),
        calls: run('runs.calls', '+', row.calls),
        refused: run('runs.refused', '+', row.refused),
        spentCents: run('runs.spentCents', '+', row.spentCents),
        problemId: run.fn.coalesce(run.val(row.problemId), 'runs.problemId'),
        lastAtMs: row.lastAtMs,
        lastEntryId: row.lastEntryId,
        recordedAtMs: row.recordedAtMs,
      })),
    ),
)

/** Returns a party's runs, the most recently active first. The page begins after a run's `lastEntryId`. */
export async function listRuns(tx: Transaction, scope: RunScope, page: PageRequest): Promise<PageOf<RunRow>> {
  const { partyId, agentId, host, fromMs, untilMs } = scope
  let query = tx.db.selectFrom('runs').selectAll().where('partyId', '=', partyId)
  if (fromMs !== undefined)
    query = query.where('lastEntryId', '>=', entryIdFrom(fromMs)).where('lastAtMs', '>=', fromMs)
  if (untilMs !== undefined) query = query.where('firstAtMs', '<=', untilMs)
  if (agentId !== undefined) query = query.where('agentId', '=', agentId)
  if (host !== undefined) query = query.where('host', '=', host)
  if (page.beforeId !== null) query = query.where('lastEntryId', '<', page.beforeId)
  const rows = await query
    .orderBy('lastEntryId', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(rows, page.limit, ({ lastEntryId }) => lastEntryId)
}

export const findRun = finderOf('runs', 'partyId', 'id')

/** A filter for the entries of a run. A time range is on the service's clock and includes both ends. */
export interface EntryScope {
  partyId: string
  runId: string
  operation?: string | undefined
  outcome?: RunOutcome | undefined
  agentId?: string | undefined
  fromMs?: number | undefined
  untilMs?: number | undefined
}

/** An entry in a list. Its details are read only when the entry is opened. */
export type ListedEntry = Omit<RunEntryRow, 'detail'>

const listed = [
  ...(['partyId', 'id', 'runId', 'kind', 'operation', 'agentId', 'outcome', 'status', 'code'] as const),
  ...(['amountCents', 'counterparty', 'fault', 'ms', 'supportId', 'keyHash'] as const),
  ...(['toolCall', 'atMs', 'recordedAtMs'] as const),
] as const

/** The requested part of a run's entries: those after an entry, newest or oldest first. */
export interface EntryPage {
  limit: number
  /** Null to begin with the first entry. */
  fromId: string | null
  isOldestFirst?: boolean
}

/** The maximum number of entries scanned at once for a filter that no index supports. */
export const maxScanned = 10_000

/**
 * Returns entries of a run. If few entries pass the filter, a page has fewer entries than requested, and the next page
 * continues after the scanned entries. So a page costs no more for a long run than for a short one.
 */
export async function listRunEntries(
  tx: Transaction,
  scope: EntryScope,
  page: EntryPage,
): Promise<PageOf<ListedEntry>> {
  const { partyId, runId, operation, outcome, agentId, fromMs, untilMs } = scope
  const [order, follows] = page.isOldestFirst ? (['asc', '>'] as const) : (['desc', '<'] as const)
  // Uses the index that matches fewer entries. Most calls have the outcome `done`, so one tool has fewer entries than
  // `done`. Any other outcome has fewer entries than one tool.
  const isByOutcome = outcome !== undefined && (operation === undefined || outcome !== 'done')
  const indexed = entriesIn(tx, { partyId, runId, ...(isByOutcome ? { outcome } : { operation }) })
  const begun = fromMs === undefined ? indexed : indexed.where('id', '>=', entryIdFrom(fromMs))
  const behind = page.fromId === null ? begun : begun.where('id', follows, page.fromId)
  const runIds = behind.orderBy('id', order)
  let passing = tx.db.selectFrom(runIds.select(listed).limit(maxScanned).as('looked')).select(listed)
  if (operation !== undefined) passing = passing.where('operation', '=', operation)
  if (outcome !== undefined) passing = passing.where('outcome', '=', outcome)
  if (agentId !== undefined) passing = passing.where('agentId', '=', agentId)
  if (fromMs !== undefined) passing = passing.where('atMs', '>=', fromMs)
  if (untilMs !== undefined) passing = passing.where('atMs', '<=', untilMs)
  const rows = await passing
    .orderBy('id', order)
    .limit(page.limit + 1)
    .execute()
  if (rows.length > page.limit) return pageOf(rows, page.limit, ({ id }) => id)
  const [last] = await runIds
    .select('id')
    .offset(maxScanned - 1)
    .limit(1)
    .execute()
  return { rows, lastId: last?.id ?? null }
}

/** Returns the oldest entries of a run after an id, oldest first. */
export function runEntriesAfter(
  tx: Transaction,
  scope: Pick<EntryScope, 'partyId' | 'runId'>,
  { afterId, limit }: { afterId: string; limit: number },
): Promise<RunEntryRow[]> {
  return entriesIn(tx, scope).selectAll().where('id', '>', afterId).orderBy('id').limit(limit).execute()
}

function entriesIn(tx: Transaction, { partyId, runId, operation, outcome }: EntryScope) {
  let query = tx.db.selectFrom('runEntries').where('partyId', '=', partyId).where('runId', '=', runId)
  if (operation !== undefined) query = query.where('operation', '=', operation)
  if (outcome !== undefined) query = query.where('outcome', '=', outcome)
  return query
}

/** Returns up to 2,000 entries of a run that belong to these tool calls, sorted by tool call and then by id. */
export function entriesOfToolCalls(
  { db }: Transaction,
  { partyId, runId }: Pick<EntryScope, 'partyId' | 'runId'>,
  names: readonly string[],
): Promise<ListedEntry[]> {
  if (names.length === 0) return Promise.resolve([])
  const named = db.selectFrom('runEntries').select(listed).where('partyId', '=', partyId).where('runId', '=', runId)
  const inOrder = named.where('toolCall', 'in', names).orderBy('toolCall').orderBy('id')
  return inOrder.limit(2000).execute()
}

export const findRunEntry = finderOf('runEntries', 'partyId', 'id')

/** Returns the entries of a party with these ids that are still kept. */
export function runEntriesWith(tx: Transaction, partyId: string, ids: readonly string[]): Promise<ListedEntry[]> {
  const entries = tx.db.selectFrom('runEntries').select(listed).where('partyId', '=', partyId)
  return ids.length === 0 ? Promise.resolve([]) : entries.where('id', 'in', ids).execute()
}

/** Finds a request's entry by the id that appears in errors and in the X-Request-Id header. */
export const entryOfRequest = finderOf('runEntries', 'partyId', 'supportId')

/** How long an entry is kept, in real time (docs/console.md#what-is-kept). */
export const runKeptMs = 30 * 24 * 60 * 60_000

export const deleteRunEntries = deletingOldest('runEntries', ['partyId', 'id'], 'recordedAtMs')
export const deleteRuns = deletingOldest('runs', ['partyId', 'id'], 'recordedAtMs')

/** Returns the runs with that id or instance id, of one party or all. */
export function findRunsById(tx: Transaction, name: string, partyId?: string): Promise<RunRow[]> {
  let query = tx.db.selectFrom('runs').selectAll()
  if (partyId !== undefined) query = query.where('partyId', '=', partyId)
  return query
    .where((run) => run.or([run('id', '=', name), run('instanceId', '=', name)]))
    .orderBy('partyId')
    .limit(20)
    .execute()
}

/** Returns the newest runs of all parties. */
export function newestRuns(tx: Transaction, limit: number): Promise<RunRow[]> {
  return tx.db.selectFrom('runs').selectAll().orderBy('lastEntryId', 'desc').limit(limit).execute()
}
