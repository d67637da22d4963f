import type { z } from 'zod'
import { catalogue, type OperationKey } from '../../../../../tools/index.ts'
import { idPrefixOf } from '../../../../core/accepted-values.ts'
import { parseJson } from '../../../../core/json.ts'
import type { OperationDefinition } from '../../../../core/operation.ts'
import { secretFields } from '../../../../core/secret-fields.ts'
import { maskJson } from '../../../request/body-masking.ts'
import { readAsUser } from '../../../request/in-process.ts'
import { runIdOf } from '../../../request/run-log.ts'
import { findActivity, listActivity } from '../../../store/activity.ts'
import { namesOfAgents } from '../../../store/agents.ts'
import type { PageOf } from '../../../store/engine/page.ts'
import type { Transaction } from '../../../store/engine/store.ts'
import { eventsOfRecord } from '../../../store/events.ts'
import { ledgerOfPosting, ledgerOfRecords, walletEntries } from '../../../store/ledger.ts'
import { paymentsById } from '../../../store/payments.ts'
import { entriesWithText } from '../../../store/run-search.ts'
import { entryOfRequest, findRun, findRunEntry } from '../../../store/runs.ts'
import type { ActivityRow } from '../../../store/schema/activity.ts'
import type { EventRow } from '../../../store/schema/events.ts'
import type { LedgerEntryRow } from '../../../store/schema/ledger.ts'
import type { RunEntryRow } from '../../../store/schema/runs.ts'
import type { UserRow } from '../../../store/schema/users.ts'
import { eventIds } from '../../../tokens/event-ids.ts'
import { isId } from '../../frame/ids.ts'
import type { ConsoleDependencies } from '../serve-page.ts'
import { withoutCards } from '../without-cards.ts'

/** The cursors from which the lists on a record's page continue. If a cursor is null, its list shows the first page. */
export interface RecordPage {
  calls: string | null
  money: string | null
  events: number | null
}

/** A run entry that contains the text that was searched for. */
export interface EntryFound extends Omit<RunEntryRow, 'detail'> {
  agentName: string | null
  detail: string
}

/** The run entries that a search found, and the id from which the search continues. */
export type EntriesFound = PageOf<EntryFound>

/** A record, with everything that the page of the record shows. */
export interface RecordDetails {
  id: string
  partyId: string
  /**
   * The noun for this kind of record, such as `card`. Null if the noun cannot be derived from the title of the
   * operation that reads the record.
   */
  noun: string | null
  /**
   * The record's present state as the API returns it to the user, with secrets masked. Null if the user cannot read the
   * record through the API.
   */
  now: string | null
  /**
   * If the record is a payment to somebody who had no party when the payment was sent: that person's email address or
   * phone number. Otherwise null.
   */
  payee: string | null
  /** The ids of other records that the activity of this record mentions. */
  related: readonly string[]
  money: PageOf<LedgerEntryRow>
  calls: EntriesFound
  events: { rows: readonly (EventRow & { id: string })[]; lastSequence: number | null }
  activity: readonly ActivityRow[]
}

const rowsAtOnce = 20
const maxRelated = 20

/**
 * The id prefixes of records that own other records, such as parties and wallets. An owner's activity mentions many
 * records. The search for the ledger entries of a record ignores owners, because an owner leads to unrelated entries.
 */
const owners: ReadonlySet<string> = new Set(['pty', 'usr', 'agt', 'wal', 'apy', 'agk', 'ogr', 'dlg', 'whk'])

/**
 * Creates the functions that read the data of the record pages. None of these functions reads data of other parties.
 */
export function createRecordReads(pages: ConsoleDependencies) {
  const { store } = pages
  return {
    /**
     * Returns the address of the entry whose id or request id is `sought`. If there is no such entry, returns the
     * address of the run whose id or instance id is `sought`.
     */
    findAddress: (partyId: string, sought: string): Promise<string | undefined> =>
      store.read(async (tx) => {
        const entry = (await entryOfRequest(tx, partyId, sought)) ?? (await findRunEntry(tx, partyId, sought))
        if (entry !== undefined) return `/console/runs/${entry.runId}/entries/${entry.id}`
        const run = (await findRun(tx, partyId, sought)) ?? (await findRun(tx, partyId, runIdOf(partyId, sought)))
        return run && `/console/runs/${run.id}`
      }),
    record: async (user: UserRow, id: string, page: RecordPage): Promise<RecordDetails | undefined> => {
      if (!isId(id)) return undefined
      const current = await currentState(pages, user, id)
      const traces = await store.read((tx) => tracesOf(tx, user.partyId, id, page))
      const { activity, calls, events, money } = traces
      const isKnown = [activity, calls.rows, events.rows, money.rows].some((rows) => rows.length > 0)
      const isPaged = Object.values(page).some((cursor) => cursor !== null)
      if (current === undefined && !isKnown && !isPaged) return undefined
      return { id, partyId: user.partyId, noun: current?.noun ?? null, now: current?.text ?? null, ...traces }
    },
    search: (partyId: string, text: string, fromId: string | null): Promise<EntriesFound> =>
      store.read(async (tx) =>
        withAgents(tx, partyId, await entriesWithText(tx, { partyId, text }, { limit: rowsAtOnce, fromId })),
      ),
  }
}

export type RecordReads = ReturnType<typeof createRecordReads>

/**
 * Returns the noun for a record, and the record's JSON as the API returns it to the user, with secrets masked. Returns
 * undefined if the user cannot read the record through the API. If an operation returns a list, only the first page is
 * searched.
 */
async function currentState(pages: ConsoleDependencies, user: UserRow, id: string) {
  for (const { key, operation, param } of readersOf(`${id.slice(0, 3)}_`)) {
    const { status, body } = await readAsUser(pages, user, key, {
      params: param === null ? {} : { [param]: id },
      query: operation.result === 'page' ? { limit: '100' } : {},
    })
    if (status !== 200) continue
    const { data } = parseJson(body) as { data: { id: string } | { id: string }[] }
    const one = [data].flat().find((record) => record.id === id)
    if (one === undefined) continue
    const { text } = maskJson(JSON.stringify({ data: one }), secretFields(operation), () => ({ data: one }))
    return { noun: /^Read an? (.+)$/.exec(operation.title)?.[1] ?? null, text }
  }
  return undefined
}

/**
 * Returns the operations that read records whose ids have this prefix. First come the operations that take a record's
 * id. The operations that return a list or the caller's own record follow.
 */
function readersOf(prefix: string): { key: OperationKey; operation: OperationDefinition; param: string | null }[] {
  const readers = Object.entries<OperationDefinition>(catalogue).flatMap(([key, operation]) => {
    const { method, path, params, effect, output, result } = operation
    if (method !== 'GET' || effect !== 'read') return []
    const [[param, schema] = [null, undefined], ...others] = Object.entries(params?.shape ?? {})
    const isReader = path.endsWith(`{${param}}`) && others.length === 0 && prefixOf(schema) === prefix
    const isOwn = param === null && result !== 'several' && prefixOf(output.shape.id) === prefix
    return isReader || isOwn ? [{ key: key as OperationKey, operation, param }] : []
  })
  return readers.sort((one, other) => Number(one.param === null) - Number(other.param === null))
}

function prefixOf(schema: z.core.$ZodType | undefined): string | undefined {
  const { checks = [] } = (schema?._zod.def ?? {}) as { checks?: readonly z.core.$ZodCheck[] }
  const patterns = checks.map(({ _zod }) => (_zod.def as { pattern?: RegExp }).pattern)
  return patterns.map(idPrefixOf).find((prefix) => prefix !== undefined)
}

async function tracesOf(tx: Transaction, partyId: string, id: string, page: RecordPage) {
  const about = { agentId: null, instanceId: null, ownAgentId: null, partyId, resourceId: id }
  const one = id.startsWith('act_') ? await findActivity(tx, partyId, id) : undefined
  const listed = one === undefined ? (await listActivity(tx, about, { limit: rowsAtOnce, beforeId: null })).rows : [one]
  const named = listed.flatMap(({ resourceIds }) => JSON.parse(resourceIds) as string[])
  const related = [...new Set(named)].filter((other) => other !== id).slice(0, maxRelated)
  const isOldestFirst = !owners.has(id.slice(0, 3))
  const calls = await entriesWithText(
    tx,
    { partyId, text: id, isOldestFirst },
    { limit: rowsAtOnce, fromId: page.calls ?? (isOldestFirst ? `ent_${createdAt(id)}` : null) },
  )
  const { idOf } = await eventIds(tx)
  const { rows, lastSequence } = await eventsOfRecord(
    tx,
    { partyId, resourceId: id },
    { limit: rowsAtOnce, before: page.events },
  )
  const [payment] = await paymentsById(tx, partyId, [id])
  return {
    payee: withoutCards(payment?.claimant ?? null),
    activity: listed,
    related,
    money: await moneyOf(tx, { partyId, id, related, fromId: page.money }),
    calls: await withAgents(tx, partyId, calls),
    events: { rows: rows.map((event) => ({ ...event, id: idOf(event) })), lastSequence },
  }
}

interface MoneyOf {
  partyId: string
  id: string
  related: readonly string[]
  fromId: string | null
}

async function moneyOf(tx: Transaction, { partyId, id, related, fromId }: MoneyOf): Promise<PageOf<LedgerEntryRow>> {
  if (id.startsWith('wal_'))
    return walletEntries(tx, { partyId, walletId: id }, { limit: rowsAtOnce, beforeId: fromId })
  if (id.startsWith('pst_')) return { rows: await ledgerOfPosting(tx, partyId, id.slice(0, 36)), lastId: null }
  if (owners.has(id.slice(0, 3))) return { rows: [], lastId: null }
  const sourceIds = [id, ...related.filter((other) => !owners.has(other.slice(0, 3)))]
  return ledgerOfRecords(tx, { partyId, sourceIds }, { limit: rowsAtOnce, fromId: fromId ?? `pst_${createdAt(id)}` })
}

/**
 * Returns the encoded creation time from a record's id. No entry or posting about the record is older, so a search in
 * ascending order of ids can start at this time.
 */
const createdAt = (id: string) => id.slice(4, 16)

async function withAgents(
  tx: Transaction,
  partyId: string,
  { rows, lastId }: PageOf<RunEntryRow>,
): Promise<EntriesFound> {
  const names = await namesOfAgents(tx, partyId, [...new Set(rows.flatMap(({ agentId }) => agentId ?? []))])
  const named = rows.map((row) => ({
    ...row,
    agentName: row.agentId === null ? null : withoutCards(names.get(row.agentId) ?? row.agentId),
  }))
  return { rows: named, lastId }
}
