import { allows } from '../../../core/permissions.ts'
import type { Context } from '../../request/handler.ts'
import { isAllowedOnWallet, requirePermission, resolveParty } from '../../request/permission-checks.ts'
import { type EventType, eventKinds, eventTypes, wordOf } from '../../rules/event-types.ts'
import { findCardTransaction } from '../../store/card-transactions.ts'
import type { PageOf, PageRequest } from '../../store/engine/page.ts'
import { type EventFilter, eventEnds, findEvent, listEvents } from '../../store/events.ts'
import type { EventRow } from '../../store/schema/events.ts'
import type { PaymentRequestRow } from '../../store/schema/payment-requests.ts'
import type { PaymentRow } from '../../store/schema/payments.ts'
import type { ShopOrderRow } from '../../store/schema/shop-orders.ts'
import { findTransaction } from '../../store/transactions.ts'
import { walletsHeld } from '../../store/wallet-permissions.ts'
import { defaultWallet } from '../../store/wallets.ts'
import { eventIds } from '../../tokens/event-ids.ts'
import { type EventRecord, withRecords } from './event-views.ts'

/** Returns the event types that the credential may receive at all (docs/events.md#who-may-read-which-events). */
export function readableTypes({ actor }: Pick<Context, 'actor'>): EventType[] {
  return eventTypes.filter((type) => allows(actor, eventKinds[wordOf(type)].permission))
}

/**
 * Requires permission to read events of this type.
 * @throws 403 `forbidden` if the credential, or the customer's grant, does not allow reading the events' records.
 */
export async function requireReadable({ tx, actor, partyId, operation }: Context, type: EventType): Promise<void> {
  const { permission } = eventKinds[wordOf(type)]
  const reading = { ...operation, name: `${operation.name} of ${type}`, permission }
  requirePermission(actor, reading)
  await resolveParty(tx, actor, reading, partyId)
}

/**
 * The limits per page: how many reads it takes, how many sequence numbers one read covers, and how many events one read
 * returns for an agent. If they end a page early, its cursor leads to the rest.
 */
const limits = { reads: 5, numbers: 10_000, ofAgent: 200 }

type EventQuery = Pick<EventFilter, 'types' | 'createdAfterMs' | 'createdBeforeMs'>

/** Returns the newest events that the caller may read, each with its record. */
export async function readEvents(context: Context, query: EventQuery, page: PageRequest): Promise<PageOf<EventRecord>> {
  const { tx, actor, partyId } = context
  const { idOf, sequenceIn } = await eventIds(tx)
  const ends = await eventEnds(tx, partyId)
  const rows: EventRecord[] = []
  if (ends === undefined) return { rows, lastId: null }
  const cursorSequence = page.beforeId === null ? undefined : sequenceIn(partyId, page.beforeId)
  let before = Math.min(cursorSequence ?? Number.POSITIVE_INFINITY, ends.last + 1)
  const cursor = (sequence: number) => idOf({ partyId, sequence, recordedAtMs: 0 })
  const limit = actor.agentId === null ? page.limit + 1 : limits.ofAgent
  for (let read = 0; read < limits.reads && before > ends.first; read++) {
    const from = Math.max(ends.first, before - limits.numbers)
    const found = await listEvents(tx, { partyId, from, before, ...query, limit })
    for (const record of await readableRecords(context, found)) {
      const last = rows.at(-1)
      if (rows.length === page.limit && last !== undefined) return { rows, lastId: cursor(last.event.sequence) }
      rows.push(record)
    }
    before = found.length < limit ? from : (found.at(-1)?.sequence ?? from)
  }
  return { rows, lastId: before > ends.first ? cursor(before) : null }
}

/** Returns an event of the party that the request is for, if the caller may read it. */
export async function readEvent(context: Context, id: string): Promise<EventRecord | undefined> {
  const { tx, partyId } = context
  const { idOf, sequenceIn } = await eventIds(tx)
  const sequence = sequenceIn(partyId, id)
  const event = sequence === undefined ? undefined : await findEvent(tx, partyId, sequence)
  if (event === undefined || idOf(event) !== id) return undefined
  const [found] = await readableRecords(context, [event])
  return found
}

/**
 * Keeps the events that the caller may read. Permission to read an event follows from permission to read its record.
 */
async function readableRecords(context: Context, events: readonly EventRow[]): Promise<EventRecord[]> {
  const { tx, actor, partyId } = context
  const answers = new Map<string, Promise<boolean>>()
  const mayRead = async (record: EventRecord) => {
    const { permission, agents } = eventKinds[wordOf(record.event.type)]
    if (agents === 'own' && actor.agentId !== null && record.event.agentId !== actor.agentId) return false
    const isOfWallet = agents !== 'all' && actor.agentId !== null
    const walletId = isOfWallet ? await walletOf(context, record) : undefined
    if (agents === 'wallets' && isOfWallet && walletId === undefined) return false
    const key = `${permission} ${walletId}`
    const isWhole = walletId === undefined && partyId === actor.partyId
    if (isWhole) return allows(actor, permission)
    const answer = answers.get(key) ?? isAllowedOnWallet(tx, actor, permission, { id: walletId ?? '', partyId })
    answers.set(key, answer)
    return answer
  }
  const found: EventRecord[] = []
  for (const record of await withRecords(tx, events)) if (await mayRead(record)) found.push(record)
  return found
}

/** Returns the wallet that an event concerns, if it is one of the event's party. */
async function walletOf({ tx, actor }: Context, { event, record }: EventRecord): Promise<string | undefined> {
  const { partyId } = event
  const of = (record ?? {}) as Partial<Pick<PaymentRow, 'partyId' | 'walletId' | 'transactionId'>> &
    Partial<Pick<ShopOrderRow, 'cardTransactionId'>> &
    Partial<Pick<PaymentRequestRow, 'payerAgentId'>>
  if (of.cardTransactionId !== undefined)
    return (await findCardTransaction(tx, { partyId, agentId: null }, of.cardTransactionId))?.walletId
  if (of.partyId === partyId) return of.walletId
  if (wordOf(event.type) === 'payment_request') {
    // An event about a payment request may be read with permission on the party's default wallet, like the request
    // itself.
    const { agentId } = actor
    if (of.payerAgentId !== agentId) return (await defaultWallet(tx, partyId))?.id
    return (await walletsHeld(tx, { partyId, agentId, mustHold: 'payments.read' }))?.[0]
  }
  // The record is another party's payment, so the wallet is the one that received the money.
  const transaction =
    typeof of.transactionId === 'string' ? await findTransaction(tx, partyId, of.transactionId) : undefined
  return transaction?.destinationWalletId ?? undefined
}
