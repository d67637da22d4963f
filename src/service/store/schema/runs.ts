import type { RunEntryKind, RunOutcome } from '../../rules/runs.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** The totals of a run: a party's calls with the same instance id, or all its calls without an instance id. */
export const runs = table({
  partyId: text,
  /**
   * `run_` and the start of a hash of the party and the instance id. The hash is safe in a URL, which is not true of
   * every instance id.
   */
  id: text,
  /** Null if the run's calls had no instance id. */
  instanceId: nullable(text),
  /** The agent that called last; null if only the party's users and API keys made calls. */
  agentId: nullable(text),
  /** The self-reported name of the program that called last. */
  host: nullable(text),
  calls: bigint,
  /** The number of calls that failed, or were refused or declined. */
  refused: bigint,
  /**
   * The money that the run's entries took from the party's available balance, including holds, minus the money that
   * they returned to it.
   */
  spentCents: bigint,
  /** The entry id of the run's newest failed call; null if no call failed. */
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
  /** `ent_` and a suffix. The ids from one process sort in the order in which it recorded the entries. */
  id: text,
  runId: text,
  kind: text as Column<RunEntryKind>,
  /** The operation, which has the same name as its tool. For an effect without a call, its posting's `reason`. */
  operation: text,
  agentId: nullable(text),
  outcome: text as Column<RunOutcome>,
  /** The response status; null if there was no response, or if the entry is not a call. */
  status: nullable(integer),
  code: nullable(text),
  amountCents: nullable(bigint),
  /** The name or address of the merchant, payee or payer, masked; null if unknown. */
  counterparty: nullable(text),
  /** The injected sandbox fault that hit the call. */
  fault: nullable(text),
  /** The duration in milliseconds of real time. */
  ms: nullable(integer),
  supportId: nullable(text),
  /** The start of a hash of the call's Idempotency-Key. A repeated call and the original call have the same hash. */
  keyHash: nullable(text),
  /**
   * For a tool call, `call_` and a hash. For API reads that were made to answer this tool call, `read_` and the same
   * hash. Null for other entries.
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
