import type { RunEntryKind, RunOutcome } from '../../rules/runs.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** Totals of one conversation of an agent: the calls with one instance id, or the calls of a party without one. */
export const runs = table({
  partyId: text,
  /**
   * `run_` and the start of a hash of the party and the instance id. The hash makes any instance id safe to use in an
   * address.
   */
  id: text,
  /** Null if its calls had no instance id. */
  instanceId: nullable(text),
  /** The agent that called last; null if only the party's users and API keys made calls. */
  agentId: nullable(text),
  /** The self-reported name of the program that called last. */
  host: nullable(text),
  calls: bigint,
  /** The number of calls that failed, or were refused or declined. */
  refused: bigint,
  /**
   * The money that its entries took from the party's available balance, including holds, minus the money that came
   * back.
   */
  spentCents: bigint,
  /** The id of its newest failed call; null if none failed. */
  problemId: nullable(text),
  /** On the service's clock. */
  firstAtMs: bigint,
  lastAtMs: bigint,
  /** The id of its newest entry. Runs are listed in the order of these ids. */
  lastEntryId: text,
  /** In real time; decides when the row is deleted. */
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
  /** `ent_` and a suffix. Ids sort in the order in which a process recorded the entries. */
  id: text,
  runId: text,
  kind: text as Column<RunEntryKind>,
  /** The name of the operation and its tool. For an effect without a call, the reason for its posting. */
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
  /** The start of a hash of its Idempotency-Key. It connects a repeated call with the original one. */
  keyHash: nullable(text),
  /**
   * `call_` or `read_`, followed by a hash. A tool call has the same hash as the reads for its answer. Null for other
   * entries.
   */
  toolCall: nullable(text),
  /** `RunDetail` as JSON. */
  detail: text,
  /** On the service's clock. */
  atMs: bigint,
  /** In real time; decides when the row is deleted. */
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
