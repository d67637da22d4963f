import type { RunEntryKind, RunOutcome } from '../../rules/runs.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/**
 * The totals of a run. A run consists of a party's calls with the same instance id, or of all the party's calls without
 * an instance id.
 */
export const runs = table({
  partyId: text,
  /**
   * `run_` and the start of a hash of the party and the instance id. A hash is used because some instance ids are not
   * safe in a URL.
   */
  id: text,
  /** Null if the run's calls had no instance id. */
  instanceId: nullable(text),
  /** The last agent that made a call; null if only the party's users and API keys made calls. */
  agentId: nullable(text),
  /** The latest name that a calling program reported for itself; null if no program reported a name. */
  host: nullable(text),
  calls: bigint,
  /** The number of calls that failed, or were refused, declined or left unanswered. */
  refused: bigint,
  /**
   * The amount that the run's entries spent from the available balances of the party's wallets, including holds, minus
   * the amount that came back.
   */
  spentCents: bigint,
  /** The entry id of the newest call counted in `refused`; null if there is no such call. */
  problemId: nullable(text),
  /** The times of the first and the last entry, on the sandbox clock. */
  firstAtMs: bigint,
  lastAtMs: bigint,
  /** The id of the run's newest entry. Runs are listed in the order of these ids. */
  lastEntryId: text,
  /** The real time of recording, which decides when the row is deleted. */
  recordedAtMs: bigint,
  $key: ['partyId', 'id'],
  $indexes: [
    'partyId lastEntryId',
    'partyId agentId lastEntryId',
    'partyId host lastEntryId',
    'partyId agentId host lastEntryId',
    'recordedAtMs',
  ],
})

export type RunRow = RowOf<typeof runs>

/**
 * One entry of a run. It contains no secrets, because card numbers and keys in a call are masked before the entry is
 * written.
 */
export const runEntries = table({
  partyId: text,
  /** `ent_` and a suffix. Ids made by the same process sort in the order in which the process recorded the entries. */
  id: text,
  runId: text,
  kind: text as Column<RunEntryKind>,
  /**
   * The name of the operation, which is also the name of its tool. For a due effect, the `reason` of the effect's
   * posting.
   */
  operation: text,
  agentId: nullable(text),
  outcome: text as Column<RunOutcome>,
  /** The HTTP status of the response; null if there was no response, or if the entry is not a call. */
  status: nullable(integer),
  code: nullable(text),
  amountCents: nullable(bigint),
  /** The name or address of the merchant, payee or payer, masked; null if unknown. */
  counterparty: nullable(text),
  /** The injected sandbox fault that hit the call; null if none did. */
  fault: nullable(text),
  /** The duration in milliseconds of real time. */
  ms: nullable(integer),
  supportId: nullable(text),
  /** The start of a hash of the call's Idempotency-Key. A repeated call has the same hash as the original call. */
  keyHash: nullable(text),
  /**
   * For a tool call, `call_` and a hash that identifies the call. For an API read made to answer a tool call, `read_`
   * and the hash of that tool call. Null for other entries.
   */
  toolCall: nullable(text),
  /** `RunDetail` as JSON. */
  detail: text,
  /** On the sandbox clock. */
  atMs: bigint,
  /** The real time of recording, which decides when the row is deleted. */
  recordedAtMs: bigint,
  $key: ['partyId', 'id'],
  $indexes: [
    'partyId runId id',
    'partyId runId operation id',
    'partyId runId outcome id',
    'partyId supportId',
    'recordedAtMs',
  ],
  $namedIndexes: { tool_call: '("partyId", "toolCall", "id") where "toolCall" is not null' },
})

export type RunEntryRow = RowOf<typeof runEntries>
