import { partyInvitationStatuses } from '../../../tools/party-invitations.ts'
import { partyInvitationEvent } from '../rules/events.ts'
import type { PartyInvitationStatus } from '../rules/party-invitations.ts'
import { finderOf } from './engine/find.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import { preparedInsert } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import type { PartyInvitationRow } from './schema/party-invitations.ts'

/** An invitation with the name of the inviting party. */
export interface PartyInvitationRecord extends PartyInvitationRow {
  partyName: string
}

/** Adds an invitation, and writes an event for the inviting party. */
export async function insertPartyInvitation(tx: Transaction, row: PartyInvitationRow): Promise<void> {
  await insert(tx, row)
  recordEvents(tx, { ...row, agentId: null }, [partyInvitationEvent(row.status)], row.createdAtMs)
}

const insert = preparedInsert('partyInvitations')

export const findPartyInvitation = finderOf('partyInvitations', 'partyId', 'id')

/**
 * Finds an invitation of any party by the hash of the invitation's page token. No other proof is needed, because only
 * the invited person has the token.
 */
export async function findPartyInvitationByToken(
  tx: Transaction,
  tokenHash: string,
): Promise<PartyInvitationRecord | undefined> {
  return (await invitationByToken(tx, { tokenHash })).rows[0]
}

const invitationByToken = prepared((db, by: { tokenHash: string }) =>
  db
    .selectFrom('partyInvitations')
    .innerJoin('parties', 'parties.id', 'partyInvitations.partyId')
    .selectAll('partyInvitations')
    .select('parties.displayName as partyName')
    .where('tokenHash', '=', by.tokenHash),
)

/** A filter for a party's invitations. A condition that is undefined does not apply. */
export interface PartyInvitationScope {
  partyId: string
  /** The email address in lower case. */
  email: string | undefined
  status: PartyInvitationStatus | undefined
}

/** Returns the invitations of a party, newest first. */
export function listPartyInvitations(
  tx: Transaction,
  { partyId, email, status }: PartyInvitationScope,
  page: PageRequest,
): Promise<PageOf<PartyInvitationRow>> {
  const statuses = status === undefined ? partyInvitationStatuses : [status]
  const branches = combinations({ partyId: [partyId], status: statuses })
  return walk(tx, email === undefined ? branches : branches.map((one) => ({ ...one, email })), page, partyId)
}

const walk = createIndexWalk('partyInvitations', (db) => db.selectFrom('partyInvitations').selectAll())

/** Finds a party's pending invitation to the given email address. There is at most one such invitation. */
export async function pendingPartyInvitation(
  tx: Transaction,
  by: { partyId: string; email: string },
): Promise<PartyInvitationRow | undefined> {
  return (await pendingByEmail(tx, by)).rows[0]
}

const pendingByEmail = prepared((db, by: { partyId: string; email: string }) =>
  db
    .selectFrom('partyInvitations')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('email', '=', by.email)
    .where('status', '=', 'PENDING'),
)

type Answer = Pick<PartyInvitationRow, 'status' | 'userId' | 'updatedAtMs'>

/** Saves the new status of an invitation, and writes an event for the inviting party. */
export async function answerPartyInvitation<Row extends PartyInvitationRow>(
  tx: Transaction,
  before: Row,
  answer: Answer,
): Promise<Row> {
  const { partyId, id, version } = before
  const after = { ...before, ...answer, version: version + 1 }
  await update(tx, { ...answer, partyId, id, version, next: after.version })
  recordEvents(tx, { ...after, agentId: null }, [partyInvitationEvent(after.status)], after.updatedAtMs)
  return after
}

const update = changingOne(
  (db, { partyId, id, version, next, ...answer }: Answer & Key) =>
    db
      .updateTable('partyInvitations')
      .set({ ...answer, version: next })
      .where('partyId', '=', partyId)
      .where('id', '=', id)
      .where('version', '=', version),
  ({ id }) => `party invitation ${id}`,
)

interface Key {
  partyId: string
  id: string
  version: number
  next: number
}
