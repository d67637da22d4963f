import { type Kysely, sql } from 'kysely'
import { hmac, newSecret, nextTurn, realSystem, sha256 } from '../../../core/system.ts'
import { startOfDayAndMonth } from '../../rules/calendar.ts'
import { countedOfPayment, countedOfPurchase } from '../../rules/limits.ts'
import { chargeKey } from '../../rules/subscription-payments.ts'
import { type ActivityHead, sealedText } from './activity.ts'
import { fillActivityLists } from './fill-lists.ts'
import { changeTable, integer, speaksPostgres, text } from './table.ts'
import type { Tables } from './tables.ts'
import { nameTenants } from './tenants.ts'
import type { TransactionRow } from './transactions.ts'

/** What migrations do to the rows there are, and to the one table that is gone, once the tables are changed. */
export const rowChanges: Readonly<Record<string, (db: Kysely<unknown>) => Promise<void>>> = {
  '0001_first_schema': async (db) => {
    await sql`insert into ${sql.table('clock')} (${sql.ref('id')}, ${sql.ref('offsetMs')}) values (1, 0)`.execute(db)
  },
  '0002_subscriptions': (db) =>
    changeTable(db, 'checkoutKey', { secret: text, id: integer, $checks: { one_row: '"id" = 1' } }, true),
  '0006_second_factors': makeCheckoutKey,
  '0011_mcp_session_bounds': boundSessions,
  '0012_root_keys': async (db) => {
    await moveCheckoutKey(db)
    await hashIdempotencyKeys(db)
  },
  '0016_subscription_transactions': addChargeTransactions,
  '0017_activity_heads': sealActivityHeads,
  '0020_lists': async (older) => {
    const db = older as Kysely<Tables>
    const deleted = db.selectFrom('agents').select('id').where('status', '=', 'REVOKED')
    for (const table of ['walletAgents', 'walletPermissions'] as const) {
      await db.deleteFrom(table).where('agentId', 'in', deleted).execute()
    }
  },
  '0021_totals_and_due': async (db) => {
    await countSpending(db)
    // What was summed up by them has totals now.
    for (const name of ['cardTransactions', 'payments']) {
      await db.schema.dropIndex(`${name}_by_partyId_createdAtMs`).ifExists().execute()
    }
  },
  '0022_storage': dropLedgerByWallet,
  '0024_tenants': nameTenants,
  '0043_activity_lists': fillActivityLists,
}

async function makeCheckoutKey(db: Kysely<unknown>): Promise<void> {
  // A refusal undoes what its handler wrote, and the 428 names an address that is signed with this key. Were it made
  // there first, the address would be signed with a key that is gone.
  const [checkoutKey, id, secret] = [sql.table('checkoutKey'), sql.ref('id'), sql.ref('secret')]
  const insert = sql`insert into ${checkoutKey} (${id}, ${secret}) values (1, ${newSecret(realSystem)})`
  await sql`${insert} on conflict (${id}) do nothing`.execute(db)
}

/**
 * Nobody reads the ledger by wallet: a wallet's row has its balances. SQLite visits each page of an index that it drops,
 * so where there are many the index stays, which costs room only.
 */
async function dropLedgerByWallet(db: Kysely<unknown>): Promise<void> {
  const many = sql`select 1 from ${sql.table('ledgerEntries')} limit 1 offset 10000`
  if (!speaksPostgres(db) && (await many.execute(db)).rows.length > 0) return
  await db.schema.dropIndex('ledgerEntries_by_walletId').ifExists().execute()
}

/** Tells whose sessions they are. What was kept before may be secret, so it goes. */
async function boundSessions(db: Kysely<unknown>): Promise<void> {
  await sql`update ${sql.table('mcpSessions')} set ${sql.ref('partyId')} = ${sql.ref('principalId')}`.execute(db)
  for (const table of ['mcpEvents', 'mcpMail']) await sql`delete from ${sql.table(table)}`.execute(db)
}

/** The one key there was becomes the first of several. */
async function moveCheckoutKey(db: Kysely<unknown>): Promise<void> {
  const [rootKeys, checkoutKey] = [sql.table('rootKeys'), sql.table('checkoutKey')]
  const columns = sql`${sql.ref('id')}, ${sql.ref('secret')}, ${sql.ref('createdAtMs')}`
  const createdAtMs = sql.lit(realSystem.now())
  await sql`insert into ${rootKeys} (${columns}) select 1, ${sql.ref('secret')}, ${createdAtMs} from ${checkoutKey}`.execute(
    db,
  )
  await sql`insert into ${rootKeys} (${columns}) select 1, ${newSecret(realSystem)}, ${createdAtMs} where not exists (select 1 from ${rootKeys})`.execute(
    db,
  )
  await db.schema.dropTable('checkoutKey').execute()
}

interface Recorded {
  idempotencyRecords: { partyId: string; key: string; body: string | null }
}

/**
 * Leaves only hashes of the keys that the database remembers; their answers are replayed as before. The client secret
 * was left out of answers in another way, which nothing fills in any more: until such an answer is forgotten it tells none.
 */
async function hashIdempotencyKeys(db: Kysely<unknown>): Promise<void> {
  const records = db as Kysely<Recorded>
  const concealed = '"clientSecret":""'
  await records
    .updateTable('idempotencyRecords')
    .set({ body: sql<string>`replace(body, ${concealed}, '"clientSecret":null')` })
    .where('body', 'like', `%${concealed}%`)
    .execute()
  if (speaksPostgres(db)) {
    const hash = sql<string>`encode(sha256(convert_to(key, 'UTF8')), 'hex')`
    await records.updateTable('idempotencyRecords').set({ key: hash }).execute()
    return
  }
  // SQLite has no function for it.
  for (const { partyId, key } of await records.selectFrom('idempotencyRecords').select(['partyId', 'key']).execute()) {
    const record = records.updateTable('idempotencyRecords').where('partyId', '=', partyId).where('key', '=', key)
    await record.set({ key: sha256(key) }).execute()
  }
}

const batch = 500

/** Transactions tell of which subscription they are; charges that were made before get theirs. */
async function addChargeTransactions(older: Kysely<unknown>): Promise<void> {
  const db = older as Kysely<Omit<Tables, 'transactions'> & { transactions: Omit<TransactionRow, 'partyId'> }>
  for (let offset = 0; ; offset += batch) {
    const charges = await db
      .selectFrom('subscriptionPayments as charge')
      .innerJoin('subscriptions as of', 'of.id', 'charge.subscriptionId')
      .select(['charge.subscriptionId', 'charge.paymentNumber', 'charge.amountCents', 'charge.chargedAtMs'])
      .select(['of.partyId', 'of.walletId', 'of.currency', 'of.terms'])
      .orderBy('charge.subscriptionId')
      .orderBy('charge.paymentNumber')
      .limit(batch)
      .offset(offset)
      .execute()
    if (charges.length === 0) return
    const transactions = charges.map(({ subscriptionId, paymentNumber, ...charge }) => {
      const paymentId = chargeKey(subscriptionId, paymentNumber)
      return {
        // Its time, so that it stands where it belongs among the others, and digits that are its own.
        id: `txn_${charge.chargedAtMs.toString(16).padStart(12, '0')}${sha256(paymentId).slice(0, 20)}`,
        transactionType: 'payment' as const,
        paymentId,
        subscriptionId,
        sourcePartyId: null,
        sourceWalletId: null,
        destinationPartyId: charge.partyId,
        destinationWalletId: charge.walletId,
        delegated: 0 as const,
        amountCents: charge.amountCents,
        currency: charge.currency,
        description: (JSON.parse(charge.terms) as { description: string }).description,
        createdAtMs: charge.chargedAtMs,
      }
    })
    await db.insertInto('transactions').values(transactions).execute()
  }
}

/** The chains there are reach as far as they do now. */
async function sealActivityHeads(db: Kysely<unknown>): Promise<void> {
  const keys = await sql<{ id: number; secret: string }>`select * from ${sql.table('rootKeys')} order by id`.execute(db)
  const key = keys.rows.find(({ id }) => id === 1)
  const last = sql`select max(${sql.ref('sequence')}) from ${sql.table('activity')} b where b.${sql.ref('partyId')} = a.${sql.ref('partyId')}`
  const heads = await sql<ActivityHead>`
    select ${sql.ref('partyId')}, ${sql.ref('sequence')}, ${sql.ref('hash')} from ${sql.table('activity')} a
    where ${sql.ref('sequence')} = (${last})`.execute(db)
  for (const { partyId, sequence, hash } of heads.rows) {
    if (key === undefined) throw new Error('Bug: there is no root key.')
    const seal = hmac(key.secret, sealedText({ partyId, sequence: Number(sequence), hash }))
    await sql`insert into ${sql.table('activityHeads')} (${sql.ref('partyId')}, ${sql.ref('sequence')}, ${sql.ref('hash')}, ${sql.ref('seal')})
      values (${partyId}, ${sequence}, ${hash}, ${seal})`.execute(db)
  }
}

/** The totals of each party's latest month: what was spent in an earlier one is compared with no limit any more. */
async function countSpending(older: Kysely<unknown>): Promise<void> {
  const db = older as Kysely<Tables>
  for (let afterId = ''; ; ) {
    const parties = await db
      .selectFrom('parties')
      .select('id')
      .where('id', '>', afterId)
      .orderBy('id')
      .limit(batch)
      .execute()
    for (const { id } of parties) await countSpendingOf(db, id)
    const last = parties.at(-1)
    if (last === undefined) return
    afterId = last.id
  }
}

async function countSpendingOf(db: Kysely<Tables>, partyId: string): Promise<void> {
  const latest = (rows: 'payments' | 'cardTransactions') =>
    db
      .selectFrom(rows)
      .select((row) => row.fn.max('createdAtMs').as('atMs'))
      .where('partyId', '=', partyId)
  const [payment, purchase] = [latest('payments').as('payment'), latest('cardTransactions').as('purchase')]
  const last = await db.selectNoFrom([payment, purchase]).executeTakeFirstOrThrow()
  const { dayStartMs, monthStartMs } = startOfDayAndMonth(Math.max(last.payment ?? 0, last.purchase ?? 0))
  const totals = new Map<string, { dayCents: number; monthCents: number }>()
  for (const pageAfter of [paymentsSpent, purchasesSpent]) {
    let after: Place = { createdAtMs: monthStartMs, id: '' }
    for (let page = await pageAfter(db, partyId, after); page.length > 0; page = await pageAfter(db, partyId, after)) {
      for (const { agentId, createdAtMs, cents } of page) {
        const { dayCents, monthCents } = totals.get(agentId ?? '') ?? { dayCents: 0, monthCents: 0 }
        const today = createdAtMs >= dayStartMs ? cents : 0
        totals.set(agentId ?? '', { dayCents: dayCents + today, monthCents: monthCents + cents })
      }
      after = page.at(-1) ?? after
      await nextTurn()
    }
  }
  for (const [agentId, total] of totals) {
    const row = { partyId, agentId, dayMs: dayStartMs, monthMs: monthStartMs, ...total }
    await db.insertInto('spending').values(row).execute()
  }
}

/** Where a page ends: the next one begins after it. */
interface Place {
  createdAtMs: number
  id: string
}

async function paymentsSpent(db: Kysely<Tables>, partyId: string, { createdAtMs, id }: Place) {
  const rows = await db
    .selectFrom('payments')
    .select(['id', 'agentId', 'createdAtMs', 'kind', 'status', 'amountCents'])
    .where('partyId', '=', partyId)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('createdAtMs', 'id'), '>', tuple(createdAtMs, id)))
    .orderBy('createdAtMs')
    .orderBy('id')
    .limit(batch)
    .execute()
  // No card had paid one by then, and no bank account was linked.
  const none = { method: null, externalAccountId: null }
  return rows.map((row) => ({ ...row, cents: countedOfPayment({ ...row, ...none }) }))
}

async function purchasesSpent(db: Kysely<Tables>, partyId: string, { createdAtMs, id }: Place) {
  const rows = await db
    .selectFrom('cardTransactions as purchase')
    .innerJoin('agentCards', 'agentCards.id', 'purchase.cardId')
    .select(['purchase.id', 'agentCards.agentId', 'purchase.createdAtMs'])
    .select(['purchase.kind', 'purchase.heldCents', 'purchase.capturedCents'])
    .where('purchase.partyId', '=', partyId)
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('purchase.createdAtMs', 'purchase.id'), '>', tuple(createdAtMs, id)),
    )
    .orderBy('purchase.createdAtMs')
    .orderBy('purchase.id')
    .limit(batch)
    .execute()
  return rows.map((row) => ({ ...row, cents: countedOfPurchase(row) }))
}
