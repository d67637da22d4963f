import { agents } from '../../../tools/agents.ts'
import { catalogue } from '../../../tools/index.ts'
import { sandboxClock } from '../../../tools/sandbox-clock.ts'
import { ApiError } from '../../client/api-error.ts'
import type { CallResult } from '../../client/client.ts'
import { Failure } from '../../core/errors.ts'
import type { OperationDefinition, SentInput } from '../../core/operation.ts'
import { secretFields } from '../../core/secret-fields.ts'
import { parseTimestamp } from '../../core/system.ts'
import type { Dependencies } from '../dependencies.ts'
import { outputPrefix, prefixOf, readsOne } from './id-kinds.ts'
import { obsoleteStatuses } from './obsolete-statuses.ts'

type Result = CallResult<OperationDefinition>

interface CreatedRecord {
  type: string
  id: string
  attributes: Record<string, unknown>
  relationships?: Record<string, { data: { id: string } | null }>
}

/** A record that a call created, and its current state. */
export interface RecordState {
  /** The record as the call's answer shows it. */
  answered: CreatedRecord
  /** The record as it is now: null if it no longer exists; undefined if it could not be read. */
  now: CreatedRecord | null | undefined
  /** The reason why the answer is obsolete, such as "is used now"; undefined if the answer is still useful. */
  obsolete: string | undefined
}

interface Call {
  operation: OperationDefinition
  input: Record<string, unknown>
  signal: AbortSignal
}

/** Reads the current state of the records that a call created. An unreadable record counts as unchanged. */
export async function readRecordStates(dependencies: Dependencies, call: Call, { data }: Pick<Result, 'data'>) {
  const answered = [data].flat() as unknown as CreatedRecord[]
  const states: RecordState[] = []
  for (const record of answered.slice(0, maxRead)) {
    const now = await readOrLog(dependencies, () => readNow(dependencies, call, record))
    const obsolete = now === undefined ? undefined : await whyObsolete(dependencies, call, record, now)
    states.push({ answered: record, now, obsolete })
  }
  return states
}

/** The maximum number of records that are read for one call, and of agents for one record. The rest are not checked. */
const maxRead = 20

/**
 * Returns the recorded answer, updated with the current values of its records. Secrets keep their recorded values,
 * because the API returns each secret only once.
 */
export function withCurrentValues(
  operation: OperationDefinition,
  data: Result['data'],
  states: readonly RecordState[],
) {
  const secrets = secretFields(operation)
  const records = ([data].flat() as unknown as CreatedRecord[]).map((record, at) => {
    const { attributes, relationships } = states[at]?.now ?? record
    return {
      ...record,
      attributes: updated(record.attributes, attributes, secrets),
      ...(record.relationships && { relationships: updated(record.relationships, relationships ?? {}, []) }),
    }
  })
  return (Array.isArray(data) ? records : records[0]) as unknown as Result['data']
}

function updated<Values extends Record<string, unknown>>(
  before: Values,
  now: Values,
  unchangedNames: readonly string[],
): Values {
  const names = Object.keys(before).filter((name) => Object.hasOwn(now, name) && !unchangedNames.includes(name))
  return { ...before, ...Object.fromEntries(names.map((name) => [name, now[name]])) }
}

/** Returns a record's status, if it has one. An invitation's expiry shows only in its `effectiveStatus`. */
export function statusOf(record: CreatedRecord | null | undefined): string | undefined {
  const { status, effectiveStatus = status } = record?.attributes ?? {}
  return typeof effectiveStatus === 'string' ? effectiveStatus : undefined
}

async function whyObsolete(dependencies: Dependencies, call: Call, answered: CreatedRecord, now: CreatedRecord | null) {
  if (now === null) return 'no longer exists'
  const deleted = await deletedAgent(dependencies, call, now)
  if (deleted !== undefined) return `is for ${deleted}, an agent that was deleted`
  const status = statusOf(now)
  const statuses: Readonly<Record<string, boolean>> =
    obsoleteStatuses[answered.type as keyof typeof obsoleteStatuses] ?? {}
  if (status !== undefined && statuses[status] === true) return `is ${status} now`
  if (answered.type === 'webhook' && now.attributes.updatedAt !== answered.attributes.updatedAt) {
    return 'was changed since then, so its signing secret may have changed'
  }
  // The status of an invitation link does not show that the link has expired.
  const { expiresAt } = now.attributes
  if (answered.type !== 'invitationLink' || typeof expiresAt !== 'string') return undefined
  return parseTimestamp(expiresAt) <= (await serviceNow(dependencies, call)) ? 'has expired' : undefined
}

/**
 * Returns the id of the agent that a record, such as a key or an invitation, is for; undefined if the agent was not
 * deleted. If the record is for several agents and all of them were deleted, returns the id of the first.
 */
async function deletedAgent(dependencies: Dependencies, { signal }: Call, record: CreatedRecord) {
  if (!agentRecordTypes.has(record.type)) return undefined
  const proposed = record.attributes.proposedAgents as { agentId: string }[] | undefined
  const ids = proposed?.map(({ agentId }) => agentId) ?? [record.relationships?.agent?.data?.id ?? '']
  const { call } = await dependencies.api.client()
  for (const agentId of ids.slice(0, maxRead)) {
    const agent = await readOrLog(dependencies, () => call(agents.getAgent, { agentId }, { signal }))
    if (agent?.data.attributes.status !== 'REVOKED') return undefined
  }
  return ids[0]
}

const agentRecordTypes: ReadonlySet<string> = new Set([
  'agentKey',
  'application',
  'agentDelegationInvitation',
  'customerInvitation',
  'invitationLink',
])

/** Returns the time of the sandbox clock; in production, or if that clock cannot be read, the time of this process. */
async function serviceNow(dependencies: Dependencies, { signal }: Call): Promise<number> {
  const { choice, api, system } = dependencies
  if (choice.environment === 'production') return system.now()
  const { call } = await api.client()
  const clock = await readOrLog(dependencies, () => call(sandboxClock.getSandboxClock, {}, { signal }))
  return clock == null ? system.now() : parseTimestamp(clock.data.attributes.now)
}

/** Returns the result of a read; undefined if it fails, so that the caller can still return the recorded answer. */
async function readOrLog<Value>({ log }: Dependencies, read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof Failure))
      log.warn({ err: error }, 'failed to read the current state of a created record')
    return undefined
  }
}

async function readNow(dependencies: Dependencies, call: Call, { id, relationships }: CreatedRecord) {
  const reading = findReader(id)
  if (reading === undefined) return undefined
  const { reader, parameter } = reading
  const { call: send } = await dependencies.api.client()
  for (const acting of partyArguments(call.input)) {
    const agentId = relationships?.agent?.data?.id
    const listed = { limit: 100, ...(agentId === undefined ? {} : { agentId }) }
    const input = acceptedInput(reader, { ...(parameter === undefined ? listed : { [parameter]: id }), ...acting })
    const found = await readOrNull(() => send(reader, input, { signal: call.signal }))
    if (found === null) continue
    if (parameter !== undefined) return found.data as unknown as CreatedRecord
    const record = (found.data as unknown as CreatedRecord[]).find((candidate) => candidate.id === id)
    return record ?? (found.meta?.pagination?.hasMore === false ? null : undefined)
  }
  // If the reader is an extension of the API, a deployment without it also answers 404, so the record may still exist.
  return reader.extension && !call.operation.extension ? undefined : null
}

async function readOrNull(read: () => Promise<Result>): Promise<Result | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof ApiError && error.status === 404 && error.code === 'not_found') return null
    throw error
  }
}

/** Returns arguments that select a party, for each party that may own the record. The most likely party is first. */
function partyArguments({ customerPartyId, partyId, customerId }: Record<string, unknown>): Record<string, unknown>[] {
  const acting = customerPartyId ?? partyId
  if (acting !== undefined) return [{ customerPartyId: acting }]
  return customerId === undefined ? [{}] : [{}, { customerPartyId: customerId }]
}

function acceptedInput({ params, query }: OperationDefinition, values: Record<string, unknown>) {
  const names = Object.keys({ ...params?.shape, ...query?.shape })
  return Object.fromEntries(
    Object.entries(values).filter(([name]) => names.includes(name)),
  ) as unknown as SentInput<OperationDefinition>
}

/**
 * Returns the operation that reads a record with this id's prefix or, if there is none, lists such records. `parameter`
 * is the name of the id parameter of an operation that reads one record.
 */
function findReader(id: string): { reader: OperationDefinition; parameter: string | undefined } | undefined {
  const prefix = /^[a-z]{3}_/.exec(id)?.[0]
  if (prefix === undefined) return undefined
  const operations = Object.values<OperationDefinition>(catalogue)
  for (const reader of operations) {
    const parameters = Object.entries(reader.params?.shape ?? {})
    const [parameter, schema] = parameters[0] ?? []
    const isOnly = parameters.length === 1 && outputPrefix(reader) === prefix
    if (readsOne(reader) && isOnly && prefixOf(schema) === prefix) return { reader, parameter }
  }
  const isList = ({ effect, result, params }: OperationDefinition) =>
    effect === 'read' && result === 'page' && params === undefined
  const lister = operations.find((operation) => isList(operation) && outputPrefix(operation) === prefix)
  return lister && { reader: lister, parameter: undefined }
}
