import type { OperationKey } from '../../../../../tools/index.ts'
import { foreignName } from '../../../../core/foreign-text.ts'
import type { NextEvent } from '../../../request/due-effects.ts'
import { readAsUser } from '../../../request/in-process.ts'
import { runIdOf } from '../../../request/run-log.ts'
import type { TimedKind } from '../../../rules/failed-effects.ts'
import { dollars } from '../../frame/texts.ts'
import type { Viewer } from '../live/streams.ts'
import type { ConsoleDependencies } from '../serve-page.ts'
import { parsedWithoutCards } from '../without-cards.ts'

/** An upcoming event, with a summary of the record that the event changes. */
export interface Upcoming extends NextEvent {
  /** Null if the user may not read the record, or if the API returns such records only in lists. */
  record: RecordSummary | null
}

interface RecordSummary {
  /** The name of the event. Null if all events of the same kind have the same name. */
  eventText: string | null
  description: string
  /** The address of a page with the record's details. */
  address: string
  /** The text of the link to that page. */
  linkText: string
}

/** The fields of records in API responses. No kind of record has all of them. */
interface RecordAttributes {
  amount: number
  held: number
  merchant: { name: string }
  description: string | null
  shopId: string
  terms: { description: string }
  status: string
  /** The instance id of the run that created the record. Some kinds of records have no such field. */
  instanceId?: string | null
}

interface Subject {
  key: OperationKey
  param: string
  describe: (attributes: RecordAttributes) => string
  eventText?: (attributes: RecordAttributes) => string
}

const nameText = (text: string | null) => foreignName(text ?? '', 'without a description', 80)
const requestLine = ({ amount, description }: RecordAttributes) => `${dollars(amount)}, ${nameText(description)}`

/**
 * Returns the name of a subscription's next event. The checkout of a pending subscription expires. A subscription that
 * needs attention misses a payment. Every other subscription is charged.
 */
const subscriptionHappens = ({ status }: RecordAttributes) =>
  status === 'pending'
    ? 'Subscription checkout expires'
    : status === 'needs_attention'
      ? 'Subscription payment is missed'
      : 'Subscription is charged'

/**
 * For each kind of event: the operation that reads the event's record, and the functions that describe the record. The
 * value for invitations is null, because the API returns invitations only in lists.
 */
const subjects: Readonly<Record<TimedKind, Subject | null>> = {
  shop: { key: 'getShopOrder', param: 'orderId', describe: ({ shopId }) => `An order at ${nameText(shopId)}` },
  bank: { key: 'getTransfer', param: 'transferId', describe: requestLine },
  hold: {
    key: 'getCardTransaction',
    param: 'cardTransactionId',
    describe: ({ held, merchant }) => `${dollars(held)} at ${nameText(merchant.name)}`,
  },
  subscription: {
    key: 'getSubscription',
    param: 'subscriptionId',
    describe: ({ terms }) => nameText(terms.description),
    eventText: subscriptionHappens,
  },
  invitation: null,
  request: { key: 'getPaymentRequest', param: 'paymentRequestId', describe: requestLine },
}

const payment: Subject = { key: 'getPayment', param: 'paymentId', describe: requestLine }

/**
 * Adds to each event a summary of the event's record. The summary is null if the user may not read the record, or if
 * the API returns such records only in lists.
 */
export function withRecords(
  pages: ConsoleDependencies,
  { user }: Viewer,
  next: readonly NextEvent[],
): Promise<Upcoming[]> {
  const recordOf = async ({ kind, id }: NextEvent): Promise<RecordSummary | null> => {
    const subject = id.startsWith('pay_') ? payment : subjects[kind]
    if (subject === null) return null
    const { status, body } = await readAsUser(pages, user, subject.key, { params: { [subject.param]: id } })
    if (status !== 200) return null
    const attributes = (parsedWithoutCards(body) as { data: { attributes: RecordAttributes } }).data.attributes
    const { instanceId } = attributes
    const where =
      instanceId === undefined
        ? { address: `/console/money#${kind === 'subscription' ? id : 'requests'}`, linkText: 'View in Money' }
        : { address: `/console/runs/${runIdOf(user.partyId, instanceId)}`, linkText: 'View run' }
    return { eventText: subject.eventText?.(attributes) ?? null, description: subject.describe(attributes), ...where }
  }
  return Promise.all(next.map(async (event) => ({ ...event, record: await recordOf(event) })))
}
