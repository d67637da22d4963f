import { fail } from '../../../core/errors.ts'
import { newId, sha256 } from '../../../core/system.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import { findPartyStatus, requireNotStopped } from '../../request/stopped-parties.ts'
import { isPartyInvitationExpired, nextPartyInvitationStatus } from '../../rules/party-invitations.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { answerPartyInvitation, type PartyInvitationRecord } from '../../store/party-invitations.ts'
import { savePassword } from '../../store/passwords.ts'
import { rootKeys, signatureFinder } from '../../store/root-keys.ts'
import type { PartyInvitationRow } from '../../store/schema/party-invitations.ts'
import type { UserRow } from '../../store/schema/users.ts'
import { createUser, findUser, findUserByEmail } from '../../store/users.ts'
import { joinText } from '../../tokens/record-texts.ts'

/** Returns the token for the URL of a new invitation's page, and the token's hash. Only the hash is stored. */
export async function partyInvitationToken(tx: Transaction, invitationId: string) {
  const token = (await rootKeys(tx)).sign(joinText(invitationId))
  return { token, tokenHash: sha256(token) }
}

/** Returns a function that builds the URL of an invitation's page, where the invited person joins or declines. */
export async function partyInvitationUrls(tx: Transaction, publicUrl: () => string) {
  const find = await signatureFinder(tx)
  return async ({ id, tokenHash }: Pick<PartyInvitationRow, 'id' | 'tokenHash'>): Promise<string> => {
    // Only the token's hash is stored, so `find` signs with one root key after another until a signature has this hash.
    const token = await find(joinText(id), (candidate) => sha256(candidate) === tokenHash)
    if (token === undefined) throw new Error(`Bug: the token of the party invitation ${id} cannot be recomputed.`)
    return `${publicUrl()}/join/${token}`
  }
}

/** A person who joins a party. */
export interface NewMember {
  name: string
  /** The hash of the password that the person chose (`hashOfPassword`). */
  passwordHash: string
}

/**
 * Makes the invited person a member of the party, with the role that the invitation offers. Anyone who has the
 * invitation's token counts as the invited person.
 * @throws 403 `forbidden` while the party is suspended or inactive; 409 `conflict` if the invitation is not pending or
 * has expired, or if a user with the email address already exists.
 */
export async function acceptPartyInvitation(
  { tx, system, nowMs }: ChangeContext,
  before: PartyInvitationRecord,
  { name, passwordHash }: NewMember,
): Promise<UserRow> {
  const { partyId, email, role } = before
  const status = nextPartyInvitationStatus(before.status, 'accept')
  if (isPartyInvitationExpired(before, nowMs)) {
    fail('conflict', { detail: `The invitation has expired. Ask ${before.partyName} for another one.` })
  }
  requireNotStopped(await findPartyStatus(tx, partyId), partyId, 'Joining')
  // Several parties may have invited the same email address. With this lock, only one of them can get a user with the
  // address.
  await tx.lock(`member ${email}`)
  if ((await findUserByEmail(tx, email)) !== undefined) {
    fail('conflict', {
      detail: `${email} already belongs to a user account. Ask ${before.partyName} for an invitation to another address.`,
    })
  }
  const id = newId('usr', system, nowMs)
  await createUser(tx, { id, partyId, role, name, email, createdAtMs: nowMs })
  await savePassword(tx, { userId: id, hash: passwordHash })
  await answerPartyInvitation(tx, before, { status, userId: id, updatedAtMs: nowMs })
  const created = await findUser(tx, id)
  if (created === undefined) throw new Error(`Bug: the user ${id} was not created.`)
  return created
}

/** Declines an invitation. @throws 409 `conflict` if the invitation is not pending. */
export async function declinePartyInvitation(
  { tx, nowMs }: ChangeContext,
  before: PartyInvitationRecord,
): Promise<PartyInvitationRecord> {
  const status = nextPartyInvitationStatus(before.status, 'decline')
  return answerPartyInvitation(tx, before, { status, userId: null, updatedAtMs: nowMs })
}
