import { Failure } from '../../core/errors.ts'
import { newId, timestamp } from '../../core/system.ts'
import { refuseWorld } from '../../worlds/invalid-world.ts'
import type { WorldParty } from '../../worlds/shape.ts'
import { subscriptionPaid } from '../rules/ledger.ts'
import { freezeTerms, type Terms } from '../rules/subscription-terms.ts'
import {
  type Billed,
  type Billing,
  billUntil,
  cancel,
  changeCard,
  markPaid,
  nextEventAtMs,
  payInCheckout,
  resume,
  startBilling,
} from '../rules/subscriptions.ts'
import { insertSubscription, type SubscriptionRecord, saveBilling } from '../store/subscriptions.ts'
import type { Path } from './history.ts'
import type { WorldBuilder } from './world-builder.ts'

type Subscription = NonNullable<WorldParty['subscriptions']>[number]
type Event = NonNullable<Subscription['history']>[number]

/** An event of a subscription, with its charges and the billing state after the event. */
interface Step extends Billed {
  atMs: number
  path: Path
}

const dayMs = 24 * 60 * 60 * 1000
/**
 * A subscription with this many billing events before the world begins is invalid. Billing events are payments, failed
 * attempts and missed payments. No real subscription has so many.
 */
const maxBillingEvents = 10_000

/** Adds a party's subscriptions to the history, each with all payments that are due before the world begins. */
export function planSubscriptions(builder: WorldBuilder, index: number): void {
  for (const [at, subscription] of (builder.account(index).party.subscriptions ?? []).entries()) {
    planSubscription(builder, index, subscription, ['parties', index, 'subscriptions', at])
  }
}

function planSubscription(builder: WorldBuilder, index: number, file: Subscription, path: Path): void {
  const { tx, system, clockMs } = builder.context
  const wallet = builder.wallet(index, file.wallet)
  const paidAtMs = file.paidAt === undefined ? undefined : builder.past(file.paidAt, clockMs, [...path, 'paidAt'])
  const createdAtMs = builder.past(file.createdAt, paidAtMs ?? clockMs, [...path, 'createdAt'])
  if (paidAtMs !== undefined && paidAtMs < createdAtMs) {
    refuseWorld([...path, 'paidAt'], `must not be before createdAt, which is ${timestamp(createdAtMs)}`)
  }
  const terms = termsOf(file, path)
  const open = paidAtMs === undefined ? file.checkoutExpiresAt : null
  const billing = startBilling(createdAtMs, open === null ? null : builder.moment(open, createdAtMs + dayMs))
  let record: SubscriptionRecord = {
    id: builder.id('sub', file.id, createdAtMs),
    partyId: wallet.partyId,
    walletId: wallet.id,
    paymentIntentId: builder.id('pmi', file.paymentIntentId, createdAtMs),
    mandateId: null,
    agentId: builder.agent(index, file.agent)?.id ?? null,
    instanceId: file.instanceId ?? null,
    status: billing.status,
    terms,
    billing,
    currency: 'USD',
    nextEventAtMs: nextEventAtMs(terms, billing),
    version: 1,
    createdAtMs,
    updatedAtMs: createdAtMs,
  }
  builder.history.add({ atMs: createdAtMs, path, postings: [], apply: () => insertSubscription(tx, record) })
  for (const { atMs, path: where, ...billed } of stepsOf(builder, { terms, billing, file, paidAtMs, path })) {
    const postings = billed.charges.map(({ amount }) => subscriptionPaid(wallet.id, amount))
    const apply = async () => {
      const isNew = record.mandateId === null && billed.billing.anchorMs !== null
      const mandateId = isNew ? (file.mandateId ?? newId('mdt', system, atMs)) : record.mandateId
      record = await saveBilling(tx, system, { before: { ...record, mandateId }, billed })
    }
    builder.history.add({ atMs, path: where, postings, apply })
  }
}

function termsOf(file: Subscription, path: Path): Terms {
  try {
    return freezeTerms(file)
  } catch (error) {
    if (error instanceof Failure) refuseWorld(path, error.message)
    throw error
  }
}

interface BilledSubscription {
  terms: Terms
  billing: Billing
  file: Subscription
  paidAtMs: number | undefined
  path: Path
}

/** Yields the subscription's events in chronological order. */
function* stepsOf(
  builder: WorldBuilder,
  { terms, billing: first, file, paidAtMs, path }: BilledSubscription,
): Generator<Step> {
  let billing = first
  let count = 0
  function* stepsUntil(untilMs: number): Generator<Step> {
    for (; count < maxBillingEvents; count++) {
      const { events, ...billed } = billUntil(terms, billing, untilMs, 1)
      if (events === 0) return
      billing = billed.billing
      yield { ...billed, atMs: billing.updatedAtMs, path }
    }
    refuseWorld(path, `has ${maxBillingEvents} or more billing events before the world begins`)
  }
  if (paidAtMs !== undefined) {
    const { charges, ...paid } = payInCheckout(terms, billing, 'approves', paidAtMs)
    billing = file.card === 'approves' ? paid.billing : changeCard(paid.billing, file.card, undefined, paidAtMs)
    yield { billing, charges, atMs: paidAtMs, path }
  }
  let lastMs = paidAtMs ?? first.updatedAtMs
  for (const [at, event] of (file.history ?? []).entries()) {
    const eventPath = [...path, 'history', at]
    lastMs = builder.past(event.at, lastMs, [...eventPath, 'at'], lastMs)
    yield* stepsUntil(lastMs)
    const billed = applyWorldEvent(terms, billing, event, lastMs, eventPath)
    billing = billed.billing
    yield { ...billed, atMs: lastMs, path: eventPath }
  }
  yield* stepsUntil(builder.context.clockMs)
}

function applyWorldEvent(terms: Terms, billing: Billing, event: Event, atMs: number, path: Path): Billed {
  try {
    return changeBilling(terms, billing, event, atMs)
  } catch (error) {
    if (error instanceof Failure) refuseWorld(path, `could not happen at ${timestamp(atMs)}: ${error.message}`)
    throw error
  }
}

function changeBilling(terms: Terms, billing: Billing, event: Event, atMs: number): Billed {
  if (event.event === 'resumed') return resume(terms, billing, atMs)
  if (event.event === 'canceled') return { billing: cancel(billing, atMs), charges: [] }
  if (event.event === 'marked_paid')
    return { billing: markPaid(terms, billing, event.paymentNumber, atMs), charges: [] }
  return { billing: changeCard(billing, event.card, event.fromPaymentNumber, atMs), charges: [] }
}
