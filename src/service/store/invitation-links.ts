import { linkStatuses } from '../../../tools/invitation-links.ts'
import type { LinkStatus } from '../rules/invitation-links.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import { preparedInsert } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { mustChangeOne, type Transaction } from './engine/store.ts'
import type { InvitationLinkRow } from './schema/invitation-links.ts'

/** An invitation link with the name of the developer, the party that created the link. */
export interface InvitationLinkRecord extends InvitationLinkRow {
  developerName: string
}

export const insertLink = preparedInsert('invitationLinks')

export async function findLink(tx: Transaction, partyId: string, id: string): Promise<InvitationLinkRow | undefined> {
  const links = tx.db.selectFrom('invitationLinks').selectAll()
  return links.where('id', '=', id).where('partyId', '=', partyId).executeTakeFirst()
}

/** Finds a link of any party by the hash of the link's page token. The link invites anyone who has the token. */
export async function findLinkByToken(tx: Transaction, tokenHash: string): Promise<InvitationLinkRecord | undefined> {
  return tx.db
    .selectFrom('invitationLinks')
    .innerJoin('parties', 'parties.id', 'invitationLinks.partyId')
    .selectAll('invitationLinks')
    .select('parties.displayName as developerName')
    .where('tokenHash', '=', tokenHash)
    .executeTakeFirst()
}

/** Returns the links of a party, newest first. */
export function listLinks(
  tx: Transaction,
  { partyId, status }: { partyId: string; status: LinkStatus | undefined },
  page: PageRequest,
): Promise<PageOf<InvitationLinkRow>> {
  const statuses = status === undefined ? linkStatuses : [status]
  return walk(tx, combinations({ partyId: [partyId], status: statuses }), page, partyId)
}

const walk = createIndexWalk('invitationLinks', (db) => db.selectFrom('invitationLinks').selectAll())

/** Revokes all active links of a party. */
export async function revokeLinksOf(tx: Transaction, partyId: string, nowMs: number): Promise<void> {
  await tx.db
    .updateTable('invitationLinks')
    .set((row) => ({ status: 'REVOKED', updatedAtMs: nowMs, version: row('version', '+', 1) }))
    .where('partyId', '=', partyId)
    .where('status', '=', 'ACTIVE')
    .execute()
}

export async function changeLinkStatus(
  tx: Transaction,
  before: InvitationLinkRow,
  status: LinkStatus,
  nowMs: number,
): Promise<InvitationLinkRow> {
  const change = { status, updatedAtMs: nowMs, version: before.version + 1 }
  const result = await tx.db
    .updateTable('invitationLinks')
    .set(change)
    .where('partyId', '=', before.partyId)
    .where('id', '=', before.id)
    .where('version', '=', before.version)
    .executeTakeFirstOrThrow()
  mustChangeOne(result, `invitation link ${before.id}`)
  return { ...before, ...change }
}
