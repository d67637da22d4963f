import type { LinkStatus } from '../rules/invitation-links.ts'
import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { StaleWriteError, type Transaction } from './engine/store.ts'
import type { InvitationLinkRow } from './schema/invitation-links-schema.ts'

/** A link with what it tells of who made it. */
export interface InvitationLinkRecord extends InvitationLinkRow {
  developerName: string
}

export async function insertLink(tx: Transaction, row: InvitationLinkRow): Promise<void> {
  await tx.db.insertInto('invitationLinks').values(row).execute()
}

export async function findLink(tx: Transaction, partyId: string, id: string): Promise<InvitationLinkRow | undefined> {
  const links = tx.db.selectFrom('invitationLinks').selectAll()
  return links.where('id', '=', id).where('partyId', '=', partyId).executeTakeFirst()
}

/** The link whose page is at the address with that token, whoever's it is: whoever has the token is invited. */
export async function findLinkByToken(tx: Transaction, tokenHash: string): Promise<InvitationLinkRecord | undefined> {
  return tx.db
    .selectFrom('invitationLinks')
    .innerJoin('parties', 'parties.id', 'invitationLinks.partyId')
    .selectAll('invitationLinks')
    .select('parties.displayName as developerName')
    .where('tokenHash', '=', tokenHash)
    .executeTakeFirst()
}

/** The links of a party, newest first. */
export async function listLinks(
  tx: Transaction,
  scope: { partyId: string; status: LinkStatus | undefined },
  page: PageRequest,
): Promise<PageOf<InvitationLinkRow>> {
  let query = tx.db.selectFrom('invitationLinks').selectAll().where('partyId', '=', scope.partyId)
  if (scope.status !== undefined) query = query.where('status', '=', scope.status)
  if (page.beforeId !== null) query = query.where('id', '<', page.beforeId)
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(rows, page.limit, (row) => row.id)
}

export async function changeLinkStatus(
  tx: Transaction,
  before: InvitationLinkRow,
  status: LinkStatus,
  nowMs: number,
): Promise<InvitationLinkRow> {
  const change = { status, updatedAtMs: nowMs, version: before.version + 1 }
  const { numUpdatedRows } = await tx.db
    .updateTable('invitationLinks')
    .set(change)
    .where('id', '=', before.id)
    .where('version', '=', before.version)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw new StaleWriteError(`invitation link ${before.id}`)
  return { ...before, ...change }
}
