import { entryIdFrom, type RunDetail, type RunOutcome } from '../rules/runs.ts'
import { readTimes } from './clock.ts'
import { deletingOldest } from './engine/deletions.ts'
import { finderOf } from './engine/find.ts'
import { preparedBulkInsert } from './engine/insert.ts'
import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { prepared, preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { addToMinutes, isFailed, type RunScope, totalsOf } from './run-minutes.ts'
import type { RunEntryRow, RunRow } from './schema/runs.ts'

/** An entry of a run. The fields other than `row` are not stored in the entry's own row. */
export interface NotedEntry {
  row: Omit<RunEntryRow, 'recordedAtMs'>
  instanceId: string | null
  host: string | null
  /** The amount by which the call or due effect reduced the party's available balance. */
  spentCents: number
  /** The epoch of the sandbox in which the entry was made; undefined for the current epoch. */
  epoch?: number | undefined
}

/**
 * Inserts entries and updates their runs. Updates the runs in the order of their ids, so that two such transactions
 * cannot deadlock. Skips entries of an earlier epoch. Returns the inserted entries.
 */
export async function insertRunEntries(tx: Transaction, noted: readonly NotedEntry[]): Promise<readonly NotedEntry[]> {
  // Requests must not share this database transaction. Otherwise, they might have to wait for locked run rows.
  tx.runAlone()
  const { realNowMs: recordedAtMs, epoch } = await readTimes(tx)
  const current = noted
    .filter((entry) => entry.epoch === undefined || entry.epoch === epoch)
    .sort(({ row: a }, { row: b }) => (a.id < b.id ? -1 : 1))
  const entries = await linkRepeats(tx, current)
  await insertEntries(
    tx,
    entries.map(({ row }) => ({ ...row, recordedAtMs })),
  )
  const byRun = Map.groupBy(entries, ({ row }) => `${row.partyId} ${row.runId}`)
  for (const [, inRun] of [...byRun].sort(([a], [b]) => (a < b ? -1 : 1))) await addToRun(tx, inRun, recordedAtMs)
  return entries
}

/** Adds the original call's support id to the entry of each replayed or repeated call. */
async function linkRepeats(tx: Transaction, noted: readonly NotedEntry[]): Promise<NotedEntry[]> {
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

/** The maximum number of entries, all of one run and one operation, that are searched for an original call. */
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

const insertEntries = preparedBulkInsert('runEntries')

/** A record that moves money, with the agent and run that created it. */
export interface RecordOfRun {
  id: string
  agentId: string | null
  instanceId: string | null
}

/** The tables whose records can have due effects that move money. */
const tablesWithDueEffects = ['cardTransactions', 'payments', 'subscriptions'] as const

/** Finds the records with the given ids. Omits records that no run of the party created. */
export async function recordsOfRuns(
  { db }: Transaction,
  partyId: string,
  ids: readonly string[],
): Promise<RecordOfRun[]> {
  const found = tablesWithDueEffects.map((table) =>
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
    // Calls that the party's own key or a user makes in a run do not change the run's agent.
    agentId: entries.findLast(({ row }) => row.agentId !== null)?.row.agentId ?? null,
    instanceId: last.instanceId,
    host: entries.findLast(({ host }) => host !== null)?.host ?? null,
    ...totalsOf(entries),
    problemId: entries.findLast(isFailed)?.row.id ?? null,
    firstAtMs: first.row.atMs,
  })
  await addToMinutes(tx, entries, recordedAtMs)
}

const upsert = preparedWrite((db, row: RunRow) =>
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

/** Returns a party's runs, the most recently active first. `page.beforeId` is the `lastEntryId` of a run. */
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

/** A filter for the entries of a run. The time range is by the sandbox clock and includes its start and end. */
export interface EntryScope {
  partyId: string
  runId: string
  operation?: string | undefined
  outcome?: RunOutcome | undefined
  agentId?: string | undefined
  fromMs?: number | undefined
  untilMs?: number | undefined
}

/** An entry in a list. Its details are left out, because they are read only when a person opens the entry. */
export type ListedEntry = Omit<RunEntryRow, 'detail'>

const listed = [
  ...(['partyId', 'id', 'runId', 'kind', 'operation', 'agentId', 'outcome', 'status', 'code'] as const),
  ...(['amountCents', 'counterparty', 'fault', 'ms', 'supportId', 'keyHash'] as const),
  ...(['toolCall', 'atMs', 'recordedAtMs'] as const),
] as const

/** The requested page of a run's entries. The newest entries come first, unless `isOldestFirst` is set. */
export interface EntryPage {
  limit: number
  /** The page begins after the entry with this id; null for the first page. */
  fromId: string | null
  isOldestFirst?: boolean
}

/** The maximum number of entries that are scanned for one page. */
export const maxScanned = 10_000

/**
 * Returns entries of a run. If few of the scanned entries match the filter, the page has fewer entries than requested,
 * and the next page continues after the scanned entries. So the cost of a page is limited, however long the run is.
 */
export async function listRunEntries(
  tx: Transaction,
  scope: EntryScope,
  page: EntryPage,
): Promise<PageOf<ListedEntry>> {
  const { partyId, runId, operation, outcome, agentId, fromMs, untilMs } = scope
  const [order, follows] = page.isOldestFirst ? (['asc', '>'] as const) : (['desc', '<'] as const)
  // Uses the index that is likely to find fewer entries: by outcome or by operation. Most entries have the outcome
  // `done`, so the operation finds fewer than `done`. Any other outcome usually finds fewer than the operation.
  const isByOutcome = outcome !== undefined && (operation === undefined || outcome !== 'done')
  const indexed = entriesIn(tx, { partyId, runId, ...(isByOutcome ? { outcome } : { operation }) })
  const inRange = fromMs === undefined ? indexed : indexed.where('id', '>=', entryIdFrom(fromMs))
  const remaining = page.fromId === null ? inRange : inRange.where('id', follows, page.fromId)
  const candidates = remaining.orderBy('id', order)
  let matching = tx.db.selectFrom(candidates.select(listed).limit(maxScanned).as('scanned')).select(listed)
  if (operation !== undefined) matching = matching.where('operation', '=', operation)
  if (outcome !== undefined) matching = matching.where('outcome', '=', outcome)
  if (agentId !== undefined) matching = matching.where('agentId', '=', agentId)
  if (fromMs !== undefined) matching = matching.where('atMs', '>=', fromMs)
  if (untilMs !== undefined) matching = matching.where('atMs', '<=', untilMs)
  const rows = await matching
    .orderBy('id', order)
    .limit(page.limit + 1)
    .execute()
  if (rows.length > page.limit) return pageOf(rows, page.limit, ({ id }) => id)
  const [last] = await candidates
    .select('id')
    .offset(maxScanned - 1)
    .limit(1)
    .execute()
  return { rows, lastId: last?.id ?? null }
}

/** Returns at most `limit` entries of a run that follow the entry with the id `afterId`, oldest first. */
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

/** Returns up to 2,000 entries of the given tool calls in a run, sorted by tool call and then by id. */
export function entriesOfToolCalls(
  { db }: Transaction,
  { partyId, runId }: Pick<EntryScope, 'partyId' | 'runId'>,
  toolCalls: readonly string[],
): Promise<ListedEntry[]> {
  if (toolCalls.length === 0) return Promise.resolve([])
  const inRun = db.selectFrom('runEntries').select(listed).where('partyId', '=', partyId).where('runId', '=', runId)
  const inOrder = inRun.where('toolCall', 'in', toolCalls).orderBy('toolCall').orderBy('id')
  return inOrder.limit(2000).execute()
}

export const findRunEntry = finderOf('runEntries', 'partyId', 'id')

/** Returns a party's entries that have one of these ids. Entries that were already deleted are missing. */
export function runEntriesWith(tx: Transaction, partyId: string, ids: readonly string[]): Promise<ListedEntry[]> {
  const entries = tx.db.selectFrom('runEntries').select(listed).where('partyId', '=', partyId)
  return ids.length === 0 ? Promise.resolve([]) : entries.where('id', 'in', ids).execute()
}

/** Finds a request's entry by the request's id, which appears in error responses and in the X-Request-Id header. */
export const entryOfRequest = finderOf('runEntries', 'partyId', 'supportId')

/** The retention period of runs and their entries, by the real clock (docs/console.md#what-is-kept). */
export const runKeptMs = 30 * 24 * 60 * 60_000

export const deleteRunEntries = deletingOldest('runEntries', ['partyId', 'id'], 'recordedAtMs')
export const deleteRuns = deletingOldest('runs', ['partyId', 'id'], 'recordedAtMs')

/** Returns up to 20 runs that have the given id or instance id. Searches all parties if `partyId` is undefined. */
export function findRunsById(tx: Transaction, id: string, partyId?: string): Promise<RunRow[]> {
  let query = tx.db.selectFrom('runs').selectAll()
  if (partyId !== undefined) query = query.where('partyId', '=', partyId)
  return query
    .where((run) => run.or([run('id', '=', id), run('instanceId', '=', id)]))
    .orderBy('partyId')
    .limit(20)
    .execute()
}

/** Returns the newest runs of all parties. */
export function newestRuns(tx: Transaction, limit: number): Promise<RunRow[]> {
  return tx.db.selectFrom('runs').selectAll().orderBy('lastEntryId', 'desc').limit(limit).execute()
}
