import type { z } from 'zod'
import type { Event } from '../../../../tools/events.ts'
import { timestamp } from '../../../core/system.ts'
import { type EventWord, eventKinds, wordOf } from '../../rules/event-types.ts'
import { findCardTransaction } from '../../store/card-transactions.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { findRecords, type RecordOf } from '../../store/event-records.ts'
import { atEvent } from '../../store/event-states.ts'
import type { EventRow } from '../../store/schema/events.ts'
import type { WebhookRow } from '../../store/schema/webhooks.ts'
import { eventIds } from '../../tokens/event-ids.ts'
import { cardView } from '../agent-cards.ts'
import { approvalView } from '../approvals.ts'
import { transactionView } from '../card-transactions.ts'
import { viewAt } from '../customer-invitations.ts'
import { externalAccountView } from '../external-accounts.ts'
import { complianceCaseView, partyView } from '../parties.ts'
import { partyInvitationView } from '../party-invitations.ts'
import { paymentView } from '../payments.ts'
import { orderView } from '../shops.ts'
import { subscriptionView } from '../subscriptions.ts'
import { transferView } from '../transfers.ts'
import { walletView } from '../wallets.ts'
import { requestViews } from './show-request.ts'
import { webhookView } from './webhook-view.ts'

export type EventResource = z.output<typeof Event>

/** An event and the record that it is about. */
export interface EventRecord {
  event: EventRow
  /**
   * The record as it was at the time of the event, or as it is now if the event stores no state. Undefined if the
   * record no longer exists.
   */
  record: { id: string } | undefined
}

/** Loads the records that the events are about. For each party, all records of the same kind are loaded together. */
export async function loadEventRecords(tx: Transaction, events: readonly EventRow[]): Promise<EventRecord[]> {
  const groups = Map.groupBy(events, ({ partyId, type }) => `${partyId} ${wordOf(type)}`)
  const found = new Map<string, Awaited<ReturnType<typeof findRecords>>>()
  for (const [group, [first, ...others]] of groups) {
    if (first === undefined) continue
    const ids = [first, ...others].map(({ resourceId }) => resourceId)
    found.set(group, await findRecords(tx, wordOf(first.type), { partyId: first.partyId, ids }))
  }
  return events.map((event) => {
    const current = found.get(`${event.partyId} ${wordOf(event.type)}`)?.get(event.resourceId)
    return { event, record: current && atEvent(current, event) }
  })
}

/** Renders events for the API and for webhooks, without secrets. */
export async function eventViews(tx: Transaction, records: readonly EventRecord[]): Promise<EventResource[]> {
  const { idOf } = await eventIds(tx)
  return Promise.all(
    records.map(async ({ event, record }) => {
      const word = wordOf(event.type)
      const render: Renderer<never> = renderers[word]
      const object = record === undefined ? null : await render({ tx, event, row: record as never })
      return {
        type: 'event' as const,
        id: idOf(event),
        attributes: {
          eventType: event.type,
          resourceId: event.resourceId,
          resourceType: eventKinds[word].resource,
          payload: { object },
          createdAt: timestamp(event.createdAtMs),
        },
        relationships: { party: { data: { type: 'party' as const, id: event.partyId } } },
      }
    }),
  )
}

/** The arguments of a renderer. */
interface RenderedEvent<Row> {
  tx: Transaction
  event: EventRow
  row: Row
}

type Renderer<Row> = (rendered: RenderedEvent<Row>) => Record<string, unknown> | Promise<Record<string, unknown>>

const transfer: Renderer<RecordOf<'transfer'>> = ({ row }) => transferView(row)

/** The renderer for each kind of record. */
const renderers: { readonly [Word in EventWord]: Renderer<RecordOf<Word>> } = {
  party: ({ row }) => partyView(row),
  compliance_case: ({ row }) => complianceCaseView(row),
  wallet: ({ row }) => walletView(row, { amount: 0, count: 0 }),
  external_account: ({ row }) => externalAccountView(row),
  agent_delegation_invitation: ({ row }) => withoutUrl(viewAt(row, '')),
  agent_delegation: ({ row }) => delegationView(row),
  delegation: ({ row }) => delegationView(row),
  deposit: transfer,
  withdrawal: transfer,
  transfer,
  payment: ({ row, event }) => paymentView(row, event.partyId),
  approval: ({ row, tx }) => approvalView(tx, row),
  payment_request: async ({ row, event, tx }) => {
    const { partyId, createdAtMs: nowMs } = event
    const view = await requestViews({ tx, nowMs, publicUrl: () => 'http://localhost', partyId })(row)
    return { ...view, attributes: { ...view.attributes, paymentLinkUrl: null } }
  },
  party_invitation: ({ row }) => partyInvitationView(row, null),
  decision: ({ row, event }) => ({
    type: 'decision',
    id: row.id,
    attributes: { status: event.type.slice('decision.'.length) },
  }),
  agent_card: ({ row, event }) => cardView(row, event.createdAtMs),
  card_transaction: ({ row }) => transactionView(row),
  subscription: ({ row }) => subscriptionView(row, { checkoutUrl: null, clientSecret: null }),
  shop_order: async ({ row, tx }) => {
    const purchase = await findCardTransaction(tx, { partyId: row.partyId, agentId: null }, row.cardTransactionId)
    if (purchase === undefined) throw new Error(`Bug: the purchase of the order ${row.id} is gone.`)
    return orderView(row, purchase)
  },
  webhook: ({ row }) => webhookView(row as WebhookRow),
}

/** Removes the URL of an invitation's page, because anyone who has this URL can accept or decline the invitation. */
function withoutUrl<View extends { attributes: object }>(view: View) {
  return { ...view, attributes: { ...view.attributes, url: null } }
}

function delegationView(row: RecordOf<'delegation'>) {
  return {
    type: 'delegation',
    id: row.id,
    attributes: {
      status: row.status,
      permissions: JSON.parse(row.permissions) as string[],
      limits: row.limits === null ? null : (JSON.parse(row.limits) as object),
      createdAt: timestamp(row.createdAtMs),
      revokedAt: row.revokedAtMs === null ? null : timestamp(row.revokedAtMs),
    },
    relationships: {
      agent: { data: { type: 'agent', id: row.agentId } },
      customerParty: { data: { type: 'party', id: row.customerPartyId } },
    },
  }
}
