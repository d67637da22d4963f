import { type RunDetail, type RunOutcome, readsWithinCalls, toolCallNames } from '../../../rules/runs.ts'
import { activeAgents, namesOfAgents } from '../../../store/agents.ts'
import { readTimes } from '../../../store/clock.ts'
import type { PageOf, PageRequest } from '../../../store/engine/page.ts'
import type { Store, Transaction } from '../../../store/engine/store.ts'
import { type Bucket, bucketsOfRuns, type RunScope, spanOfRuns } from '../../../store/run-minutes.ts'
import {
  type EntryPage,
  type EntryScope,
  entriesOfToolCalls,
  entryOfRequest,
  findRun,
  findRunEntry,
  type ListedEntry,
  listRunEntries,
  listRuns,
  runEntriesAfter,
  runEntriesWith,
} from '../../../store/runs.ts'
import type { RunRow } from '../../../store/schema/runs.ts'
import { findShopOrder } from '../../../store/shop-orders.ts'
import { namesOfWallets } from '../../../store/wallets.ts'
import { withoutCards } from '../without-cards.ts'

export interface RunSeen extends RunRow {
  agentName: string | null
}

export interface RunListed extends RunSeen {
  /** The newest failed call; undefined if no call failed, or if the entry of that call was deleted. */
  problem: EntrySeen | undefined
}

/**
 * The totals of all selected runs in each of `count` time buckets. The first bucket begins at `fromMs`. Buckets without
 * entries are not in `buckets`.
 */
export interface RunsOverTime {
  fromMs: number
  bucketMs: number
  count: number
  buckets: readonly Bucket[]
}

export interface EntrySeen extends ListedEntry {
  agentName: string | null
}

/** An entry in a timeline. */
export interface EntryInTimeline extends EntrySeen {
  /** The ids of the reads that the MCP server made for this tool call. These reads have no separate rows. */
  reads: readonly string[]
}

interface TimelinePage extends PageOf<EntryInTimeline> {
  /** Whether the number of entries reached the limit of the page. Reads that are not in `rows` also count. */
  isFull: boolean
}

/** An entry with its details. */
export interface EntryOpened extends EntrySeen {
  /** The reads that the MCP server made for this tool call. */
  reads: readonly ListedEntry[]
  /**
   * The id of the tool call for which the MCP server made this read; null if this entry is not a read for a tool call.
   */
  madeFor: string | null
  detail: RunDetail
  run: RunSeen
  /** The id of the next older entry in the timeline; null if this entry is the oldest. */
  older: string | null
  /** The id of the next newer entry in the timeline; null if this entry is the newest. */
  newer: string | null
  /**
   * The entry of the earlier call whose recorded answer was returned to this call. Null if there is no such call, or if
   * its entry is not known.
   */
  repeated: { runId: string; id: string } | null
  /** The names of the party's own wallets in the entry's postings, by wallet id. */
  wallets: ReadonlyMap<string, string>
}

export interface Choices {
  agents: readonly { id: string; name: string }[]
}

/** Creates the functions that read the data of the run pages. Each function uses a single transaction. */
export function createRunReads({ store }: { store: Store }) {
  return {
    runs: (scope: RunScope, page: PageRequest) =>
      store.read(async (tx) => {
        const { rows, lastId } = await listRuns(tx, scope, page)
        return { rows: await withProblems(tx, scope.partyId, rows), lastId }
      }),
    overTime: (scope: RunScope): Promise<RunsOverTime | undefined> => store.read((tx) => runsOverTime(tx, scope)),
    run: (partyId: string, id: string) => store.read((tx) => runSeen(tx, partyId, id)),
    choices: (partyId: string): Promise<Choices> =>
      store.read(async (tx) => ({
        agents: withoutCards((await activeAgents(tx, partyId)).map(({ id, name }) => ({ id, name }))),
      })),
    entries: (scope: EntryScope, page: EntryPage): Promise<TimelinePage> =>
      store.read(async (tx) => {
        const { rows, lastId } = await listRunEntries(tx, scope, page)
        const within = isFiltered(scope) ? new Map() : readsWithinCalls(await entriesOfCalls(tx, scope, rows))
        const hidden = new Set([...within.values()].flat())
        const visible = await withAgents(
          tx,
          scope.partyId,
          rows.filter(({ id }) => !hidden.has(id)),
        )
        return {
          rows: visible.map((row) => ({ ...row, reads: within.get(row.id) ?? [] })),
          lastId,
          isFull: rows.length === page.limit,
        }
      }),
    entry: (partyId: string, id: string): Promise<EntryOpened | undefined> =>
      store.read((tx) => entryOpened(tx, partyId, id)),
    now: () => store.read(async (tx) => (await readTimes(tx)).nowMs),
    order: (partyId: string, id: string) => store.read((tx) => findShopOrder(tx, { partyId, agentId: null }, id)),
  }
}

export type RunReads = ReturnType<typeof createRunReads>

/**
 * Returns whether any filter is set. In a filtered timeline, each entry has a separate row, including the reads made
 * for tool calls.
 */
const isFiltered = ({ partyId: _, runId: __, ...filter }: EntryScope) =>
  Object.values(filter).some((value) => value !== undefined)

/**
 * Returns the entries of the tool calls to which the rows belong: the calls themselves, and the reads made for them.
 */
function entriesOfCalls(tx: Transaction, scope: Pick<EntryScope, 'partyId' | 'runId'>, rows: readonly ListedEntry[]) {
  const names = rows.flatMap(({ toolCall }) => (toolCall === null ? [] : toolCallNames(toolCall)))
  return entriesOfToolCalls(tx, scope, [...new Set(names)])
}

async function withProblems(tx: Transaction, partyId: string, rows: readonly RunRow[]): Promise<RunListed[]> {
  const found = await runEntriesWith(
    tx,
    partyId,
    rows.flatMap(({ problemId }) => problemId ?? []),
  )
  const problems = new Map((await withAgents(tx, partyId, found)).map((entry) => [entry.id, entry]))
  const runs = await withAgents(tx, partyId, rows)
  return runs.map((run) => ({ ...run, problem: problems.get(run.problemId ?? '') }))
}

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]
/** The possible lengths of a time bucket in the chart of runs, in milliseconds. */
const bucketLengths = [1, 2, 5, 10, 15, 30]
  .map((count) => count * minuteMs)
  .concat([1, 2, 4, 6, 12].map((count) => count * hourMs))
  .concat([1, 2, 7, 14, 30, 90, 365].map((count) => count * dayMs))
const maxBuckets = 60

async function runsOverTime(tx: Transaction, scope: RunScope): Promise<RunsOverTime | undefined> {
  const span = await spanOfRuns(tx, scope.partyId)
  if (span === undefined) return undefined
  const [firstMs, lastMs] = [scope.fromMs ?? span.firstMs, scope.untilMs ?? Math.max(span.lastMs, scope.fromMs ?? 0)]
  const fits = (length: number) => Math.floor(lastMs / length) - Math.floor(firstMs / length) < maxBuckets
  const bucketMs = bucketLengths.find(fits) ?? Math.ceil((lastMs - firstMs) / maxBuckets / dayMs + 1) * dayMs
  const fromMs = firstMs - (firstMs % bucketMs)
  const count = Math.floor(Math.max(0, lastMs - fromMs) / bucketMs) + 1
  return { fromMs, bucketMs, count, buckets: await bucketsOfRuns(tx, scope, bucketMs) }
}

async function runSeen(tx: Transaction, partyId: string, id: string): Promise<RunSeen | undefined> {
  const run = await findRun(tx, partyId, id)
  return run && (await withAgents(tx, partyId, [run]))[0]
}

async function entryOpened(tx: Transaction, partyId: string, id: string): Promise<EntryOpened | undefined> {
  const row = await findRunEntry(tx, partyId, id)
  const run = row && (await runSeen(tx, partyId, row.runId))
  if (row === undefined || run === undefined) return undefined
  const scope = { partyId, runId: row.runId }
  const older = await listRunEntries(tx, scope, { limit: 1, fromId: id })
  const [newer] = await runEntriesAfter(tx, scope, { afterId: id, limit: 1 })
  const detail = JSON.parse(row.detail) as RunDetail
  const repeated = detail.repeats === undefined ? undefined : await entryOfRequest(tx, partyId, detail.repeats)
  const walletIds = (detail.postings ?? []).flatMap(({ entries }) => entries.map(({ walletId }) => walletId))
  const names = await namesOfWallets(tx, partyId, [...new Set(walletIds.filter((one) => one !== null))])
  const sameCall = await entriesOfCalls(tx, scope, [row])
  const within = readsWithinCalls(sameCall)
  const reads = new Set(within.get(id))
  const [seen] = await withAgents(tx, partyId, [row])
  if (seen === undefined) throw new Error('Bug: withAgents returned no row for the entry.')
  return {
    ...seen,
    detail,
    run,
    reads: sameCall.filter((one) => reads.has(one.id)),
    madeFor: [...within].find(([, ids]) => ids.includes(id))?.[0] ?? null,
    older: older.rows[0]?.id ?? null,
    newer: newer?.id ?? null,
    repeated: repeated === undefined ? null : { runId: repeated.runId, id: repeated.id },
    wallets: new Map(withoutCards([...names])),
  }
}

async function withAgents<Row extends { agentId: string | null }>(
  tx: Transaction,
  partyId: string,
  rows: readonly Row[],
) {
  const names = await namesOfAgents(tx, partyId, [...new Set(rows.flatMap(({ agentId }) => agentId ?? []))])
  return rows.map((row) => ({
    ...row,
    agentName: row.agentId === null ? null : withoutCards(names.get(row.agentId) ?? row.agentId),
  }))
}

/** The filter of a timeline. */
export interface EntryFilter {
  operation?: string | undefined
  outcome?: RunOutcome | undefined
  agentId?: string | undefined
  fromMs?: number | undefined
  untilMs?: number | undefined
}
