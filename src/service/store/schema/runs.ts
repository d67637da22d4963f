import type { RunEntryKind, RunOutcome } from '../../rules/runs.ts'
import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** What one conversation of an agent came to: the calls with one instance id, or those of a party that have none. */
export const runs = table({
  partyId: text,
  /** `run_` and the start of a hash of the party and the instance id, so that any id fits into an address. */
  id: text,
  /** Null: the calls that came with none. */
  instanceId: nullable(text),
  /** The last agent that called; null: only users and API keys of the party did. */
  agentId: nullable(text),
  /** What the program called itself that called last. */
  host: nullable(text),
  calls: bigint,
  /** Calls that were refused, failed or were declined. */
  refused: bigint,
  /** On the service's clock. */
  firstAtMs: bigint,
  lastAtMs: bigint,
  /** The id of its newest entry, by which runs are listed. */
  lastEntryId: text,
  /** In real time, by which it is deleted. */
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

/** One thing that happened in a run. Nothing secret stands in it: what a call told of cards and keys is masked before. */
export const runEntries = table({
  partyId: text,
  /** `ent_`, and then in the order in which a process noted them. */
  id: text,
  runId: text,
  kind: text as Column<RunEntryKind>,
  /** The operation's name, which is the tool's; of what happened by itself, the reason of its posting. */
  operation: text,
  agentId: nullable(text),
  outcome: text as Column<RunOutcome>,
  /** The status of the answer; null: there was none, or it is no call. */
  status: nullable(integer),
  code: nullable(text),
  amountCents: nullable(bigint),
  /** The fault of the sandbox that befell it. */
  fault: nullable(text),
  /** How long it took, milliseconds of real time. */
  ms: nullable(integer),
  supportId: nullable(text),
  /** The start of a hash of its Idempotency-Key, by which a repeat finds the call whose answer it is. */
  keyHash: nullable(text),
  /** `RunDetail` as JSON. */
  detail: text,
  /** On the service's clock. */
  atMs: bigint,
  /** In real time, by which it is deleted. */
  recordedAtMs: bigint,
  $key: ['partyId', 'id'],
  $indexes: [
    'partyId runId id',
    'partyId runId operation id',
    'partyId runId outcome id',
    'partyId supportId',
    'recordedAtMs',
  ],
})

export type RunEntryRow = RowOf<typeof runEntries>
