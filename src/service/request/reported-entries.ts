import { operationsByName } from '../../../tools/index.ts'
import { keepNewest } from '../../core/bounded-map.ts'
import { foreignName } from '../../core/foreign-text.ts'
import { maskKeptText } from '../../core/masking.ts'
import { secretFields } from '../../core/secret-fields.ts'
import type { System } from '../../core/system.ts'
import { type ReportEntry, type ReportedEntry, type RunDetail, spentCents } from '../rules/runs.ts'
import type { Store } from '../store/engine/store.ts'
import { maskJson, maskText } from './body-masking.ts'
import { type Note, type RunLog, toolCallName } from './run-log.ts'

interface ReporterDependencies {
  store: Store
  system: System
  runLog: RunLog
}

/** The maximum number of remembered names of entries. An entry with a remembered name is dropped as a duplicate. */
const maxNames = 10_000
/**
 * The maximum number of facts in one question, and the maximum number of characters in one fact. No real question
 * reaches these limits.
 */
const [maxFacts, longestFact] = [64, 4096]

export function createReporter({ store, system, runLog }: ReporterDependencies): ReportEntry {
  const names = new Map<string, true>()
  return (entry) => {
    const name = entry.once === undefined ? undefined : `${entry.partyId} ${entry.once}`
    if (name !== undefined && names.has(name)) return
    if (name !== undefined) keepNewest(names, name, true, maxNames)
    // The sandbox's epoch, as this process last saw it. If a reset begins a new epoch before the entry is stored, the
    // entry is dropped.
    const epoch = store.clock.epoch || undefined
    runLog.note({ ...noteOf(entry, system.now() + store.clock.sandbox.offsetMs), epoch })
  }
}

function noteOf(entry: ReportedEntry, atMs: number): Note {
  const { partyId, agentId, instanceId, kind, outcome, operation, error, amountCents, fault, ms, keyId, toolCall } =
    entry
  const host = foreignName(maskKeptText(entry.host ?? ''), '') || null
  return {
    partyId,
    agentId,
    instanceId,
    kind,
    outcome,
    host,
    atMs,
    // If a client calls an unknown tool, the operation is the name that the client sent.
    operation: maskKeptText(operation),
    status: error?.status ?? null,
    code: error?.code ?? null,
    amountCents: amountCents ?? null,
    counterparty: null,
    fault: fault ?? null,
    ms: ms ?? null,
    supportId: null,
    toolCall: keyId === undefined || toolCall === undefined ? null : toolCallName('call', keyId, toolCall),
    detail: JSON.stringify(detailOf(entry)),
    spentCents: spentCents(entry.postings ?? []),
  }
}

function detailOf({
  operation,
  keyId,
  actorType,
  arguments: callArguments,
  error,
  facts,
  remark,
  resourceIds,
  postings = [],
}: ReportedEntry): RunDetail {
  const body =
    callArguments === undefined
      ? undefined
      : maskJson(JSON.stringify(callArguments), secretFieldsOf(operation), () => callArguments)
  const errors = error === undefined ? undefined : { errors: [error] }
  const answer = errors === undefined ? undefined : maskJson(JSON.stringify(errors), [], () => errors)
  return {
    ...(keyId === undefined ? {} : { keyId }),
    ...(actorType === undefined ? {} : { actorType }),
    ...(body === undefined ? {} : { body: body.text, ...(body.cut === 0 ? {} : { bodyCut: body.cut }) }),
    ...(answer === undefined ? {} : { answer: answer.text, ...(answer.cut === 0 ? {} : { cut: answer.cut }) }),
    ...(facts === undefined ? {} : { facts: facts.slice(0, maxFacts).map((fact) => maskText(fact, longestFact).text) }),
    ...(remark === undefined ? {} : { remark: maskKeptText(remark) }),
    ...(resourceIds === undefined ? {} : { resourceIds }),
    ...(postings.length === 0 ? {} : { postings }),
  }
}

/** Returns the names of the secret fields in an operation's answer; none if no operation has this name. */
function secretFieldsOf(name: string): readonly string[] {
  const operation = operationsByName.get(name)
  return operation === undefined ? [] : secretFields(operation)
}
