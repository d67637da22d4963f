import { externalAccountStatuses } from '../../../tools/external-accounts.ts'
import { externalAccountEvents } from '../rules/events.ts'
import { finderOf } from './engine/find.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import { preparedInsert } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import type { ExternalAccountRow } from './schema/external-accounts.ts'

/** Finds a party's external account, whether or not it has been unlinked. */
export const findExternalAccount = finderOf('externalAccounts', 'partyId', 'id')

/** Finds a party's external account by its id at the bank, whether or not it has been unlinked. */
export async function findAccountAtBank(
  tx: Transaction,
  by: { partyId: string; bankAccountId: string },
): Promise<ExternalAccountRow | undefined> {
  return (await accountAtBank(tx, by)).rows[0]
}

const accountAtBank = prepared((db, by: { partyId: string; bankAccountId: string }) =>
  db
    .selectFrom('externalAccounts')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('bankAccountId', '=', by.bankAccountId),
)

const linked = externalAccountStatuses.filter((status) => status !== 'deleted')

/** Returns a party's external accounts, except unlinked ones. */
export function listExternalAccounts(
  tx: Transaction,
  partyId: string,
  page: PageRequest,
): Promise<PageOf<ExternalAccountRow>> {
  return walk(tx, combinations({ partyId: [partyId], status: linked }), page, partyId)
}

const walk = createIndexWalk('externalAccounts', (db) => db.selectFrom('externalAccounts').selectAll())

/** Adds an external account and records an event for its party. */
export async function insertExternalAccount(tx: Transaction, row: ExternalAccountRow): Promise<void> {
  await insert(tx, row)
  recordEvents(tx, row, externalAccountEvents(undefined, row), row.createdAtMs)
}

const insert = preparedInsert('externalAccounts')

type Change = Pick<
  ExternalAccountRow,
  'status' | 'connectionStatus' | 'bankName' | 'agentId' | 'instanceId' | 'updatedAtMs'
>

/** Updates an external account, and records the resulting events for its party. */
export async function updateExternalAccount(
  tx: Transaction,
  before: ExternalAccountRow,
  change: Partial<Change> & Pick<Change, 'updatedAtMs'>,
): Promise<ExternalAccountRow> {
  const after = { ...before, ...change, version: before.version + 1 }
  const { partyId, id, version } = before
  const { status, connectionStatus, bankName, agentId, instanceId, updatedAtMs } = after
  await update(tx, {
    partyId,
    id,
    version,
    next: after.version,
    status,
    connectionStatus,
    bankName,
    agentId,
    instanceId,
    updatedAtMs,
  })
  recordEvents(tx, after, externalAccountEvents(before, after), updatedAtMs)
  return after
}

const update = changingOne(
  (
    db,
    { partyId, id, version, next, ...change }: Change & { partyId: string; id: string; version: number; next: number },
  ) =>
    db
      .updateTable('externalAccounts')
      .set({ ...change, version: next })
      .where('partyId', '=', partyId)
      .where('id', '=', id)
      .where('version', '=', version),
  ({ id }) => `external account ${id}`,
)
