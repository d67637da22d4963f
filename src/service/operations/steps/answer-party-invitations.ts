import { fail } from '../../../core/errors.ts'
import { newId, sha256 } from '../../../core/system.ts'
import type { ChangeContext } from '../../request/due.ts'
import { requireStanding, standingOf } from '../../request/standing.ts'
import { answeredPartyInvitation, isPartyInvitationExpired } from '../../rules/party-invitations.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { answerPartyInvitation, type PartyInvitationRecord } from '../../store/party-invitations.ts'
import { savePassword } from '../../store/passwords.ts'
import { rootKeys, signatureFinder } from '../../store/root-keys.ts'
import type { PartyInvitationRow } from '../../store/schema/party-invitations.ts'
import type { UserRow } from '../../store/schema/users.ts'
import { createUser, findUser, findUserByEmail } from '../../store/users.ts'
import { joinText } from '../../tokens/record-texts.ts'

/** The token in the address of a new invitation's page, which is derived, and its hash, which is stored. */
export async function partyInvitationToken(tx: Transaction, invitationId: string) {
  const token = (await rootKeys(tx)).sign(joinText(invitationId))
  return { token, tokenHash: sha256(token) }
}

/** Where the invited person joins or declines. */
export async function partyInvitationUrls(tx: Transaction, publicUrl: () => string) {
  const find = await signatureFinder(tx)
  return async ({ id, tokenHash }: Pick<PartyInvitationRow, 'id' | 'tokenHash'>): Promise<string> => {
    // The hash tells which of the keys was the newest when it was made.
    const token = await find(joinText(id), (one) => sha256(one) === tokenHash)
    if (token === undefined) throw new Error(`Bug: no key made the token of the party invitation ${id}.`)
    return `${publicUrl()}/join/${token}`
  }
}

/** Who joins: by which name, and the hash of the password that they chose (`hashOfPassword`). */
export interface Joining {
  name: string
  passwordHash: string
}

/**
 * The invited person becomes a member of the party, in the role that the invitation names: whoever holds its token is
 * taken for the person at that address.
 * @throws 403 `forbidden` while the party is stopped; 409 `conflict` when the invitation is not pending or has expired, or that address signs in for a party already.
 */
export async function acceptPartyInvitation(
  { tx, system, nowMs }: ChangeContext,
  before: PartyInvitationRecord,
  { name, passwordHash }: Joining,
): Promise<UserRow> {
  const { partyId, email, role } = before
  const status = answeredPartyInvitation(before.status, 'accept')
  if (isPartyInvitationExpired(before, nowMs)) {
    fail('conflict', { detail: `The invitation has expired. Ask ${before.partyName} for another one.` })
  }
  requireStanding(await standingOf(tx, partyId), partyId, 'Joining')
  // Two parties may have invited one address: it signs in for one of them.
  await tx.lock(`member ${email}`)
  if ((await findUserByEmail(tx, email)) !== undefined) {
    fail('conflict', {
      detail: `${email} signs in for an account already. Ask ${before.partyName} for an invitation to another address.`,
    })
  }
  const id = newId('usr', system, nowMs)
  await createUser(tx, { id, partyId, role, name, email, createdAtMs: nowMs })
  await savePassword(tx, { userId: id, hash: passwordHash })
  await answerPartyInvitation(tx, before, { status, userId: id, updatedAtMs: nowMs })
  const joined = await findUser(tx, id)
  if (joined === undefined) throw new Error(`Bug: the user ${id} did not join.`)
  return joined
}

/** The invited person stays away. @throws 409 `conflict` when the invitation is not pending. */
export async function declinePartyInvitation(
  { tx, nowMs }: ChangeContext,
  before: PartyInvitationRecord,
): Promise<PartyInvitationRecord> {
  const status = answeredPartyInvitation(before.status, 'decline')
  return answerPartyInvitation(tx, before, { status, userId: null, updatedAtMs: nowMs })
}
