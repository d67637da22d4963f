import type { ErrorCode } from '../errors.ts'
import type { OperationDefinition } from '../operation.ts'
import { newId, sha256 } from '../system.ts'
import type { Context } from './handler.ts'
import type { Parsed } from './incoming.ts'
import type { Reply } from './reply.ts'
import { activityAfter, activityHead, insertActivity } from './store/activity.ts'
import type { ActivityRow } from './store/credential-tables.ts'
import type { Transaction } from './store/store.ts'

/** What the first row of a chain names as the hash before it. */
const noHash = '0'.repeat(64)
/** More ids than this one request never names; what is recorded has a bound of its own. */
const mostIds = 100

/**
 * Records what the request did, or was refused, in the transaction of its effect. To be the last thing that locks,
 * so that whoever holds a party's chain waits for nobody.
 */
export async function recordActivity(context: Context, parsed: Parsed, reply: Reply): Promise<void> {
  const { tx, operation, actor, partyId, causeAgentId, instanceId, nowMs, system } = context
  if (operation.effect === 'read') return
  // Whoever has the lock of the party itself hardly ever meets another on its chain: that round trip is saved.
  const alone = operation.idempotency === 'required' && partyId === actor.partyId
  if (!alone) await tx.lock(`activity ${actor.partyId}`)
  const head = await activityHead(tx, actor.partyId)
  const row: Omit<ActivityRow, 'hash'> = {
    id: newId('act', system, nowMs),
    partyId: actor.partyId,
    sequence: (head?.sequence ?? 0) + 1,
    operation: operation.name,
    actorType: actor.actorType,
    agentId: causeAgentId,
    userId: actor.userId,
    keyId: actor.keyId,
    instanceId,
    customerPartyId: partyId === actor.partyId ? null : partyId,
    resourceIds: JSON.stringify(resourceIds(operation, parsed, reply)),
    status: reply.status,
    code: codeOf(reply),
    createdAtMs: nowMs,
    previousHash: head?.hash ?? noHash,
  }
  await insertActivity(tx, { ...row, hash: hashOf(row) })
}

/** Covers every column but itself, so also the hash of the row before. */
function hashOf(row: Omit<ActivityRow, 'hash'>): string {
  return sha256(JSON.stringify(columns.map((column) => row[column])))
}

/** In this order; what a row of today hashes to must not depend on the order of a literal. */
const columns = [
  'id',
  'partyId',
  'sequence',
  'operation',
  'actorType',
  'agentId',
  'userId',
  'keyId',
  'instanceId',
  'customerPartyId',
  'resourceIds',
  'status',
  'code',
  'createdAtMs',
  'previousHash',
] as const satisfies (keyof ActivityRow)[]

/**
 * Walks a party's chain. Gives the number of the first row that was changed, inserted or whose predecessor is missing;
 * null when every row is as it was written. Rows cut off at the end do not show: compare the last hash with one kept
 * elsewhere.
 */
export async function firstTampered(tx: Transaction, partyId: string): Promise<number | null> {
  const batch = 500
  let before = { sequence: 0, hash: noHash }
  for (;;) {
    const rows = await activityAfter(tx, partyId, before.sequence, batch)
    for (const { hash, ...row } of rows) {
      const follows = row.sequence === before.sequence + 1 && row.previousHash === before.hash
      if (!follows || hash !== hashOf(row)) return row.sequence
      before = { sequence: row.sequence, hash }
    }
    if (rows.length < batch) return null
  }
}

/** The ids that the request names and those of what it answered. Ids only: nothing else in either is recorded. */
function resourceIds(operation: OperationDefinition, parsed: Parsed, reply: Reply): string[] {
  const input = 'input' in parsed ? parsed.input : {}
  const places = [operation.params, operation.related, operation.attributes].flatMap((part) =>
    Object.keys(part?.shape ?? {}),
  )
  const named = places.filter((name) => name.endsWith('Id')).map((name) => input[name])
  const { data } = JSON.parse(reply.body) as { data?: { id: string } | { id: string }[] }
  const answered = reply.status === 200 && data !== undefined ? [data].flat().map(({ id }) => id) : []
  const ids = [...named, ...answered].filter((id) => typeof id === 'string' && /^[a-z]{3}_[\w-]{1,100}$/.test(id))
  return [...new Set(ids as string[])].slice(0, mostIds)
}

function codeOf(reply: Reply): string | null {
  if (reply.status < 400) return null
  const { errors } = JSON.parse(reply.body) as { errors: { code: ErrorCode }[] }
  return errors[0]?.code ?? null
}
