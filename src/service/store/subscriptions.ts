import { subscriptionStatuses } from '../../../tools/subscriptions.ts'
import { newId, type System } from '../../core/system.ts'
import { billingEvents } from '../rules/events.ts'
import { subscriptionPaid } from '../rules/ledger.ts'
import { chargeKey } from '../rules/subscription-payments.ts'
import type { Terms } from '../rules/subscription-terms.ts'
import { type Billed, type Billing, nextEventAtMs } from '../rules/subscriptions.ts'
import type { DueOf, Moments } from './clock.ts'
import { inBatches } from './engine/batches.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import { preparedInsert } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import { postAll } from './ledger.ts'
import { findParty } from './parties.ts'
import { keepMessage } from './sandbox-messages.ts'
import type { SubscriptionRow } from './schema/subscriptions.ts'
import { insertCharge } from './subscription-payments.ts'
import { insertTransaction } from './transactions.ts'
import { type ListScope, permittedWallets } from './wallet-permissions.ts'
import { findWallet } from './wallets.ts'

/** A stored subscription, with its terms and billing parsed. */
export interface SubscriptionRecord extends Omit<SubscriptionRow, 'terms' | 'billing'> {
  terms: Terms
  billing: Billing
}

export async function findSubscription(
  tx: Transaction,
  partyId: string,
  id: string,
): Promise<SubscriptionRecord | undefined> {
  const [row] = (await subscriptionOf(tx, { id, partyId })).rows
  return row && parse(row)
}

const subscriptionOf = prepared((db, by: { id: string; partyId: string }) =>
  db.selectFrom('subscriptions').selectAll().where('id', '=', by.id).where('partyId', '=', by.partyId),
)

/** Finds subscriptions of a party by their ids. */
export async function findSubscriptions(
  { db }: Transaction,
  { partyId, ids }: { partyId: string; ids: readonly string[] },
): Promise<SubscriptionRecord[]> {
  const all = db.selectFrom('subscriptions').selectAll().where('partyId', '=', partyId)
  return (await all.where('id', 'in', ids).execute()).map(parse)
}

/**
 * Finds a subscription of any party by the subscription's id, or by the payment intent of its first payment. Only for
 * the payer's pages, because their links identify the subscription but not the party.
 */
export async function findSubscriptionOfAnyParty(
  tx: Transaction,
  by: { id: string } | { paymentIntentId: string },
): Promise<SubscriptionRecord | undefined> {
  const [row] = (await ('id' in by ? subscriptionById(tx, by) : subscriptionOfIntent(tx, by))).rows
  return row && parse(row)
}

const subscriptionOfIntent = prepared((db, by: { paymentIntentId: string }) =>
  db.selectFrom('subscriptions').selectAll().where('paymentIntentId', '=', by.paymentIntentId),
)

const subscriptionById = prepared((db, by: { id: string }) =>
  db.selectFrom('subscriptions').selectAll().where('id', '=', by.id),
)

export async function listSubscriptions(
  tx: Transaction,
  scope: ListScope,
  status: SubscriptionRow['status'] | undefined,
  page: PageRequest,
): Promise<PageOf<SubscriptionRecord>> {
  const walletId = await permittedWallets(tx, scope)
  const columns = { partyId: [scope.partyId], status: status === undefined ? subscriptionStatuses : [status] }
  const branches = walletId === undefined ? combinations(columns) : combinations({ ...columns, walletId })
  const { rows, lastId } = await walk(tx, branches, page, scope.partyId)
  return { rows: rows.map(parse), lastId }
}

const walk = createIndexWalk('subscriptions', (db) => db.selectFrom('subscriptions').selectAll())

export async function insertSubscription(tx: Transaction, record: SubscriptionRecord): Promise<void> {
  await insert(tx, { ...record, terms: JSON.stringify(record.terms), billing: JSON.stringify(record.billing) })
  recordEvents(tx, record, ['subscription.created'], record.createdAtMs)
}

const insert = preparedInsert('subscriptions')

/** Selects the time of the next automatic event of each subscription that has one. */
export const subscriptionEvents: Moments = (db, partyId) => {
  const all = db
    .selectFrom('subscriptions')
    .select(['id', 'partyId', 'nextEventAtMs as atMs'])
    .where('nextEventAtMs', 'is not', null)
  return partyId === undefined ? all : all.where('partyId', '=', partyId)
}

/** Returns a party's subscriptions whose next event is due, starting with the most overdue subscription. */
export async function dueSubscriptions(tx: Transaction, due: DueOf): Promise<SubscriptionRecord[]> {
  const { rows } = await dueOfParty(tx, due)
  return rows.map(parse)
}

const dueOfParty = prepared((db, by: DueOf) =>
  db
    .selectFrom('subscriptions')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('nextEventAtMs', '<=', by.nowMs)
    .orderBy('nextEventAtMs')
    .orderBy('id')
    .limit(by.limit),
)

/** A subscription as it is stored, and the new state of its billing. */
export interface Change {
  before: SubscriptionRecord
  billed: Billed
}

/** Saves the new state of one subscription, and posts the new charges to the merchant's wallet. */
export async function saveBilling(tx: Transaction, system: System, change: Change): Promise<SubscriptionRecord> {
  const [after] = await saveBillings(tx, system, [change])
  if (after === undefined) throw new Error('Bug: the saved subscription was not returned.')
  return after
}

/**
 * Saves the new states of several subscriptions. For each charge, inserts a row in `subscriptionPayments` and a
 * transaction, and posts the amount to the merchant's wallet. No payment can be charged twice, because the database
 * allows only one row for each payment number of a subscription.
 */
export async function saveBillings(
  tx: Transaction,
  system: System,
  changes: readonly Change[],
): Promise<SubscriptionRecord[]> {
  const saved: SubscriptionRecord[] = []
  for (const change of changes) saved.push(await saveOne(tx, system, change))
  const byWallet = Map.groupBy(changes, ({ before }) => before.walletId)
  for (const [walletId, inWallet] of byWallet) {
    const postings = inWallet.flatMap(({ before, billed }) =>
      billed.charges.map(({ amount, atMs }) => ({
        posting: subscriptionPaid(walletId, amount),
        nowMs: atMs,
        sourceId: before.id,
      })),
    )
    const [first] = inWallet
    if (postings.length === 0 || first === undefined) continue
    const wallet = await findWallet(tx, first.before.partyId, walletId)
    if (wallet === undefined) throw new Error(`Bug: the wallet ${walletId} of a subscription does not exist.`)
    await postAll(tx, system, wallet, postings)
  }
  return saved
}

async function saveOne(tx: Transaction, system: System, { before, billed }: Change): Promise<SubscriptionRecord> {
  const { billing, charges } = billed
  const { partyId, id, version, terms } = before
  const merchant = endsAgreement(before.status, billing.status) ? await findParty(tx, partyId) : undefined
  const row = {
    status: billing.status,
    mandateId: before.mandateId,
    billing: JSON.stringify(billing),
    nextEventAtMs: nextEventAtMs(terms, billing),
    updatedAtMs: billing.updatedAtMs,
  }
  await update(tx, { ...row, partyId, id, version, nextVersion: version + 1 })
  const after = { ...before, ...row, billing, version: version + 1 }
  recordEvents(tx, after, billingEvents(before.status, billing.status, charges.length), billing.updatedAtMs)
  if (merchant !== undefined) {
    // The recipient is just `payer`: the checkout asks only for a card, so the payer's email address is unknown.
    const mail = { kind: 'subscription_canceled', to: 'payer', about: after, from: merchant.displayName } as const
    await keepMessage({ tx, system, nowMs: billing.updatedAtMs }, mail)
  }
  for (const { paymentNumber, amount, taxAmount, atMs } of charges) {
    await insertCharge(tx, {
      partyId,
      subscriptionId: id,
      paymentNumber,
      amountCents: amount,
      taxCents: taxAmount,
      chargedAtMs: atMs,
    })
    await insertTransaction(tx, {
      id: newId('txn', system, atMs),
      partyId,
      transactionType: 'payment',
      paymentId: chargeKey(id, paymentNumber),
      subscriptionId: id,
      sourcePartyId: null,
      sourceWalletId: null,
      destinationPartyId: partyId,
      destinationWalletId: before.walletId,
      delegated: 0,
      amountCents: amount,
      currency: before.currency,
      description: terms.description,
      returnedAtMs: null,
      createdAtMs: atMs,
    })
  }
  return after
}

/**
 * Returns whether a change of status ends payments to which the payer had agreed. The payer gets a message only about
 * such a change (docs/service.md#canceling-a-subscription).
 */
function endsAgreement(before: SubscriptionRow['status'], after: SubscriptionRow['status']): boolean {
  return after === 'canceled' && before !== 'canceled' && before !== 'pending'
}

type Update = Pick<
  SubscriptionRow,
  'partyId' | 'id' | 'status' | 'mandateId' | 'billing' | 'nextEventAtMs' | 'updatedAtMs' | 'version'
>

const update = changingOne(
  (db, { partyId, id, version, nextVersion, ...row }: Update & { nextVersion: number }) =>
    db
      .updateTable('subscriptions')
      .set({ ...row, version: nextVersion })
      .where('partyId', '=', partyId)
      .where('id', '=', id)
      .where('version', '=', version),
  ({ id }) => `subscription ${id}`,
)

function parse(row: SubscriptionRow): SubscriptionRecord {
  return { ...row, terms: JSON.parse(row.terms) as Terms, billing: JSON.parse(row.billing) as Billing }
}

export function subscriptionsById(
  tx: Transaction,
  partyId: string,
  ids: readonly string[],
): Promise<SubscriptionRow[]> {
  return inBatches(ids, (batch) =>
    tx.db.selectFrom('subscriptions').selectAll().where('partyId', '=', partyId).where('id', 'in', batch).execute(),
  )
}
