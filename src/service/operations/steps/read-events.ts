import { allows } from '../../../core/permissions.ts'
import type { Context } from '../../request/handler.ts'
import { isAllowedOnWallet, requirePermission, resolveParty } from '../../request/permission-checks.ts'
import { type EventType, eventKinds, eventTypes, wordOf } from '../../rules/event-types.ts'
import { findCardTransaction } from '../../store/card-transactions.ts'
import type { PageOf, PageRequest } from '../../store/engine/page.ts'
import { type EventFilter, eventRange, findEvent, listEvents } from '../../store/events.ts'
import type { EventRow } from '../../store/schema/events.ts'
import type { PaymentRequestRow } from '../../store/schema/payment-requests.ts'
import type { PaymentRow } from '../../store/schema/payments.ts'
import type { ShopOrderRow } from '../../store/schema/shop-orders.ts'
import { findTransaction } from '../../store/transactions.ts'
import { permittedWallets } from '../../store/wallet-permissions.ts'
import { defaultWallet } from '../../store/wallets.ts'
import { eventIds } from '../../tokens/event-ids.ts'
import { type EventRecord, loadEventRecords } from './event-views.ts'

/** Returns the event types that the credential may read (docs/events.md#who-may-read-which-events). */
export function readableTypes({ actor }: Pick<Context, 'actor'>): EventType[] {
  return eventTypes.filter((type) => allows(actor, eventKinds[wordOf(type)].permission))
}

/**
 * Requires permission to read events of this type. It is the permission to read the records that the events are about.
 * @throws 403 `forbidden` if the credential lacks this permission. For a customer's events, also if the customer's grant
 * lacks it.
 */
export async function requireReadable({ tx, actor, partyId, operation }: Context, type: EventType): Promise<void> {
  const { permission } = eventKinds[wordOf(type)]
  const reading = { ...operation, name: `${operation.name} of ${type}`, permission }
  requirePermission(actor, reading)
  await resolveParty(tx, actor, reading, partyId)
}

/**
 * The limits for reading one page: how many queries may be made, how many sequence numbers each query searches, and how
 * many events each query loads if the caller is an agent. If a limit ends a page early, the next page continues from
 * there.
 */
const limits = { queries: 5, sequenceNumbers: 10_000, eventsForAgent: 200 }

type EventQuery = Pick<EventFilter, 'types' | 'createdAfterMs' | 'createdBeforeMs'>

/** Returns a page of the events that the caller may read, newest first, each with its record. */
export async function readEvents(context: Context, query: EventQuery, page: PageRequest): Promise<PageOf<EventRecord>> {
  const { tx, actor, partyId } = context
  const { idOf, sequenceIn } = await eventIds(tx)
  const ends = await eventRange(tx, partyId)
  const rows: EventRecord[] = []
  if (ends === undefined) return { rows, lastId: null }
  const cursorSequence = page.beforeId === null ? undefined : sequenceIn(partyId, page.beforeId)
  let before = Math.min(cursorSequence ?? Number.POSITIVE_INFINITY, ends.last + 1)
  const cursor = (sequence: number) => idOf({ partyId, sequence, recordedAtMs: 0 })
  const limit = actor.agentId === null ? page.limit + 1 : limits.eventsForAgent
  for (let queries = 0; queries < limits.queries && before > ends.first; queries++) {
    const from = Math.max(ends.first, before - limits.sequenceNumbers)
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

/** Returns an event of the party `context.partyId`; undefined if it does not exist or the caller may not read it. */
export async function readEvent(context: Context, id: string): Promise<EventRecord | undefined> {
  const { tx, partyId } = context
  const { idOf, sequenceIn } = await eventIds(tx)
  const sequence = sequenceIn(partyId, id)
  const event = sequence === undefined ? undefined : await findEvent(tx, partyId, sequence)
  if (event === undefined || idOf(event) !== id) return undefined
  const [found] = await readableRecords(context, [event])
  return found
}

/** Returns the given events whose records the caller may read, each with its record. */
async function readableRecords(context: Context, events: readonly EventRow[]): Promise<EventRecord[]> {
  const { tx, actor, partyId } = context
  const answers = new Map<string, Promise<boolean>>()
  const mayRead = async (record: EventRecord) => {
    const { permission, agents } = eventKinds[wordOf(record.event.type)]
    if (agents === 'own' && actor.agentId !== null && record.event.agentId !== actor.agentId) return false
    const dependsOnWallet = agents !== 'all' && actor.agentId !== null
    const walletId = dependsOnWallet ? await walletOf(context, record) : undefined
    if (agents === 'wallets' && dependsOnWallet && walletId === undefined) return false
    const key = `${permission} ${walletId}`
    const isPartyWide = walletId === undefined && partyId === actor.partyId
    if (isPartyWide) return allows(actor, permission)
    const answer = answers.get(key) ?? isAllowedOnWallet(tx, actor, permission, { id: walletId ?? '', partyId })
    answers.set(key, answer)
    return answer
  }
  const found: EventRecord[] = []
  for (const record of await loadEventRecords(tx, events)) if (await mayRead(record)) found.push(record)
  return found
}

/** Returns the id of the wallet that an event concerns, if it is a wallet of the event's party; otherwise undefined. */
async function walletOf({ tx, actor }: Context, { event, record }: EventRecord): Promise<string | undefined> {
  const { partyId } = event
  const fields = (record ?? {}) as Partial<Pick<PaymentRow, 'partyId' | 'walletId' | 'transactionId'>> &
    Partial<Pick<ShopOrderRow, 'cardTransactionId'>> &
    Partial<Pick<PaymentRequestRow, 'payerAgentId'>>
  if (fields.cardTransactionId !== undefined)
    return (await findCardTransaction(tx, { partyId, agentId: null }, fields.cardTransactionId))?.walletId
  if (fields.partyId === partyId) return fields.walletId
  if (wordOf(event.type) === 'payment_request') {
    // To read a payment request and its events, an agent needs permission on the party's default wallet. If the request
    // is addressed to the agent itself, permission on any wallet is enough.
    const { agentId } = actor
    if (fields.payerAgentId !== agentId) return (await defaultWallet(tx, partyId))?.id
    return (await permittedWallets(tx, { partyId, agentId, requiredPermission: 'payments.read' }))?.[0]
  }
  // The record is another party's payment to this party, so the event concerns the wallet that received the money.
  const transaction =
    typeof fields.transactionId === 'string' ? await findTransaction(tx, partyId, fields.transactionId) : undefined
  return transaction?.destinationWalletId ?? undefined
}
