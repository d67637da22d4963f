import { fail } from '../../../core/errors.ts'
import { newId, sha256 } from '../../../core/system.ts'
import type { ChangeContext } from '../../request/due-effects.ts'
import { applyToInvitation, type Recipient } from '../../rules/customer-invitations.ts'
import {
  cancelConnectedInvitations,
  changeInvitation,
  type InvitationRecord,
} from '../../store/customer-invitations.ts'
import { grant } from '../../store/delegations.ts'
import type { Transaction } from '../../store/engine/store.ts'
import { createParty, partyOfRecipient } from '../../store/parties.ts'
import { rootKeys, signatureFinder } from '../../store/root-keys.ts'
import type { PartyRow } from '../../store/schema/parties.ts'
import { connectText } from '../../tokens/record-texts.ts'

/**
 * Returns the token for the URL of a new invitation's page. The token is a signature with the newest root key. The
 * database stores only the token's hash.
 */
export async function invitationToken(tx: Transaction, invitationId: string): Promise<string> {
  return (await rootKeys(tx)).sign(connectText(invitationId))
}

export function hashOfToken(token: string): string {
  return sha256(token)
}

/** Returns a function that builds the URL of an invitation's page, where the invited person accepts or declines. */
export async function invitationUrls(tx: Transaction, publicUrl: () => string) {
  const find = await signatureFinder(tx)
  return async ({ id, tokenHash }: Pick<InvitationRecord, 'id' | 'tokenHash'>): Promise<string> => {
    // Only the token's hash is stored, so `find` signs with one root key after another until a signature has this hash.
    const token = await find(connectText(id), (candidate) => hashOfToken(candidate) === tokenHash)
    if (token === undefined) throw new Error(`Bug: the token of the invitation ${id} cannot be recomputed.`)
    return `${publicUrl()}/connect/${token}`
  }
}

/**
 * Accepts an invitation on behalf of the invited party, and grants the agent the requested permissions. Cancels the
 * party's other pending invitations from the same agent.
 * @throws 409 `conflict` if the invitation is not pending.
 */
export async function acceptInvitation(
  { tx, system, nowMs }: ChangeContext,
  before: InvitationRecord,
  customer: PartyRow,
): Promise<InvitationRecord> {
  const { agentId, partyId, permissions, limits } = before
  const after = await changeInvitation(tx, before, 'accept', nowMs, { customerPartyId: customer.id })
  await grant(tx, system, { customerPartyId: customer.id, agentPartyId: partyId, agentId, permissions, limits }, nowMs)
  await cancelConnectedInvitations(tx, { id: agentId, partyId }, recipientsOf(customer), nowMs)
  return after
}

/** Declines an invitation on behalf of the invited party. @throws 409 `conflict` if the invitation is not pending. */
export async function declineInvitation(
  { tx, nowMs }: ChangeContext,
  before: InvitationRecord,
): Promise<InvitationRecord> {
  return changeInvitation(tx, before, 'decline', nowMs)
}

/**
 * Returns the invited party. If no party has the recipient's email address or phone number, creates a party with an
 * empty wallet. The sandbox has no customer accounts, so anyone who has the invitation's link counts as the recipient.
 * @throws 409 `conflict` if the invitation is not pending, or if the invited party itself sent it.
 */
export async function findOrCreateInvitedParty(
  { tx, system, nowMs }: ChangeContext,
  invitation: InvitationRecord,
): Promise<PartyRow> {
  applyToInvitation(invitation, 'accept', nowMs)
  const recipient = recipientOf(invitation)
  // Without this lock, two requests at the same time could each create a party for the address. A claim of a payment to
  // the address takes the same lock.
  await tx.lock(`claimant ${recipient.value}`)
  const party =
    (await partyOfRecipient(tx, recipient)) ?? (await createRecipientParty({ tx, system, nowMs }, recipient))
  if (party.id === invitation.partyId) fail('conflict', { detail: 'An account cannot accept its own invitation.' })
  return party
}

/** Creates a person or business in the sandbox, with an empty wallet. */
export async function joinAsTestCustomer(
  { tx, system, nowMs }: ChangeContext,
  id: string,
  partyType: PartyRow['partyType'],
): Promise<{ handle: string; email: string }> {
  // The random digits of the id make the handle and the email address unique.
  const handle = `test-customer-${id.slice(-12)}`
  const email = `${handle}@sandbox.example`
  const displayName = partyType === 'ORG' ? 'Test business' : 'Test customer'
  const party = { id, partyType, displayName, email, handle, phone: null, issuedCardsEnabled: 1 } as const
  await createParty(tx, system, { ...party, createdAtMs: nowMs }, 0)
  return { handle, email }
}

async function createRecipientParty({ tx, system, nowMs }: ChangeContext, recipient: Recipient): Promise<PartyRow> {
  const { type, value } = recipient
  if (type === 'party_id') throw new Error(`Bug: the invited party ${value} is gone.`)
  const contact = { email: type === 'email' ? value : null, phone: type === 'phone' ? value : null }
  const party = { id: newId('pty', system, nowMs), partyType: 'PERSON', displayName: value, ...contact } as const
  await createParty(tx, system, { ...party, issuedCardsEnabled: 1, createdAtMs: nowMs }, 0)
  const created = await partyOfRecipient(tx, recipient)
  if (created === undefined) throw new Error(`Bug: the party ${party.id} was not created.`)
  return created
}

export function recipientOf({ recipientType, recipient }: InvitationRecord): Recipient {
  return { type: recipientType, value: recipient }
}

/** Returns the party's id, email address and phone number. An invitation may be addressed to any of the three. */
function recipientsOf({ id, email, phone }: PartyRow): Recipient[] {
  const recipients: Recipient[] = [{ type: 'party_id', value: id }]
  if (email !== null) recipients.push({ type: 'email', value: email })
  if (phone !== null) recipients.push({ type: 'phone', value: phone })
  return recipients
}
