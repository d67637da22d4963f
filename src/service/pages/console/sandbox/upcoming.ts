import type { OperationKey } from '../../../../../tools/index.ts'
import { foreignName } from '../../../../core/foreign-text.ts'
import type { NextEvent } from '../../../request/due.ts'
import { readAsUser } from '../../../request/in-process.ts'
import { runIdOf } from '../../../request/run-log.ts'
import type { TimedKind } from '../../../rules/failed-effects.ts'
import { dollars } from '../../frame/texts.ts'
import type { Viewer } from '../live/streams.ts'
import type { ConsoleDependencies } from '../shown.ts'
import { parsedWithoutCards } from '../without-cards.ts'

/** What happens next, and to what. */
export interface Upcoming extends NextEvent {
  /** Null: the record is not the user's to read alone. */
  record: RecordTold | null
}

interface RecordTold {
  /** What happens to it, where that depends on how it stands. */
  happens: string | null
  words: string
  /** Where more of it stands, and what that is called. */
  address: string
  at: string
}

/** What the API tells of a record; each has some of these. */
interface Told {
  amount: number
  held: number
  merchant: { name: string }
  description: string | null
  shopId: string
  terms: { description: string }
  status: string
  /** The run that made it: null is calls without one; of some records the API tells none. */
  instanceId?: string | null
}

interface Subject {
  key: OperationKey
  param: string
  words: (told: Told) => string
  happens?: (told: Told) => string
}

const named = (text: string | null) => foreignName(text ?? '', 'without a description', 80)
const asked = ({ amount, description }: Told) => `${dollars(amount)}, ${named(description)}`

/** A pending one waits for its payer; one that needs attention collects nothing, and misses its payments. */
const subscriptionHappens = ({ status }: Told) =>
  status === 'pending'
    ? 'The checkout of a subscription ends'
    : status === 'needs_attention'
      ? 'A payment of a subscription is missed'
      : 'A subscription is charged'

/** How each kind of record is read and told; an invitation is read in a list only. */
const subjects: Readonly<Record<TimedKind, Subject | null>> = {
  shop: { key: 'getShopOrder', param: 'orderId', words: ({ shopId }) => `An order at ${named(shopId)}` },
  bank: { key: 'getTransfer', param: 'transferId', words: asked },
  hold: {
    key: 'getCardTransaction',
    param: 'cardTransactionId',
    words: ({ held, merchant }) => `${dollars(held)} at ${named(merchant.name)}`,
  },
  subscription: {
    key: 'getSubscription',
    param: 'subscriptionId',
    words: ({ terms }) => named(terms.description),
    happens: subscriptionHappens,
  },
  invitation: null,
  request: { key: 'getPaymentRequest', param: 'paymentRequestId', words: asked },
}

const payment: Subject = { key: 'getPayment', param: 'paymentId', words: asked }

/** The same events with what the user may read of their records. */
export function withRecords(
  pages: ConsoleDependencies,
  { user }: Viewer,
  next: readonly NextEvent[],
): Promise<Upcoming[]> {
  const recordOf = async ({ kind, id }: NextEvent): Promise<RecordTold | null> => {
    const subject = id.startsWith('pay_') ? payment : subjects[kind]
    if (subject === null) return null
    const { status, body } = await readAsUser(pages, user, subject.key, { params: { [subject.param]: id } })
    if (status !== 200) return null
    const told = (parsedWithoutCards(body) as { data: { attributes: Told } }).data.attributes
    const { instanceId } = told
    const where =
      instanceId === undefined
        ? { address: `/console/money#${kind === 'subscription' ? id : 'requests'}`, at: 'Money' }
        : { address: `/console/runs/${runIdOf(user.partyId, instanceId)}`, at: 'its run' }
    return { happens: subject.happens?.(told) ?? null, words: subject.words(told), ...where }
  }
  return Promise.all(next.map(async (event) => ({ ...event, record: await recordOf(event) })))
}
