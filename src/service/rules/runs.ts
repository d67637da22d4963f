import type { FaultKind } from '../../core/faults.ts'
import type { Environment } from '../../core/operation.ts'
import type { Posting } from './ledger.ts'

/** The kinds of entries of a run (docs/console.md#entries). */
export const runEntryKinds = ['call', 'question', 'decision', 'happened'] as const

export type RunEntryKind = (typeof runEntryKinds)[number]

/** The possible outcomes of an entry. */
export const runOutcomes = [
  /** The request succeeded. */
  'done',
  /** A card purchase was declined, which is not an error. */
  'declined',
  /** A payment waits for a person's approval. */
  'review',
  /** The request was refused with a status of 4xx. */
  'refused',
  /** The request failed with a status of 5xx. */
  'failed',
  /** The request got no answer, because of a simulated fault. */
  'unanswered',
  /** The request got the answer that was recorded for its Idempotency-Key. */
  'replayed',
  /** The MCP server answered the call with the answer to an identical earlier call, without carrying it out. */
  'repeated',
  /** A person was asked a question. */
  'asked',
  'agreed',
  'disagreed',
  /** A due effect was applied. */
  'happened',
] as const

export type RunOutcome = (typeof runOutcomes)[number]

/**
 * Returns the prefix of entry ids that were created at the time `ms`. Ids created then or later sort after the prefix.
 */
export const entryIdFrom = (ms: number) => `ent_${Math.max(0, ms).toString(16).padStart(12, '0')}`

/** The outcomes that count as failures in a run. */
export const refusedOutcomes: ReadonlySet<RunOutcome> = new Set(['declined', 'refused', 'failed', 'unanswered'])

/** A posting, in the form stored with an entry of a run. */
export interface RunPosting {
  reason: string
  /** The id of the record for which the money was moved. */
  sourceId: string | null
  entries: readonly { account: string; walletId: string | null; amountCents: number }[]
}

/**
 * The reasons of postings that spend a wallet's money, or that return spent money to the wallet. Income and transfers
 * within a party do not count as spending.
 */
const spending: ReadonlySet<string> = new Set<Posting['reason']>([
  ...(['authorized', 'captured', 'released', 'refunded', 'paid', 'reserved', 'claimed', 'wired', 'returned'] as const),
  ...(['withdrawn', 'withdrawal_returned'] as const),
])

/**
 * Returns how much the postings took from the payers' available balances, minus what they returned. Money on hold
 * counts as taken.
 */
export function spentCents(postings: readonly Pick<RunPosting, 'reason' | 'entries'>[]): number {
  return postings
    .filter(({ reason }) => spending.has(reason))
    .reduce((spent, { entries }) => {
      // The payer's wallet comes first. Entries with a different wallet are the recipient's.
      const payer = entries.find(({ walletId }) => walletId !== null)?.walletId
      const moved = entries.filter(({ account, walletId }) => account === 'available' && walletId === payer)
      return moved.reduce((rest, { amountCents }) => rest - amountCents, spent)
    }, 0)
}

const callNameOf = (name: string) => name.replace(/^read_/, 'call_')

/** Returns both names under which a tool call (`call_…`) and its reads (`read_…`) are stored, given either name. */
export const toolCallNames = (name: string) => [callNameOf(name), name.replace(/^call_/, 'read_')]

/** The maximum number of reads shown within a tool call. Further reads are shown as separate rows. */
const maxReadsWithin = 20

/**
 * Returns a map from the entry id of each tool call to the entry ids of the reads within the call. If a call has
 * several entries, the reads belong to the last entry. The map leaves out reads without a call, and all reads of a call
 * after the first twenty.
 * @param entries Entries of one run, in the order of their ids.
 */
export function readsWithinCalls(
  entries: readonly { id: string; toolCall: string | null }[],
): ReadonlyMap<string, readonly string[]> {
  const byName = Map.groupBy(entries, ({ toolCall }) => toolCall ?? '')
  const reads = [...byName].filter(([name]) => name.startsWith('read_'))
  return new Map(
    reads.flatMap(([name, named]) => {
      const call = byName.get(callNameOf(name))?.at(-1)
      return call === undefined ? [] : [[call.id, named.slice(0, maxReadsWithin).map(({ id }) => id)] as const]
    }),
  )
}

/** A fault that was injected into a call. */
export interface RunFault {
  kind: FaultKind
  /** The error code of the answer, for the kind `error`. */
  code?: string | undefined
  afterMs?: number | undefined
  /** The id of the rule that caused the fault; or the name of the header, if the call itself requested the fault. */
  ruleId: string
}

/** The details of an entry. Secrets in JSON strings are masked, and the end of a long string is cut off. */
export interface RunDetail {
  method?: string
  /** The path with its query. */
  path?: string
  keyId?: string
  actorType?: string
  customerPartyId?: string | null
  /** The request's body. */
  body?: string
  /** The answer's body. */
  answer?: string
  /** How many characters of the answer were cut off. */
  cut?: number
  /** How many characters of the request's body were cut off. */
  bodyCut?: number
  /** Whether the MCP server sent the request to carry out a tool call. */
  isToolCall?: boolean
  /** Whether the request had an idempotency key, which makes a retry safe. */
  hasKey?: boolean
  /** The support id of the earlier call whose answer was replayed or repeated, if known. */
  repeats?: string
  fault?: RunFault
  postings?: readonly RunPosting[]
  /** The ids of the records that the entry concerns. */
  resourceIds?: readonly string[]
  /** The id of the order at a shop. */
  orderId?: string
  /** The facts that a person was asked to confirm, as sentences. */
  facts?: readonly string[]
  /** A remark, for example who answered the question. */
  remark?: string
  host?: string
}

/**
 * A function that returns a recorded tool call's result as the MCP host got it; undefined if the record is incomplete.
 */
export type ToolResultOf = (call: {
  environment: Environment
  operation: string
  outcome: string
  status: number
  answer: string
}) => { text: string; structuredContent: string | null; next: string | null } | undefined

/** An event of a run that is not a request to the API. Nothing in it is masked yet. */
export interface ReportedEntry {
  partyId: string
  agentId: string | null
  instanceId: string | null
  kind: RunEntryKind
  outcome: RunOutcome
  operation: string
  host?: string | undefined
  keyId?: string | undefined
  actorType?: string | undefined
  /** The id of the tool call that the event belongs to. */
  toolCall?: string | undefined
  /** A key that identifies duplicates: only the first of several events with the same key is recorded. */
  once?: string | undefined
  arguments?: Record<string, unknown> | undefined
  error?: { code: string; status?: number | undefined; detail: string; next?: string | undefined } | undefined
  facts?: readonly string[] | undefined
  amountCents?: number | undefined
  remark?: string | undefined
  resourceIds?: readonly string[] | undefined
  postings?: readonly RunPosting[] | undefined
  fault?: FaultKind | undefined
  ms?: number | undefined
}

/** A function that adds an entry to its run in the background. It returns immediately and never fails. */
export type ReportEntry = (entry: ReportedEntry) => void
